"""What a status, its headers and its body tell: the reaction, the wait, the line."""

import email.utils
import math
import time
from typing import Any

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.faults import RetryPolicy, message_of, of_status, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "200"}, 0.2),
        ({"retry-after-ms": "200", "retry-after": "7"}, 0.2),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, None),
        ({"retry-after": "Fri, 99 Foo 99999 23:59:59 GMT"}, None),
        ({"retry-after": "inf"}, math.inf),
    ],
)
def test_a_wait_is_read_from_milliseconds_seconds_or_a_date_and_nonsense_is_no_wait(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_a_date_counts_from_now() -> None:
    later = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert retry_after({"retry-after": later}) == pytest.approx(60, abs=2)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529, 599])
def test_what_may_pass_is_retried(status: int) -> None:
    fault = of_status(status, {"retry-after": "3"}, None, "KEY")
    assert fault is not None
    assert (fault.reaction, fault.wait) == (RetryPolicy.RETRY, 3.0)
    assert fault.throttled == (status in (429, 503, 529))


@pytest.mark.parametrize("status", [400, 404, 405, 413, 415, 422])
def test_what_is_wrong_with_the_request_is_recorded_with_the_servers_words(status: int) -> None:
    body = {"error": {"message": "No such\nmodel", "code": status}}
    fault = of_status(status, {}, body, "KEY")
    assert fault is not None
    assert (fault.reaction, fault.status, fault.final) == (RetryPolicy.RECORD, Status.REJECTED, False)
    assert fault.reason == f"HTTP {status}: No such model"
    assert fault.raw == body


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_recorded_and_says_what_to_set(status: int) -> None:
    fault = of_status(status, {"location": "https://elsewhere"}, None, "KEY")
    assert fault is not None
    assert fault.reaction == RetryPolicy.RECORD
    assert "base_url" in fault.reason


@pytest.mark.parametrize(
    ("status", "headers", "body", "setting"),
    [
        (401, {}, {"error": {"message": "no"}}, "MY_KEY"),
        (402, {}, {"error": {"message": "no"}}, "credit"),
        (403, {}, {"error": {"message": "no"}}, "MY_KEY"),
        (429, {}, {"error": {"message": "no", "code": "insufficient_quota"}}, "credit"),
        (400, {}, [{"error": {"message": "no", "details": [{"reason": "API_KEY_INVALID"}]}}], "MY_KEY"),
    ],
)
def test_what_every_call_would_meet_stops_and_names_the_setting(
    status: int, headers: dict[str, str], body: Any, setting: str
) -> None:
    fault = of_status(status, headers, body, "MY_KEY")
    assert fault is not None
    assert fault.reaction == RetryPolicy.STOP
    assert setting in fault.reason
    assert "\n" not in fault.reason


def test_where_no_key_is_set_the_line_says_how_to_set_one() -> None:
    fault = of_status(401, {}, None, "")
    assert fault is not None
    assert "key_env" in fault.reason


def test_no_credit_with_a_wait_is_waited_for() -> None:
    fault = of_status(402, {"retry-after": "2"}, None, "KEY")
    assert fault is not None
    assert (fault.reaction, fault.wait) == (RetryPolicy.RETRY, 2.0)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, {"error": {"message": "flagged", "metadata": {"reasons": ["violence"]}}}),
        (400, {"error": {"message": "policy", "code": "content_policy_violation"}}),
        (400, {"error": {"message": "blocked", "code": "moderation_blocked"}}),
    ],
)
def test_what_the_policy_refuses_is_moderated_and_stands(status: int, body: Any) -> None:
    fault = of_status(status, {}, body, "KEY")
    assert fault is not None
    assert (fault.reaction, fault.status, fault.final) == (RetryPolicy.RECORD, Status.MODERATED, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "a\n b"}}, "a b"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"error": "words"}, "words"),
        ({"detail": "Not authenticated"}, "Not authenticated"),
        ({"error": {"code": 7}}, "{'code': 7}"),
        ("plain", "plain"),
        (None, "no reason given"),
        ({}, "no reason given"),
        ([], "no reason given"),
        (7, "7"),
        ({"error": {"message": "x" * 1000}}, "x" * 299 + "…"),
    ],
)
def test_the_servers_words_are_found_wherever_they_stand_in_one_short_line(body: Any, said: str) -> None:
    assert message_of(body) == said
