"""What a status, its headers and its body tell, in real servers' own words: the reaction, the wait, the line."""

import email.utils
import json
import math
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.faults import (
    ADVICE,
    PHRASES,
    RetryPolicy,
    lasting,
    message_of,
    of_error,
    of_status,
    retry_after,
)
from tests.inference.remote.asking import chat, request
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.faults import Raw
from tests.loopback.site import Loopback


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


@pytest.mark.parametrize(
    ("fault", "at_least", "at_most"),
    [
        ("http_429_after", 1.0, 5.0),
        ("http_429_after_ms", 0.2, 5.0),
        ("http_429_after_date", 0.9, 6.0),
    ],
)
def test_a_wait_is_kept_to(server: Loopback, configure: Configure, fault: str, at_least: float, at_most: float) -> None:
    server.script([fault])
    (reply,) = chat(server)
    first, second = server.log
    assert reply.status == Status.OK
    assert at_least <= second.began - first.began <= at_most


def test_a_wait_past_the_deadline_is_not_begun(server: Loopback, configure: Configure) -> None:
    configure(deadline=60)
    server.script(["http_429_after_long"])
    began = time.monotonic()
    (reply,) = chat(server)
    assert time.monotonic() - began < 5
    assert reply.status == Status.TRANSPORT_ERROR
    assert reply.reason.endswith("to wait 300 s as asked would go over the deadline of 60 s (calls.deadline)")
    assert len(server.log) == 1


def test_the_back_off_grows_and_is_spread(server: Loopback, configure: Configure) -> None:
    server.random(1.0, ["http_500"])
    configure(max_retries=2)
    chat(server, [request(seed=n) for n in range(12)])
    by_call: dict[str, list[float]] = {}
    for entry in server.log:
        by_call.setdefault(entry.digest, []).append(entry.began)
    firsts = [times[1] - times[0] for times in by_call.values()]
    lasts = [times[2] - times[1] for times in by_call.values()]
    assert min(firsts) >= 0.5
    assert min(lasts) >= 1.0
    assert sum(lasts) < 12 * 4.0, "it grows by the bounds that are set"
    assert max(firsts) - min(firsts) > 0.1, "calls that failed together do not come back together"


def test_once_the_run_stops_nobody_waits_on(server: Loopback, configure: Configure) -> None:
    configure(deadline=900)
    server.script(["http_429_after_long", "http_401"])
    began = time.monotonic()
    with pytest.raises(Exception, match="LOOPBACK_KEY is refused"):
        chat(server, [request(seed=n) for n in range(2)])
    assert time.monotonic() - began < 5
    assert len(server.log) == 2


def test_refusals_while_an_early_call_waits_do_not_end_the_run(server: Loopback, configure: Configure) -> None:
    configure(max_connections=2)
    server.script(["http_500", *["http_400"] * 9])
    replies = chat(server, [request(seed=n) for n in range(12)])
    assert sum(reply.status == Status.REJECTED for reply in replies) == 9
    assert sum(reply.status == Status.OK for reply in replies) == 3


def test_a_call_that_timed_out_is_said_while_it_is_sent_again_and_at_the_end(
    server: Loopback, configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configure(timeout=0.3, deadline=5, max_retries=1)
    server.script(["hang"])
    assert chat(server)[0].status == Status.OK
    assert "1 timed out, sent again" in capsys.readouterr().err.splitlines()[-1]
    server.script(["hang", "hang"])
    [reply] = chat(server, [request(seed=9)])
    assert reply.reason.endswith("given up: 2 attempts; where the server is only slow, raise calls.timeout (0.3 s)")
    with closing(ResponseCache(path)) as cache:
        told = cache.sent_since(0)
    assert (told.sent, told.timed_out, told.sent_again) == (4, 3, 2)


HINT = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
SAID = [
    ("llama.cpp", 500, "no_images", {"code": 500, "message": HINT, "type": "server_error"}),
    ("llama.cpp 2025-05", 500, "no_images", {"code": 500, "message": "image input is not supported by this server"}),
    ("llama.cpp 2025-04", 500, "no_images", {"message": 'Unsupported content part type: "image_url"; messages = ['}),
    ("vLLM", 400, "no_images", {"message": "/models/Qwen3-8B is not a multimodal model None", "code": 400}),
    ("vLLM limit", 400, "no_images", {"message": "At most 0 image(s) may be provided in one request.", "code": 400}),
    ("Ollama cloud", 400, "no_images", {"message": "this model does not support image input (ref: b8bd630e)"}),
    (
        "Ollama",
        500,
        "no_images",
        "Failed to create new sequence: failed to process inputs: this model is missing data required for image input",
    ),
    ("LM Studio", 400, "no_images", "Model does not support images. Please use a model that does."),
    ("OpenRouter", 404, "no_images", {"message": "No endpoints found that support image input", "code": 404}),
    (
        "OpenAI",
        400,
        "no_images",
        {"message": "Invalid content type. image_url is only supported by certain models.", "type": "x"},
    ),
    (
        "OpenAI model",
        404,
        "no_model",
        {"message": "The model `gpt-9` does not exist or you do not have access to it.", "code": "model_not_found"},
    ),
    ("vLLM model", 404, "no_model", {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}),
    ("Ollama model", 404, "no_model", {"message": 'model "llama2" not found, try pulling it first'}),
    ("OpenRouter model", 400, "no_model", {"message": "lab/x is not a valid model ID", "code": 400}),
    (
        "transformers serve",
        500,
        "no_model",
        "x is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    ),
    (
        "Google model",
        404,
        "no_model",
        {"code": 404, "message": "models/x is not found for API version v1beta, or is not supported", "status": "N"},
    ),
    (
        "OpenAI context",
        400,
        "too_long",
        {"message": "This model's maximum context length is 4097 tokens. However,", "code": "context_length_exceeded"},
    ),
    (
        "llama.cpp context",
        400,
        "too_long",
        {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ),
    (
        "vLLM context",
        400,
        "too_long",
        {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "code": 400},
    ),
    (
        "Anthropic context",
        400,
        "too_long",
        {"type": "invalid_request_error", "message": "prompt is too long: 200251 tokens > 200000 maximum"},
    ),
    (
        "Google context",
        400,
        "too_long",
        {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
    ),
    (
        "LM Studio context",
        400,
        "too_long",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    ),
    ("Anthropic image", 400, "bad_image", {"type": "invalid_request_error", "message": "Could not process image"}),
    ("Google image", 400, "bad_image", {"code": 400, "message": "Unable to process input image. Please retry or"}),
    ("Google image 2", 400, "bad_image", {"code": 400, "message": "Provided image is not valid"}),
    (
        "OpenAI image",
        400,
        "bad_image",
        {"message": "You uploaded an unsupported image. Please make sure", "code": "invalid_image_format"},
    ),
    ("LM Studio image", 400, "bad_image", "'url' field must be a base64 encoded image."),
    ("LM Studio address", 200, "no_endpoint", "Unexpected endpoint or method. (POST /chat/completions)"),
    ("OpenAI schema", 400, "no_schema", {"message": "Invalid schema for response_format 'reply': In context=()"}),
    ("llama.cpp schema", 400, "no_schema", {"code": 400, "message": "Failed to parse grammar"}),
    (
        "transformers template",
        500,
        "no_template",
        "Cannot use chat template functions because tokenizer.chat_template is not set and no template argument",
    ),
]


@pytest.mark.parametrize(("status", "kind", "error"), [row[1:] for row in SAID], ids=[row[0] for row in SAID])
def test_what_will_not_pass_is_recorded_with_what_to_do(status: int, kind: str, error: object) -> None:
    fault = of_error({"error": error}, "KEY") if status == 200 else of_status(status, {}, {"error": error}, "KEY")
    assert fault is not None
    assert (fault.kind, fault.reaction, fault.status) == (kind, RetryPolicy.RECORD, Status.REJECTED)
    assert fault.reason.endswith(ADVICE[kind])
    assert fault.systematic, "where all the first calls end so, the run stops"
    assert not fault.final, "once the server is mended the item is asked again"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "Internal server error"),
        (503, "Loading model"),
        (429, "this model does not support image input at this rate"),
        (502, "The image could not be fetched from upstream"),
        (500, "CUDA out of memory"),
        (529, "Overloaded"),
    ],
)
def test_what_may_pass_is_tried_again(status: int, said: str) -> None:
    fault = of_status(status, {}, {"error": {"message": said}}, "KEY")
    assert fault is not None
    assert fault.reaction == RetryPolicy.RETRY


def test_an_error_that_comes_with_200_stops_where_the_account_is_empty() -> None:
    assert of_error({"error": {"code": "insufficient_quota"}}, "KEY").reaction == RetryPolicy.STOP


def test_every_kind_has_advice_and_every_phrase_is_of_a_server_above() -> None:
    assert PHRASES.keys() == ADVICE.keys()
    assert {kind for _, _, kind, _ in SAID} == PHRASES.keys()
    assert not lasting("the model is busy; image queued")


@pytest.mark.parametrize(
    ("body", "sends", "reason"),
    [
        ({"error": "Unexpected endpoint or method. (POST /chat/completions)"}, 1, "correct base_url"),
        ({"error": "something odd"}, 3, "the server answers with an error: something odd; given up: 3 attempts"),
        ("Ollama is running", 3, "the answer is not JSON: it starts with 'Ollama is running'; look at base_url"),
    ],
)
@pytest.mark.usefixtures("hurry")
def test_an_error_that_comes_with_200_is_never_called_http_500(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, body: object, sends: int, reason: str
) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    fault = known_as(text, monkeypatch)
    server.random(1.0, [fault], at=[Kind.CHAT])
    path: Path = configure(max_retries=5, timeout=10, deadline=60)
    (reply,) = chat(server)
    assert path.exists()
    assert reply.status in (Status.REJECTED, Status.TRANSPORT_ERROR)
    assert reason in reply.reason
    assert "HTTP 500" not in reply.reason
    assert len(server.log) == sends


def known_as(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a fault of the loopback server: every answer is this text, with HTTP 200."""
    from tests.loopback.faults import FAULTS, retried

    row = retried("odd_200", "200 with a text", Raw(lambda _: text.encode(), "text/plain"), (Kind.CHAT,))
    monkeypatch.setitem(FAULTS, row.name, row)
    return row.name
