"""Anthropic's and Gemini's own protocols, OpenAI's Responses, Azure: what is sent, and what each answer comes to."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote import faults, rate_limit
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import use
from tests.answers import answers
from tests.images import image
from tests.inference.models.scripted import Scripted, scripted

KEY = "sk-canary-4b1d9e"
PHOTO = image(40, (8, 6))
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False}
Body = dict[str, Any]


@pytest.fixture(scope="module")
def running() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def server(running: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("CFEVAL_CALLS", "")
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=2))
    monkeypatch.setattr(rate_limit, "_BACK_OFF", 0.005)
    asked = faults.retry_after
    monkeypatch.setattr(faults, "retry_after", lambda headers: (wait := asked(headers)) and wait / 100)
    return running


def anthropic(text: str = "A cat.", reason: str | None = "end_turn", **more: Any) -> Body:
    """A message, as docs.claude.com/en/api/messages has it."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": None, "output_tokens": 7}
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}] if text else []
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content}
    return {**said, "stop_reason": reason, "stop_sequence": None, "usage": usage, **more}


def google(text: str = "A cat.", reason: str | None = "STOP", **more: Any) -> Body:
    """A response of generateContent, as ai.google.dev/api/generate-content has it."""
    parts = [{"text": "Hm.", "thought": True}, {"text": text}] if text else []
    usage = {"promptTokenCount": 15, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "totalTokenCount": 22}
    content = {"content": {"role": "model", "parts": parts}} if text else {}
    candidate = {**content, "finishReason": reason, "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x-001", **more}


def responses(text: str = "A cat.", reason: str | None = "completed", **more: Any) -> Body:
    """A response, as platform.openai.com/docs/api-reference/responses has it."""
    whole = reason in ("completed", "failed", None)
    part = {"type": "output_text", "text": text, "annotations": []}
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [part]}]
    usage = {"input_tokens": 15, "output_tokens": 7, "total_tokens": 22}
    status = {"status": reason if whole else "incomplete", "incomplete_details": None if whole else {"reason": reason}}
    return {
        "id": "r",
        "model": "gpt-x",
        "output": output if text else [],
        "error": None,
        "usage": usage,
        **status,
        **more,
    }


MAKERS: dict[str, Callable[..., Body]] = {"anthropic": anthropic, "google": google, "responses": responses}


def spec(server: Scripted, protocol: str, **more: Any) -> Body:
    """A plugin's specification."""
    said = {
        "anthropic": {"plugin": "anthropic", "model": "claude-x", "base_url": server.origin},
        "google": {"plugin": "google", "model": "gemini-x", "base_url": f"{server.origin}/v1beta"},
        "responses": {
            **{"plugin": "openai", "api": "responses", "provider": "openai", "model": "gpt-x"},
            "key_env": "OPENAI_API_KEY",  # a server on this machine needs a key only where its variable is named
        },
    }[protocol]
    return {"base_url": f"{server.origin}/v1", **said, **more}


def ask(spec: Body, *turns: ChatMessage, schema: Body | None = None) -> ChatReply:
    said = turns or (ChatMessage("user", "What is it?", PHOTO),)
    [reply] = answers(registry.build("chat", spec).generate, [ChatRequest("i1", said, 7, schema)])
    return reply


def spent(tmp_path: Path) -> list[tuple[int, int]]:
    cache = ResponseCache(tmp_path / "calls.sqlite")
    try:
        rows = [call.reply for call in cache.calls()]
    finally:
        cache.close()
    used = [json.loads(row)["usage"] for row in rows]
    return [(one["input_tokens"], one["output_tokens"]) for one in used]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", MAKERS)
def test_an_answer_its_model_and_its_tokens_are_read_and_it_is_asked_once(
    server: Scripted, protocol: str, tmp_path: Path
) -> None:
    server.say(MAKERS[protocol]())
    reply = ask(spec(server, protocol))
    assert (reply.text, reply.status) == ("A cat.", Status.OK), reply.reason
    assert reply.model in ("claude-x", "gemini-x-001", "gpt-x")
    assert ask(spec(server, protocol)) == reply, "from the cache"
    assert len(server.log) == 1
    assert spent(tmp_path) == [(15, 7)]


def test_anthropic_gets_what_it_documents(server: Scripted) -> None:
    server.say(anthropic())
    turns = (ChatMessage("user", "What?", PHOTO), ChatMessage("assistant", "A cat."), ChatMessage("user", "Why?"))
    further = {"headers": {"anthropic-beta": "b1"}, "extra": {"thinking": {"type": "adaptive"}}, "temperature": 0.5}
    ask(spec(server, "anthropic", **further), *turns, schema=SCHEMA)
    [asked] = server.log
    assert asked.path == "/v1/messages"
    assert (asked.headers["authorization"], asked.headers["anthropic-beta"]) == (f"Bearer {KEY}", "b1")
    data = base64.b64encode(PHOTO.png).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert asked.body == {
        "model": "claude-x",
        "max_tokens": 2048,
        "temperature": 0.5,
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "messages": [
            {"role": "user", "content": [image, {"type": "text", "text": "What?"}]},
            {"role": "assistant", "content": "A cat."},
            {"role": "user", "content": "Why?"},
        ],
    }


def test_gemini_gets_what_it_documents(server: Scripted) -> None:
    server.say(google())
    turns = (ChatMessage("user", "What?", PHOTO), ChatMessage("assistant", "A cat."), ChatMessage("user", "Why?"))
    further = {"extra": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, "top_p": 0.9}
    ask(spec(server, "google", **further), *turns, schema=SCHEMA)
    [asked] = server.log
    assert asked.path == "/v1beta/models/gemini-x:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["generationConfig"] == {
        "maxOutputTokens": 2048,
        "topP": 0.9,
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"thinkingBudget": 0},
    }
    first, second, third = asked.body["contents"]
    data = first["parts"][0]["inlineData"]["data"]
    assert base64.b64decode(data, altchars=b"-_") == PHOTO.png
    assert [first["parts"][1], second, third["role"]] == [
        {"text": "What?"},
        {"role": "model", "parts": [{"text": "A cat."}]},
        "user",
    ]


def test_responses_gets_what_it_documents(server: Scripted) -> None:
    server.say(responses())
    ask(spec(server, "responses", headers={"X-Title": "cfeval"}), schema=SCHEMA)
    [asked] = server.log
    assert (asked.path, asked.headers["authorization"]) == ("/v1/responses", f"Bearer {KEY}")
    assert asked.headers["x-title"] == "cfeval"
    [turn] = asked.body["input"]
    assert [part["type"] for part in turn["content"]] == ["input_image", "input_text"]
    assert asked.body["text"]["format"] == {"type": "json_schema", "name": "reply", "strict": True, "schema": SCHEMA}
    assert (asked.body["max_output_tokens"], asked.body["store"], "seed" in asked.body) == (2048, False, False)


@pytest.mark.parametrize(
    ("version", "path", "header"),
    [
        ("2025-04-01-preview", "/openai/deployments/dep/chat/completions?api-version=2025-04-01-preview", "api-key"),
        ("", "/openai/v1/chat/completions", "authorization"),
    ],
)
def test_azure_is_asked_by_deployment_or_by_its_newer_address(
    server: Scripted, version: str, path: str, header: str
) -> None:
    choice = {"message": {"role": "assistant", "content": "A cat."}, "finish_reason": "stop"}
    server.say({"model": "gpt-x", "choices": [choice]})
    base = server.origin if version else f"{server.origin}/openai/v1"
    azure = {"plugin": "openai", "provider": "azure", "model": "dep", "base_url": base, "accept_models": ["gpt-x"]}
    reply = ask({**azure, "api_version": version, "key_env": "AZURE_OPENAI_API_KEY"})
    assert (reply.text, reply.status) == ("A cat.", Status.OK)
    [asked] = server.log
    assert asked.path == path
    assert asked.headers[header].removeprefix("Bearer ") == KEY


ENDS = [
    ("anthropic", "stop_sequence", Status.OK),
    ("anthropic", "max_tokens", Status.TRUNCATED),
    ("anthropic", "model_context_window_exceeded", Status.TRUNCATED),
    ("anthropic", "refusal", Status.REFUSED),
    ("anthropic", "pause_turn", Status.UNPARSABLE),
    ("anthropic", "brand_new", Status.UNPARSABLE),
    ("google", "MAX_TOKENS", Status.TRUNCATED),
    ("google", "SAFETY", Status.MODERATED),
    ("google", "RECITATION", Status.MODERATED),
    ("google", "PROHIBITED_CONTENT", Status.MODERATED),
    ("google", "OTHER", Status.UNPARSABLE),
    ("google", "BRAND_NEW", Status.UNPARSABLE),
    ("responses", "max_output_tokens", Status.TRUNCATED),
    ("responses", "content_filter", Status.MODERATED),
    ("responses", "brand_new", Status.UNPARSABLE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "reason", "status"), ENDS)
def test_a_finish_reason_is_what_the_table_says_and_none_is_asked_twice(
    server: Scripted, protocol: str, reason: str, status: Status
) -> None:
    server.say(MAKERS[protocol](reason=reason))
    reply = ask(spec(server, protocol))
    assert (reply.status, len(server.log)) == (status, 1)
    assert status == Status.OK or reason in reply.reason or status == Status.REFUSED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "body", "status"),
    [
        ("google", {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}, Status.MODERATED),
        ("google", {"promptFeedback": {"blockReason": "OTHER"}}, Status.MODERATED),
        ("google", {"promptFeedback": {"blockReason": "A_NEW_ONE"}, "candidates": []}, Status.MODERATED),
        ("google", google("", "IMAGE_SAFETY"), Status.MODERATED),
        ("google", google(modelVersion="gemini-y"), Status.WRONG_MODEL),
        ("anthropic", anthropic(model="claude-y"), Status.WRONG_MODEL),
        ("responses", responses(model="gpt-y"), Status.WRONG_MODEL),
        (
            "responses",
            responses(output=[{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]),
            Status.REFUSED,
        ),
    ],
)
def test_what_is_no_answer_is_recorded(server: Scripted, protocol: str, body: Body, status: Status) -> None:
    server.say(body)
    assert ask(spec(server, protocol)).status == status
    assert len(server.log) == 1


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
EXHAUSTED = {
    "error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota", "details": [{"retryDelay": "0.05s"}]}
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "answer"),
    [
        ("anthropic", (529, OVERLOADED, {})),
        (
            "anthropic",
            (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "r"}}, {"retry-after": "1"}),
        ),
        ("anthropic", (500, {"type": "error", "error": {"type": "api_error", "message": "e"}}, {})),
        ("anthropic", (200, b"<html>", {})),
        ("anthropic", (200, b"", {})),
        ("anthropic", anthropic("")),
        ("anthropic", anthropic(reason=None)),
        ("google", (429, EXHAUSTED, {})),
        ("google", (503, [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}], {})),
        ("google", (500, b"\xff\xfe", {})),
        ("google", (200, b'{"candidates": [', {})),
        ("google", {"candidates": []}),
        ("responses", responses(reason="failed", error={"code": "server_error", "message": "e"})),
    ],
)
def test_what_passes_is_asked_again_by_our_policy_alone(server: Scripted, protocol: str, answer: Any) -> None:
    server.say(answer, MAKERS[protocol]())
    reply = ask(spec(server, protocol))
    assert (reply.text, len(server.log)) == ("A cat.", 2), reply.reason
    server.say(answer)
    reply = ask(spec(server, protocol), ChatMessage("user", "Again?"))
    assert reply.status != Status.OK
    assert len(server.log) == 3


@pytest.mark.parametrize(
    ("protocol", "answer", "status"),
    [
        (
            "anthropic",
            (400, {"error": {"type": "invalid_request_error", "message": "max_tokens: too many"}}, {}),
            Status.REJECTED,
        ),
        (
            "anthropic",
            (400, {"error": {"message": "Output blocked by content filtering policy"}}, {}),
            Status.MODERATED,
        ),
        (
            "google",
            (400, {"error": {"code": 400, "message": "Unknown name", "status": "INVALID_ARGUMENT"}}, {}),
            Status.REJECTED,
        ),
        ("google", (404, {"error": {"code": 404, "message": "no such model"}}, {}), Status.REJECTED),
    ],
)
def test_an_error_of_the_request_stands_with_the_servers_words(
    server: Scripted, protocol: str, answer: Any, status: Status
) -> None:
    server.say(answer)
    reply = ask(spec(server, protocol))
    assert (reply.status, len(server.log)) == (status, 1)
    assert str(answer[1]["error"]["message"]) in reply.reason


@pytest.mark.parametrize(
    ("protocol", "answer", "named"),
    [
        (
            "anthropic",
            (401, {"error": {"type": "authentication_error", "message": f"bad {KEY}"}}, {}),
            "ANTHROPIC_API_KEY",
        ),
        (
            "anthropic",
            (400, {"error": {"message": "Your credit balance is too low to access the API"}}, {}),
            "no credit",
        ),
        (
            "google",
            (400, {"error": {"message": "bad", "details": [{"reason": "API_KEY_INVALID"}]}}, {}),
            "GEMINI_API_KEY",
        ),
        ("responses", (401, {"error": {"code": "invalid_api_key", "message": "bad"}}, {}), "OPENAI_API_KEY"),
    ],
)
def test_a_refused_key_or_no_credit_ends_the_run_with_one_line(
    server: Scripted, protocol: str, answer: Any, named: str
) -> None:
    server.say(answer)
    with pytest.raises(PluginError, match=named) as caught:
        ask(spec(server, protocol))
    assert len(server.log) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("protocol", MAKERS)
def test_a_redirect_is_not_followed_with_the_key(server: Scripted, protocol: str) -> None:
    server.say((307, {}, {"Location": f"{server.origin}/elsewhere"}))
    assert ask(spec(server, protocol)).status == Status.REJECTED
    assert len(server.log) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"headers": {"Authorization": "Bearer x"}}, "key_env"),
        ({"headers": {"X-Api-Key": "x"}}, "key_env"),
        ({"headers": {"X-Title": "a\nb"}}, "one line"),
        ({"extra": {"model": "other"}}, "extra may not set model"),
    ],
)
def test_headers_carry_no_keys_and_extra_fields_do_not_replace_ours(wrong: Body, said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        registry.check("chat", {"plugin": "anthropic", "model": "claude-x", **wrong}, "vlm")


def test_other_headers_are_another_request(server: Scripted) -> None:
    server.say(anthropic())
    for headers in ({}, {"anthropic-beta": "b1"}, {"anthropic-beta": "b1"}):
        ask(spec(server, "anthropic", headers=headers))
    assert len(server.log) == 2
