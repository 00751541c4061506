"""What real servers say of errors that will not pass, in their own words: sent once, whatever the HTTP status is."""

import json
from pathlib import Path

import pytest

from cfeval.core.records import Status
from cfeval.inference.remote.faults import ADVICE, PHRASES, RetryPolicy, lasting, of_error, of_status
from tests.inference.remote.asking import chat
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.faults import Raw
from tests.loopback.site import Loopback

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
