"""The retry policy as an independent tool sees it: llmock plays the faults and judges the client's behaviour.

Its faults of streams do not apply: nothing here streams.
"""

import time
from typing import Any

import pytest
from llmock.chaos import ChaosSettings

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.inference.remote import rate_limit
from tests.answers import answers
from tests.inference.remote.asking import request
from tests.inference.remote.conftest import Configure
from tests.slow import first_fast

LLMock = Any  # the plugin's fixture of that name


@pytest.fixture(autouse=True)
def quick(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "_BACK_OFF", 0.06)


def ask(llmock: LLMock, count: int = 1) -> list[Any]:
    spec = {"plugin": "openai", "model": "gpt-4o", "base_url": llmock.base_url(), "key_env": "OPENAI_API_KEY"}
    model = registry.build("chat", spec)
    replies: list[Any] = answers(model.generate, [request(seed=n, text=f"Item {n}?") for n in range(count)])
    return replies


@pytest.mark.parametrize("status", first_fast([500, 408, 409, 502], 1))
def test_what_passes_is_retried_with_a_growing_wait(llmock: LLMock, status: int) -> None:
    llmock.fail(status, times=3)
    assert [reply.status for reply in ask(llmock)] == [Status.OK]
    assert len(llmock.requests) == 4
    assert all(record.retry_after is None for record in llmock.requests)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [429, 503, 504, 529])
def test_a_full_server_is_waited_for_as_told(llmock: LLMock, status: int) -> None:
    llmock.fail(status, times=3, retry_after=0.2)
    assert [reply.status for reply in ask(llmock)] == [Status.OK]
    assert len(llmock.requests) == 4
    llmock.assert_resilient(strict=True)


def test_a_rate_limit_is_waited_for_as_told(llmock: LLMock) -> None:
    llmock.rate_limit(times=2, retry_after=0.4)
    assert [reply.status for reply in ask(llmock)] == [Status.OK]
    llmock.assert_resilient(strict=True)


def test_a_quota_is_kept_to_by_all_calls_together(llmock: LLMock) -> None:
    llmock.limits(rpm=120)
    replies = ask(llmock, 12)
    assert all(reply.status == Status.OK for reply in replies)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_cannot_pass_is_asked_once(llmock: LLMock, status: int) -> None:
    llmock.fail(status, times=None, message="The model's maximum context length was exceeded.")
    (reply,) = ask(llmock)
    assert reply.status == Status.REJECTED
    assert "maximum context length" in reply.reason
    assert len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [401, 403])
def test_what_every_call_would_meet_ends_the_run(llmock: LLMock, status: int) -> None:
    llmock.fail(status, times=None)
    with pytest.raises(PluginError, match="OPENAI_API_KEY"):
        ask(llmock)
    llmock.assert_resilient(strict=True)


def test_an_outage_is_given_up_after_a_few_attempts(llmock: LLMock, configure: Configure) -> None:
    configure(max_retries=3)
    llmock.outage(status=500)
    (reply,) = ask(llmock)
    assert reply.status == Status.TRANSPORT_ERROR
    assert reply.reason.endswith("; given up: 4 attempts")
    assert len(llmock.requests) == 4
    llmock.assert_resilient(strict=True)


def test_a_slow_answer_is_cut_off_by_our_own_deadline(llmock: LLMock, configure: Configure) -> None:
    configure(timeout=0.4)
    llmock.delay(8.0)
    began = time.monotonic()
    assert [reply.status for reply in ask(llmock)] == [Status.OK]
    assert time.monotonic() - began < 7
    llmock.assert_resilient()


@pytest.mark.slow
def test_under_chaos_every_answer_that_counts_is_one_and_the_client_behaves(
    llmock: LLMock, configure: Configure
) -> None:
    configure(max_retries=9)  # once in a hundred thousand times one of thirty calls fails as often as that
    llmock._server.state.chaos = llmock._server.app.state.chaos_settings = ChaosSettings(
        error_rates={429: 0.1, 500: 0.06, 503: 0.06, 400: 0.05}, latency_ms=10
    )
    replies = ask(llmock, 30)
    assert {reply.status for reply in replies} <= {Status.OK, Status.REJECTED}
    assert sum(reply.status == Status.OK for reply in replies) > 18
    assert all(bool(reply.text) == (reply.status == Status.OK) for reply in replies)
    assert llmock.verdict().faults > 0
    llmock.assert_resilient()
