"""What the openai client shows of faults: the table of the providers' spec, against the loopback server."""

import json
from collections.abc import Iterator

import openai
import pytest

from tests.loopback.asking import messages
from tests.loopback.server import loopback
from tests.loopback.site import Loopback


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


SHOWN: dict[str, type[Exception]] = {
    "http_429": openai.RateLimitError,
    "http_429_after_long": openai.RateLimitError,
    "http_408": openai.APIStatusError,
    "http_500": openai.InternalServerError,
    "http_502": openai.InternalServerError,
    "http_503": openai.InternalServerError,
    "http_504": openai.InternalServerError,
    "http_524": openai.InternalServerError,
    "http_529": openai.InternalServerError,
    "http_401": openai.AuthenticationError,
    "http_402": openai.APIStatusError,
    "http_403_moderated": openai.PermissionDeniedError,
    "http_400": openai.BadRequestError,
    "http_404": openai.NotFoundError,
    "http_413": openai.APIStatusError,
    "http_422": openai.UnprocessableEntityError,
    "reset_before_headers": openai.APIConnectionError,
    "close_mid_body": openai.APIConnectionError,
    "json_truncated": json.JSONDecodeError,
    "empty_200": json.JSONDecodeError,
}
SILENT = (
    "html_200 error_200 choices_empty choices_missing finish_error content_null content_empty finish_length "
    "finish_content_filter refusal_field wrong_model"
)


@pytest.fixture
def sdk(server: Loopback) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.openrouter, api_key="k", max_retries=0, timeout=5) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("fault", SHOWN)
def test_the_openai_client_raises_what_the_spec_says(server: Loopback, sdk: openai.OpenAI, fault: str) -> None:
    server.script([fault])
    with pytest.raises(SHOWN[fault]):
        sdk.chat.completions.create(model="vlm", messages=messages())  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("fault", SILENT.split())
def test_the_openai_client_shows_no_error(server: Loopback, sdk: openai.OpenAI, fault: str) -> None:
    server.script([fault])
    reply = sdk.chat.completions.create(model="vlm", messages=messages())  # type: ignore[arg-type]
    assert isinstance(reply, str) == (fault == "html_200")


def test_the_reason_of_a_list_is_only_in_the_body(server: Loopback, sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.with_options(base_url=server.gemini).chat.completions.create(model="vlm", messages=messages(), seed=1)  # type: ignore[arg-type]
    assert 'Unknown name "seed"' in str(caught.value.body)


def test_the_openai_client_recovers_by_itself_from_what_it_retries(server: Loopback, sdk: openai.OpenAI) -> None:
    server.script(["http_429_after_ms", "reset_before_headers", None])
    reply = sdk.with_options(max_retries=2).chat.completions.create(model="vlm", messages=messages())  # type: ignore[arg-type]
    assert reply.choices[0].finish_reason == "stop"
    assert list(server.sent().values()) == [3]


def test_a_stream_gives_the_text_of_the_plain_answer(server: Loopback) -> None:
    with openai.OpenAI(base_url=server.openai, api_key="k", max_retries=0) as sdk:
        plain = sdk.chat.completions.create(model="vlm", messages=messages())  # type: ignore[arg-type]
        stream = sdk.chat.completions.create(model="vlm", messages=messages(), stream=True)  # type: ignore[arg-type]
        choices = [event.choices[0] for event in stream]  # type: ignore[union-attr]
    assert "".join(choice.delta.content or "" for choice in choices) == plain.choices[0].message.content
    assert choices[-1].finish_reason == "stop"
