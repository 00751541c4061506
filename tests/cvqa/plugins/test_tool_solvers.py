"""The tool-using agent, against a real server of the OpenAI protocol: what is sent, done, recorded and bounded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.remote.settings import use
from tests.answers import answers
from tests.images import image
from tests.inference.models.scripted import Scripted, scripted

VISION = {
    "plugin": "mock",
    "found": {"dog": [[2, 2, 20, 20], [22, 4, 38, 30]], "ring": [[0, 0, 40, 40]]},
    "answers": {"What color is it?": "brown"},
}
Body = dict[str, Any]


@pytest.fixture(scope="module")
def running() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def server(running: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("CFEVAL_CALLS", "")
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=0))
    return running


def calling(*calls: tuple[str, Any], text: str | None = None, reason: str = "tool_calls") -> Body:
    """A completion that calls tools, as platform.openai.com/docs/api-reference/chat/object has it."""
    wanted = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _json(given)}}
        for n, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, "tool_calls": wanted}
    return {"model": "m", "choices": [{"finish_reason": reason, "message": message}]}


def _json(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def saying(text: str) -> Body:
    return {"model": "m", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}


def asked(server: Scripted, *said: Body, offline: bool = False, **options: Any) -> AnswerReply:
    """What the agent replies to one question where the model says this, one completion after the other."""
    server.say(*said)
    model = {"plugin": "openai", "model": "m", "base_url": f"{server.origin}/v1"}
    spec = {"plugin": "agent", "model": model, "vision": {**VISION, **options.pop("vision", {})}, **options}
    request = AnswerRequest("i", "original", "direct", image(3, (40, 40)), "How many dogs?", 7)
    replies: list[AnswerReply] = answers(registry.build("solvers", spec).answer, [request])
    return replies[0]


def sent(server: Scripted, number: int) -> list[Body]:
    messages: list[Body] = server.log[number].body["messages"]
    return messages


def test_tools_are_called_their_results_told_and_every_call_recorded(server: Scripted) -> None:
    reply = asked(
        server,
        calling(("find", {"name": "dog"}), ("ask", {"question": "What color is it?", "box": [2, 2, 20, 20]})),
        calling(("inside", {"inner": [22, 4, 38, 30], "outer": [0, 0, 40, 40]}), text="Is it inside?"),
        saying(" 2 "),
    )
    assert (reply.text, reply.status, reply.model) == ("2", Status.OK, "m")
    assert [tool["function"]["name"] for tool in server.log[0].body["tools"]] == [
        *("find", "ask", "match", "depth", "inside")
    ]
    [first] = sent(server, 0)
    assert "How many dogs?" in first["content"][1]["text"]
    assert first["content"][0]["type"] == "image_url"
    _, wanted, boxes, color = sent(server, 1)
    assert (wanted["role"], [one["id"] for one in wanted["tool_calls"]]) == ("assistant", ["call_0", "call_1"])
    assert (boxes["role"], boxes["tool_call_id"], json.loads(boxes["content"])) == (
        *("tool", "call_0"),
        [[2, 2, 20, 20], [22, 4, 38, 30]],
    )
    assert (color["tool_call_id"], json.loads(color["content"])) == ("call_1", "brown")
    run = reply.program
    assert run is not None
    assert (run.language, run.result, run.fault, run.steps, run.calls) == ("tools", "2", "", 3, 3)
    assert [(step.line, step.call) for step in run.trace] == [(1, "find"), (1, "ask"), (2, "inside")]
    assert run.code.splitlines()[0] == 'find({"name": "dog"})'
    assert len(reply.calls) == 3 == len(server.log)
    assert [len(step.calls) for step in run.trace] == [1, 0, 1]
    assert {key for step in run.trace for key in step.calls} == set(reply.calls[:2])


def test_a_question_that_was_answered_is_replayed_without_the_provider(server: Scripted) -> None:
    said = (calling(("find", {"name": "dog"})), saying("2"))
    first = asked(server, *said)
    assert asked(server, saying("never sent")) == first
    assert server.log == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("look", {}), "error: there is no tool 'look'; there are find, ask, match, depth, inside"),
        (("find", {}), "error: find needs name"),
        (("find", "{not json"), "error: the arguments are not JSON"),
        (("find", "[1]"), "error: the arguments must be an object"),
        (("find", {"name": ["dog"]}), "error: a name of what to find"),
        (("ask", {"question": "?", "box": [1, 2]}), "error: box must be [left, top, right, bottom] in pixels"),
        (("ask", {"question": "?", "box": [50, 50, 60, 60]}), "error: box [50, 50, 60, 60] holds no pixel"),
        (("match", {"texts": "red"}), "error: texts must be a list of texts"),
        (("__import__", {"name": "os"}), "error: there is no tool"),
    ],
)
def test_a_call_that_cannot_be_done_is_told_in_one_line_and_the_agent_goes_on(
    server: Scripted, call: tuple[str, Any], told: str
) -> None:
    reply = asked(server, calling(call), saying("2"))
    assert (reply.text, reply.status) == ("2", Status.OK)
    assert sent(server, 1)[-1]["content"].startswith(told)
    assert reply.program is not None
    assert reply.program.trace[0].result.startswith("error: ")


def test_its_turns_and_calls_are_bounded(server: Scripted) -> None:
    reply = asked(server, calling(("find", {"name": "dog"})), turns=3)
    assert (reply.status, len(server.log)) == (Status.UNPARSABLE, 4)
    assert "no answer within 3 turns" in reply.reason
    assert "No more tools can be called" in sent(server, 3)[-1]["content"]
    assert "No more tools" not in sent(server, 2)[-1]["content"]
    assert reply.program is not None
    assert reply.program.fault == reply.reason
    many = calling(*[("find", {"name": "dog", "box": [0, 0, 9, n + 1]}) for n in range(5)])
    reply = asked(server, many, saying("2"), calls=3)
    assert (reply.status, len(server.log)) == (Status.UNPARSABLE, 1)
    assert "more than 3 calls" in reply.reason


def test_calls_that_a_model_writes_into_its_reply_are_done_too(server: Scripted) -> None:
    written = 'Let me look.\n<tool_call>\n{"name": "find", "arguments": {"name": "dog"}}\n</tool_call>'
    reply = asked(server, saying(written), saying("2"), sees=False)
    assert (reply.text, reply.status) == ("2", Status.OK)
    assert isinstance(sent(server, 0)[0]["content"], str), "it is not shown the image"
    assert [(one["role"], one["content"]) for one in sent(server, 1)[1:]] == [
        ("assistant", written),
        ("user", "<tool_response>[[2, 2, 20, 20], [22, 4, 38, 30]]</tool_response>"),
    ]


def test_a_server_that_says_stop_beside_calls_is_understood(server: Scripted) -> None:
    assert asked(server, calling(("find", {"name": "dog"}), reason="stop"), saying("2")).text == "2"


def test_what_fails_outside_is_no_answer_and_no_fault_of_the_agent(server: Scripted) -> None:
    reply = asked(server, calling(("ask", {"question": "?"})), vision={"statuses": {"i": "transport_error"}})
    assert (reply.status, reply.text, reply.program) == (Status.TRANSPORT_ERROR, "", None)
    assert len(reply.calls) == 1
    cut = {"model": "m", "choices": [{"finish_reason": "length", "message": {"content": "Let"}}]}
    assert asked(server, calling(("depth", {"box": None})), cut).status == Status.TRUNCATED


def test_calls_of_tools_that_nobody_offered_are_no_answer(server: Scripted) -> None:
    server.say(calling(("find", {"name": "dog"})))
    model = registry.build("chat", {"plugin": "openai", "model": "m", "base_url": f"{server.origin}/v1"})
    [reply] = answers(model.generate, [ChatRequest("i", (ChatMessage("user", "How many?"),), 7)])
    assert (reply.status, reply.tool_calls) == (Status.UNPARSABLE, ())


@pytest.mark.parametrize(
    "model",
    [
        {"plugin": "litellm", "model": "bedrock/claude"},
        {"plugin": "puzzles"},
    ],
)
def test_a_model_without_tools_is_refused_before_anything_is_asked(model: Body) -> None:
    spec = {"plugin": "agent", "model": model, "vision": VISION}
    with pytest.raises(PluginError, match="takes no tools"):
        registry.build("solvers", spec)
    offline = list(registry.diagnose("solvers", {**spec, "model": {"plugin": "mock"}}))
    assert all(one.fine for one in offline)


def test_what_a_question_may_cost_is_known_before() -> None:
    model = {"plugin": "openai", "model": "lab/vlm", "provider": "openrouter"}
    calls = registry.estimate_calls("solvers", {"plugin": "agent", "model": model, "vision": VISION, "turns": 3})
    assert [call.repair for call in calls] == [False, False, True, True]
