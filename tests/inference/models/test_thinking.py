"""Models that think: which are known, what each provider is sent, and that a limit of replies leaves them room."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import ParamsError
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.settings import use
from cfeval.inference.thinking import ROOM, thinks
from tests.answers import answers
from tests.inference.models.scripted import Scripted, scripted

Body = dict[str, Any]


@pytest.mark.parametrize(
    "model",
    [
        *("o3", "openai/o4-mini", "gpt-5.2", "openai/gpt-oss-120b", "google/gemini-2.5-pro", "gemini-3-pro-preview"),
        *("deepseek/deepseek-r1", "deepseek-r1-distill-qwen-7b", "deepseek-reasoner", "Qwen/QwQ-32B", "Qwen/Qwen3-8B"),
        *("qwen/qwen3-235b-a22b", "Qwen/Qwen3-VL-8B-Thinking", "magistral-medium-2506", "z-ai/glm-4.6", "x-ai/grok-4"),
        *("openai/o5-mini", "gpt-6.2-sol", "deepseek/deepseek-v4-pro", "moonshotai/kimi-k3", "x-ai/grok-5", "qwen3:8b"),
        *("anthropic/claude-opus-5.5", "claude-sonnet-5-5", "us.anthropic.claude-opus-5-v1:0", "claude-fable-6"),
        *("anthropic/claude-3.7-sonnet:thinking", "moonshotai/Kimi-VL-A3B-Thinking", "microsoft/phi-4-reasoning-plus"),
    ],
)
def test_models_that_think_unless_they_are_told_not_to_are_known(model: str) -> None:
    assert thinks(model)


@pytest.mark.parametrize(
    "model",
    [
        *("gpt-4o", "openai/gpt-4.1-mini", "gpt-5-chat-latest", "google/gemini-2.5-flash-image", "gemini-2.0-flash"),
        *("claude-haiku-4.5", "claude-opus-4-20250514", "claude-3-5-sonnet-20241022", "gpt-35-turbo", "deepseek-v3"),
        *("claude-sonnet-4-5", "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen3-VL-8B-Instruct", "qwen/qwen3-coder"),
        *(
            "deepseek/deepseek-chat",
            "meta-llama/Llama-3.2-11B-Vision-Instruct",
            "mistral-large",
            "o",
            "photo3",
            "lab/llm",
        ),
        *("x-ai/grok-4-fast-non-reasoning", "llava-hf/llava-1.5-7b-hf", "think-tank", "Salesforce/blip2-flan-t5-xxl"),
    ],
)
def test_models_that_answer_at_once_are_not_taken_for_them(model: str) -> None:
    assert not thinks(model)


ANSWER_AT_ONCE = {"gpt-4o", "gpt-4o-mini", "claude-haiku-4.5", "claude-haiku-4-5", "qwen2.5-vl-72b-instruct"}
"""The models of the price list that write text and do not think unless they are asked to: see their makers' pages."""


def test_every_model_of_the_price_list_that_reasons_is_known() -> None:
    writers = {
        name.rpartition("/")[2] for name, price in load_prices().package.items() if price.output and not price.image
    }
    assert {name for name in writers if not thinks(name)} == ANSWER_AT_ONCE
    assert len(writers) > 20


@pytest.fixture(scope="module")
def running() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def server(running: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "KEY"):
        monkeypatch.setenv(name, "sk-canary-4b1d9e")
    monkeypatch.setenv("CFEVAL_CALLS", "")
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=0))
    return running


CHAT = {"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": "4"}}]}
ANTHROPIC = {"model": "m", "content": [{"type": "text", "text": "4"}], "stop_reason": "end_turn"}
GOOGLE = {"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": "4"}]}, "finishReason": "STOP"}]}
RESPONSES = {
    "model": "m",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "4"}]}],
}


def sent(server: Scripted, said: Body, spec: Body, max_tokens: int | None = None) -> Body:
    """The body of the request that a model of these options sends."""
    server.say({**said, "model": spec["model"]} if "model" in said else {**said, "modelVersion": spec["model"]})
    base = server.origin + {"anthropic": "", "google": "/v1beta"}.get(spec["plugin"], "/v1")
    request = ChatRequest("i", (ChatMessage("user", "How many?"),), 7, max_tokens=max_tokens)
    model = registry.build("chat", {"base_url": base, **spec})
    replies: list[ChatReply] = answers(model.generate, [request])
    assert (replies[0].text, replies[0].status) == ("4", Status.OK), replies[0].reason
    body: Body = server.log[0].body
    return body


def openai(model: str = "m", **more: Any) -> Body:
    return {"plugin": "openai", "model": model, "key_env": "KEY", **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "said", "fields"),
    [
        (openai(), CHAT, {"max_tokens": 2048, "reasoning_effort": None, "reasoning": None}),
        (openai(effort="low"), CHAT, {"max_tokens": 2048 + ROOM, "reasoning_effort": "low"}),
        (openai(effort="none"), CHAT, {"max_tokens": 2048, "reasoning_effort": "none"}),
        (openai(thinking_tokens=5000), CHAT, {"max_tokens": 7048, "reasoning_effort": None}),
        (openai("o3", provider="openai"), CHAT, {"max_completion_tokens": 2048 + ROOM}),
        (openai("o3", provider="openai", thinking_tokens=0), CHAT, {"max_completion_tokens": 2048}),
        (openai(provider="openrouter", effort="high"), CHAT, {"reasoning": {"effort": "high"}}),
        (openai(provider="openrouter", thinking_tokens=5000), CHAT, {"reasoning": {"max_tokens": 5000}}),
        (openai(provider="openrouter", thinking_tokens=0), CHAT, {"reasoning": {"enabled": False}, "max_tokens": 2048}),
        (
            openai(provider="openrouter", effort="low", extra={"reasoning": {"exclude": True}}),
            CHAT,
            {"reasoning": {"effort": "low", "exclude": True}},
        ),
        (
            openai(api="responses", effort="low"),
            RESPONSES,
            {"max_output_tokens": 2048 + ROOM, "reasoning": {"effort": "low"}},
        ),
        (
            {"plugin": "anthropic", "model": "m", "thinking_tokens": 4000},
            ANTHROPIC,
            {"max_tokens": 6048, "thinking": {"type": "enabled", "budget_tokens": 4000}, "output_config": None},
        ),
        (
            {"plugin": "anthropic", "model": "m", "thinking_tokens": 4000, "effort": "max"},
            ANTHROPIC,
            {"max_tokens": 6048, "thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
        ),
        ({"plugin": "anthropic", "model": "m", "effort": "low"}, ANTHROPIC, {"max_tokens": 2048, "thinking": None}),
        (
            {"plugin": "anthropic", "model": "claude-opus-5-5"},
            ANTHROPIC,
            {"max_tokens": 2048 + ROOM, "thinking": None},
        ),
        (
            {"plugin": "anthropic", "model": "claude-opus-5-5", "thinking_tokens": 4000},
            ANTHROPIC,
            {"max_tokens": 6048, "thinking": {"type": "adaptive"}},
        ),
        (
            {"plugin": "anthropic", "model": "claude-haiku-5-5", "thinking_tokens": 0},
            ANTHROPIC,
            {"max_tokens": 2048, "thinking": {"type": "disabled"}},
        ),
    ],
)
def test_each_provider_is_asked_in_its_own_words(server: Scripted, spec: Body, said: Body, fields: Body) -> None:
    body = sent(server, said, spec)
    assert {name: body.get(name) for name in fields} == fields


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "config"),
    [
        ({}, {"maxOutputTokens": 2048}),
        ({"thinking_tokens": 0}, {"maxOutputTokens": 2048, "thinkingConfig": {"thinkingBudget": 0}}),
        ({"thinking_tokens": 900}, {"maxOutputTokens": 2948, "thinkingConfig": {"thinkingBudget": 900}}),
        ({"effort": "low"}, {"maxOutputTokens": 2048 + ROOM, "thinkingConfig": {"thinkingLevel": "LOW"}}),
    ],
)
def test_gemini_is_asked_in_its_own_words(server: Scripted, more: Body, config: Body) -> None:
    body = sent(server, GOOGLE, {"plugin": "google", "model": "m", **more})
    assert {name: value for name, value in body["generationConfig"].items() if name != "seed"} == config


def test_the_limit_of_a_program_is_not_that_of_the_thoughts_before_it(server: Scripted) -> None:
    assert sent(server, CHAT, openai("deepseek/deepseek-r1"), max_tokens=512)["max_tokens"] == 512 + ROOM
    assert sent(server, CHAT, openai("gpt-4o"), max_tokens=512)["max_tokens"] == 512


def test_thoughts_are_told_as_a_cost_beforehand() -> None:
    writer = {"plugin": "chat", "model": openai("o3", provider="openai")}
    [call] = registry.estimate_calls("program_generators", writer)
    assert (call.max_tokens, call.thinking_tokens) == (512, ROOM)


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"plugin": "anthropic", "effort": "minimal"}, "must be one of low, medium, high, xhigh, max"),
        ({"plugin": "google", "effort": "none"}, "must be one of minimal, low, medium, high"),
        ({"plugin": "anthropic", "thinking_tokens": 500}, "thinking_tokens must be 0 or at least 1024"),
        ({"plugin": "openai", "provider": "openai", "effort": "much"}, "effort"),
    ],
)
def test_what_a_provider_does_not_take_is_refused_before_it_is_asked(spec: Body, wrong: str) -> None:
    with pytest.raises(ParamsError, match=wrong):
        registry.check("chat", {"model": "m", **spec}, "here")
