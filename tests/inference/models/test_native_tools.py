"""Tools by Anthropic's, Gemini's and OpenAI's own protocols: an agent against servers that refuse what those refuse."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest
from cfeval.inference.remote.settings import use
from tests.answers import answers
from tests.images import image
from tests.inference.models.scripted import Asked, Scripted, scripted

Body = dict[str, Any]
SIGNED = "QUJD" * 400
"""What a provider signs thoughts with: base64, longer than what is left out of a stored answer."""
WANTED = (("find", {"name": "dog"}), ("ask", {"question": "What color is it?"}))
RESULTS = ["[[2, 2, 20, 20], [22, 4, 38, 30]]", '"brown"']


@pytest.fixture(scope="module")
def running() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def server(running: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-canary-4b1d9e")
    monkeypatch.setenv("CFEVAL_CALLS", "")
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=0))
    return running


def anthropic(asked: Asked) -> Body:
    """As platform.claude.com/docs/en/agents-and-tools/tool-use has it: results at once, after the turn as it came."""
    body = asked.body
    assert [set(tool) for tool in body["tools"]] == [{"name", "description", "input_schema"}] * 5
    calls = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given} for n, (name, given) in enumerate(WANTED)
    ]
    turn = [{"type": "thinking", "thinking": "Hm.", "signature": SIGNED}, {"type": "text", "text": "I look."}, *calls]
    said: Body = {"type": "message", "role": "assistant", "model": "claude-opus-5-5", "usage": {}}
    if len(body["messages"]) == 1:
        return {**said, "content": turn, "stop_reason": "tool_use"}
    _, before, results = body["messages"]
    assert before == {"role": "assistant", "content": turn}, "thoughts must come back as they were signed"
    assert results["role"] == "user"
    assert [(one["type"], one["tool_use_id"]) for one in results["content"]] == [
        *(("tool_result", "toolu_0"), ("tool_result", "toolu_1"))
    ]
    assert [one["content"] for one in results["content"]] == RESULTS
    return {**said, "content": [{"type": "text", "text": "2"}], "stop_reason": "end_turn"}


def google(asked: Asked) -> Body:
    """As ai.google.dev/gemini-api/docs/function-calling has it: results by name, signed thoughts in their places."""
    body = asked.body
    [declared] = body["tools"]
    assert [set(one) for one in declared["functionDeclarations"]] == [
        {"name", "description", "parametersJsonSchema"}
    ] * 5
    calls: list[Body] = [{"functionCall": {"name": name, "args": given}} for name, given in WANTED]
    calls[0]["thoughtSignature"] = SIGNED
    turn = [{"text": "Hm.", "thought": True}, *calls]
    said: Body = {"modelVersion": "gemini-3.5-flash", "usageMetadata": {}}
    if len(body["contents"]) == 1:
        return {**said, "candidates": [{"content": {"role": "model", "parts": turn}, "finishReason": "STOP"}]}
    _, before, results = body["contents"]
    assert before == {"role": "model", "parts": turn}, "a call without its signature is a 400"
    told = [one["functionResponse"] for one in results["parts"]]
    assert (results["role"], [one["name"] for one in told]) == ("user", ["find", "ask"])
    assert [one["response"] for one in told] == [{"result": result} for result in RESULTS]
    assert not any("id" in one for one in told), "an id that Gemini did not give"
    return {**said, "candidates": [{"content": {"role": "model", "parts": [{"text": "2"}]}, "finishReason": "STOP"}]}


def responses(asked: Asked) -> Body:
    """As platform.openai.com/docs/guides/function-calling has it, nothing kept there: thoughts go along encrypted."""
    body = asked.body
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert {tool["type"] for tool in body["tools"]} == {"function"}
    calls = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": name, "arguments": json.dumps(given)}
        for n, (name, given) in enumerate(WANTED)
    ]
    turn = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SIGNED}, *calls]
    said: Body = {"model": "gpt-6-luna", "status": "completed", "usage": {}}
    if len(body["input"]) == 1:
        return {**said, "output": turn}
    assert body["input"][1:4] == turn, "a call without its reasoning is a 400"
    assert body["input"][4:] == [
        {"type": "function_call_output", "call_id": f"call_{n}", "output": result} for n, result in enumerate(RESULTS)
    ]
    text = {"type": "output_text", "text": "2"}
    return {**said, "output": [{"type": "message", "role": "assistant", "content": [text]}]}


PROTOCOLS: dict[str, tuple[Callable[[Asked], Body], Body]] = {
    "anthropic": (anthropic, {"plugin": "anthropic", "model": "claude-opus-5-5", "base_url": ""}),
    "google": (google, {"plugin": "google", "model": "gemini-3.5-flash", "base_url": "/v1beta"}),
    "responses": (
        responses,
        {"plugin": "openai", "api": "responses", "provider": "openai", "model": "gpt-6-luna", "base_url": "/v1"},
    ),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_agent_calls_tools_by_each_protocol_and_is_replayed_without_it(server: Scripted, protocol: str) -> None:
    play, model = PROTOCOLS[protocol]
    failures: list[str] = []

    def checked(asked: Asked) -> Body:
        try:
            return play(asked)
        except AssertionError as error:
            failures.append(str(error))
            raise

    server.say(checked)
    vision = {
        "plugin": "mock",
        "found": {"dog": [[2, 2, 20, 20], [22, 4, 38, 30]]},
        "answers": {"What color is it?": "brown"},
    }
    named = {**model, "base_url": server.origin + model["base_url"]}
    solver = registry.build("solvers", {"plugin": "agent", "model": named, "vision": vision})
    request = AnswerRequest("i", "original", "direct", image(3, (40, 40)), "How many dogs?", 7)

    def ask() -> AnswerReply:
        [reply] = answers(solver.answer, [request])
        assert isinstance(reply, AnswerReply)
        return reply

    reply = ask()
    assert not failures
    assert (reply.status, reply.text, len(reply.calls)) == (Status.OK, "2", 2), reply.reason
    assert reply.program is not None
    assert [step.call for step in reply.program.trace] == ["find", "ask"]
    assert (ask(), len(server.log)) == (reply, 2)
