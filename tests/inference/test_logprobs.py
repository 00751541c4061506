"""Log-probabilities: what each protocol is asked for, and what is read of how its answer begins."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import ParamsError
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest, ScoredReply
from cfeval.inference.remote.settings import use
from tests.answers import answers
from tests.inference.models.scripted import Scripted, scripted

FIRST = ChatMessage("user", "Is it red?")
SECOND = (FIRST, ChatMessage("assistant", "Yes"), ChatMessage("user", "Why?"))
NOT_A_NUMBER = float("nan")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    for name in ("GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-canary-88c1")
    monkeypatch.setenv("CFEVAL_CALLS", "")
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=0))
    with scripted() as running:
        yield running


def steps(*tokens: str) -> list[dict[str, Any]]:
    """Tokens as OpenAI words them: each with .5, No with .25 and one that is no number in its place."""
    top = [{"token": "No", "logprob": -1.4}, {"token": "Maybe", "logprob": NOT_A_NUMBER}, {"token": 3, "logprob": -9.0}]
    return [{"token": token, "logprob": -0.7, "top_logprobs": top} for token in tokens]


def chat(logprobs: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Yes"}
    return {"model": "m", "choices": [{"finish_reason": "stop", "message": message, "logprobs": logprobs}]}


def responses(logprobs: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": "Yes", "annotations": [], "logprobs": logprobs}
    return {"model": "m", "status": "completed", "output": [{"type": "message", "content": [part]}]}


def google(result: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "Yes"}]}
    return {"modelVersion": "m", "candidates": [{"content": content, "finishReason": "STOP", "logprobsResult": result}]}


GEMINI = {
    "chosenCandidates": [{"token": "Yes", "logProbability": -0.7}, {"token": "\n", "logProbability": -0.1}],
    "topCandidates": [
        {"candidates": [{"token": "No", "logProbability": -1.4}, {"token": "Maybe", "logProbability": None}]}
    ],
}
PROTOCOLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "chat": (
        {"plugin": "openai", "key_env": "OPENAI_API_KEY"},
        {"logprobs": True, "top_logprobs": 4},
        chat({"content": steps("Yes", ".")}),
        chat(None),
    ),
    "responses": (
        {"plugin": "openai", "api": "responses", "key_env": "OPENAI_API_KEY"},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 4},
        responses(steps("Yes", ".")),
        responses("none"),
    ),
    "google": (
        {"plugin": "google"},
        {"responseLogprobs": True, "logprobs": 4},
        google(GEMINI),
        google({"chosenCandidates": "none", "topCandidates": [3]}),
    ),
}


def ask(server: Scripted, options: dict[str, Any], *turns: ChatMessage) -> tuple[ChatReply, dict[str, Any]]:
    """A reply, and what the server was sent."""
    spec = {"model": "m", "base_url": f"{server.origin}/v1", **options}
    [reply] = answers(registry.build("chat", spec).generate, [ChatRequest("i", turns or (FIRST,), 7)])
    sent = server.log[-1].body
    return reply, {**sent, **sent.get("generationConfig", {})}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_first_turn_asks_for_them_and_numbers_alone_are_read(server: Scripted, protocol: str) -> None:
    options, wanted, said, without = PROTOCOLS[protocol]
    server.say(said)
    reply, sent = ask(server, options | {"logprobs": 4})
    assert wanted.items() <= sent.items()
    assert isinstance(reply, ScoredReply)
    assert (reply.first_token, reply.beginnings) == ("Yes", (("Yes", -0.7), ("No", -1.4)))
    _, sent = ask(server, options | {"logprobs": 4}, *SECOND)
    assert not wanted.keys() & sent.keys(), "the reason needs none"
    plain, sent = ask(server, options)
    assert not wanted.keys() & sent.keys()
    assert not isinstance(plain, ScoredReply)
    server.say(without)
    reply, _ = ask(server, options | {"logprobs": 3})
    assert isinstance(reply, ScoredReply)
    assert (reply.text, reply.beginnings) == ("Yes", ()), "a provider that gives none, or something else"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_litellm_passes_the_wish_on(server: Scripted) -> None:
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
    step = {"token": "Yes", "logprob": -0.7, "bytes": None, "top_logprobs": []}
    told = {**step, "top_logprobs": [{"token": "No", "logprob": -1.4, "bytes": None}]}
    server.say({**whole, **chat({"content": [told], "refusal": None})})
    reply, sent = ask(server, {"plugin": "litellm", "model": "openai/m", "key_env": "OPENAI_API_KEY", "logprobs": 4})
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 4)
    assert isinstance(reply, ScoredReply), reply
    assert reply.beginnings == (("Yes", -0.7), ("No", -1.4))


def test_a_provider_without_log_probabilities_refuses_the_option_by_name() -> None:
    with pytest.raises(ParamsError, match="logprobs"):
        registry.build("chat", {"plugin": "anthropic", "model": "claude-x", "logprobs": 4})
    with pytest.raises(ParamsError, match="logprobs"):
        registry.build("chat", {"plugin": "google", "model": "m", "logprobs": 21})
