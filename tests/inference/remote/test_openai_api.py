"""What an answer says: names of models, usage, and the parts that are kept."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.openai_api import chat_reply, cost_of, images_reply, usage_of, without_images
from cfeval.inference.remote.provider_table import same_model
from cfeval.inference.remote.request import Response, Usage
from tests.loopback.image_files import data_url, drawn
from tests.slow import examples

PNG = drawn("a")


def completion(message: Any = None, **choice: Any) -> dict[str, Any]:
    said = {"finish_reason": "stop", "message": {"content": "a cat"} if message is None else message, **choice}
    return {"model": "vlm", "choices": [said], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.5}}


def test_a_good_answer_gives_its_text_model_usage_and_the_servers_json() -> None:
    reply = chat_reply(completion(), "vlm", (), "KEY")
    assert isinstance(reply, Response)
    assert (reply.status, reply.text, reply.model) == (Status.OK, "a cat", "vlm")
    assert reply.usage == Usage(3, 2, cost_usd=0.5)
    assert reply.raw == completion()


def test_an_image_is_decoded_counted_and_left_out_of_the_servers_json() -> None:
    message = {"content": "here", "images": [{"image_url": {"url": data_url(PNG)}}]}
    reply = chat_reply(completion(message), "vlm", (), "KEY", image=True)
    assert isinstance(reply, Response)
    assert reply.image == PNG
    assert reply.usage == Usage(3, 2, images=1, cost_usd=0.5)
    assert len(json.dumps(reply.raw)) < 400


@pytest.mark.parametrize("image", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        completion(finish_reason="length"),
        completion(finish_reason="error"),
        completion(finish_reason=None),
        completion({"content": None}),
        completion({"content": "", "images": [{"image_url": {"url": "data:image/png;base64,@"}}]}),
        {**completion(), "error": {"code": 502, "message": "gone"}},
        {**completion(), "model": "another"},
    ],
)
def test_a_fault_after_the_work_was_done_carries_what_it_cost(body: Any, image: bool) -> None:
    fault = chat_reply(body, "vlm", (), "KEY", image)
    assert isinstance(fault, Fault)
    assert fault.sent
    assert fault.usage is not None
    assert fault.usage.cost_usd == 0.5


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("openai/gpt-4o", "gpt-4o", True),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", True),
        ("openai/gpt-4o:nitro", "openai/gpt-4o", True),
        ("gemini-2.5-flash", "models/gemini-2.5-flash", True),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen/qwen2.5-vl-7b-instruct", True),
        ("transformers/tiny", "transformers/tiny@main", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o-mini", "gpt-4o", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
        ("gpt-5", "gpt-5.2", False),
        ("gemini-2.5-flash", "gemini-2.5-pro", False),
        ("qwen2.5-vl-7b", "qwen2.5-vl-72b", False),
        ("a/vlm", "b/vlm", False),
        ("qwen2.5vl:7b", "qwen2.5vl:7b", True),
        ("qwen2.5vl:7b", "qwen2.5vl:72b", False),
        ("vlm", "", False),
        ("x/model-7", "model-7-72", False),
        ("model-7", "model-7-72b", False),
        ("llama-3", "llama-3-70", False),
        ("model", "model-2", False),
        ("model", "model-1234567", False),
        ("gpt-4o", "gpt-4o-2024-13-06", False),
        ("gpt-4o", "gpt-4o-2023-02-29", False),
        ("model", "model-20250230", False),
        ("vit", "vit-1024", False),
        ("lab/model", "model-1120", False),
        ("model", "model-10-12", False),
        ("model", "model-2304", False),
        ("gpt-4", "gpt-4-0230", False),
        ("gpt-4", "gpt-4-1106-preview", True),
        ("x-ai/grok-2-vision", "grok-2-vision-1212", True),
        ("deepseek/deepseek-chat-v3", "deepseek-chat-v3-0324", True),
        ("gpt-4", "gpt-4-0613", True),
        ("mistral-small", "mistral-small-2503", True),
        ("x/model-7", "model-7-20250514", True),
        ("claude-sonnet-4", "claude-sonnet-4@20250514", True),
        ("gemini-2.0-flash", "gemini-2.0-flash-001", True),
        ("gemini-2.5-flash-preview", "google/gemini-2.5-flash-preview", False),
        ("google/gemini-2.5-flash-preview", "google/gemini-2.5-flash-preview-09-2025", True),
        ("gemini-2.5-pro-preview", "gemini-2.5-pro-preview-05-06", True),
    ],
)
def test_a_snapshot_is_the_model_asked_for_and_a_sister_is_not(asked: str, served: str, same: bool) -> None:
    assert same_model(asked, served, ()) == same


@pytest.mark.parametrize(
    ("code", "kind"),
    [("402", "credit"), ("429", "http_429"), (429, "http_429"), ("error_402", "error"), (None, "error")],
)
def test_an_error_within_a_good_answer_is_what_its_code_says_as_text_too(code: Any, kind: str) -> None:
    fault = chat_reply({"error": {"code": code, "message": "no"}}, "vlm", (), "KEY")
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.throttled) == (kind, kind == "http_429")


def test_a_model_is_accepted_under_the_names_that_are_declared() -> None:
    assert same_model("vlm", "/models/vlm.gguf", ["/models/vlm.gguf"])


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (None, Usage()),
        ([], Usage()),
        ({"usage": "many"}, Usage()),
        ({"usage": {"prompt_tokens": "7", "completion_tokens": -1, "cost": "free"}}, Usage()),
        ({"usage": {"prompt_tokens": 10**400, "completion_tokens": 1.5, "cost": True}}, Usage()),
        ({"usage": {"prompt_tokens": math.inf, "completion_tokens": math.nan, "total_tokens": True}}, Usage()),
        ({"usage": {"prompt_tokens": 7.0, "completion_tokens": 8.0, "total_tokens": 15.0}}, Usage(7, 8)),
        ({"usage": {"cost": math.nan}}, Usage()),
        ({"usage": {"cost": -1}}, Usage()),
        ({"usage": {"input_tokens": 7, "output_tokens": 8, "cost": 0}}, Usage(7, 8, cost_usd=0)),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15}}, Usage(7, 8)),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": "15"}}, Usage(7, 8)),
    ],
)
def test_nonsense_about_usage_counts_as_none(said: Any, usage: Usage) -> None:
    assert usage_of(said) == usage


def test_what_gemini_counts_in_the_total_only_is_output() -> None:
    assert usage_of({"usage": {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}}) == Usage(20, 603)


def test_a_cost_in_another_unit_is_told_in_dollars() -> None:
    assert cost_of(8, 0.01) == 0.08
    assert cost_of(math.inf, 0.01) is None


def test_long_texts_stay_and_images_go() -> None:
    prose, chinese, image = "one word " * 100, "这是一只猫" * 200, "iVBORw0KGgo" * 100
    kept = without_images({"a": [prose, chinese], "b": image, "c": f"data:image/png;base64,{image}"})
    assert kept["a"] == [prose, chinese]
    assert kept["b"] == "(1100 characters)"
    assert "characters)" in kept["c"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"data": []}, Status.NO_IMAGE),
        ({"data": [{"url": "http://x"}]}, Status.NO_IMAGE),
        ({"data": [{"b64_json": "@"}]}, Status.NO_IMAGE),
        ({"data": "none"}, Status.TRANSPORT_ERROR),
        ({"error": {"code": 500}}, Status.TRANSPORT_ERROR),
        ([], Status.TRANSPORT_ERROR),
    ],
)
def test_an_images_answer_without_one_image_says_why(body: Any, status: Status) -> None:
    fault = images_reply(body, "m", "KEY")
    assert isinstance(fault, Fault)
    assert fault.status == status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("choices", "message", "content", "finish_reason", "images", "image_url", "url", "error", "code", "usage")


@examples(25)
@given(
    st.recursive(JSON, lambda inner: st.dictionaries(st.sampled_from((*FIELDS, "data", "model")), inner)), st.booleans()
)
def test_no_answer_whatever_it_holds_is_an_exception(body: Any, image: bool) -> None:
    assert isinstance(chat_reply(body, "vlm", (), "KEY", image), Response | Fault)
    assert isinstance(chat_reply({"choices": [body]}, "vlm", (), "KEY", image), Response | Fault)
    assert isinstance(chat_reply(completion(body), "vlm", (), "KEY", image), Response | Fault)
    assert isinstance(images_reply(body, "m", "KEY"), Response | Fault)
