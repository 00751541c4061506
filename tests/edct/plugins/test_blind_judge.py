"""The blind judge: it is shown the edited image, and learns of no instruction."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import JudgeReply
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, EDCT_BENCH_2026, RULES
from cfeval.inference.remote.settings import VARIABLE
from tests.answers import answers
from tests.edct.plugins.judging import BAR, PHOTO, RAMP, blind_of, graded, inside, judge_of, lines, request, unseen
from tests.fake_chat import FakeChat
from tests.loopback.image_files import from_base64
from tests.loopback.server import loopback

PAPERS = (EDCT_2025, EDCT_BENCH_2026)
GOOD = {EDCT_2025: lines(1, 0, 0), EDCT_BENCH_2026: lines(1, 0, 0, protocol=EDCT_BENCH_2026)}

TOLD = {
    "question": "Can one enter?",
    "original-answer": "No.",
    "original-explanation": "steps",
    "answer-after-the-edit": "Yes.",
    "explanation-after-the-edit": "a ramp",
}


def seen(protocol: str, **fields: Any) -> tuple[JudgeReply, FakeChat]:
    """The reply to one request, and the model that gave it."""
    model = graded(GOOD[protocol], "Grade: 2")
    [reply] = answers(blind_of(model).judge, [unseen(protocol=protocol, **fields)])
    return reply, model


def test_it_says_that_it_needs_the_image() -> None:
    model = FakeChat("")
    assert (blind_of(model).needs_image, judge_of(model).needs_image) == (True, False)


@pytest.mark.parametrize("protocol", PAPERS)
def test_it_is_shown_the_image_and_the_texts_and_gives_the_same_scores(protocol: str) -> None:
    reply, model = seen(protocol)
    first, second = RULES[protocol].scores
    assert (reply.scores, reply.stated_ccs, reply.status) == ({first: 1, second: 0}, 0, Status.OK)
    assert reply.grade == (2.0 if protocol == EDCT_BENCH_2026 else None)
    for asked in model.seen:
        assert [turn.image for turn in asked.turns] == [PHOTO]
        assert {tag: inside(asked.turns[0].text, tag) for tag in TOLD} == TOLD
    assert [asked.schema for asked in model.seen] == [asked.schema for asked in as_a_judge_of_texts(protocol).seen]


def as_a_judge_of_texts(protocol: str) -> FakeChat:
    model = graded(GOOD[protocol], "Grade: 2")
    answers(judge_of(model).judge, [request(protocol=protocol)])
    return model


@pytest.mark.parametrize("protocol", PAPERS)
def test_even_where_it_is_given_instructions_it_does_not_tell_the_model(protocol: str) -> None:
    _, model = seen(protocol, changes=(RAMP, BAR))
    for asked in model.seen:
        assert not [word for part in (RAMP, BAR) for word in (part.positive, part.negative) if word in str(asked)]


@pytest.mark.parametrize("protocol", PAPERS)
def test_without_an_image_nothing_is_asked(protocol: str) -> None:
    model = FakeChat(GOOD[protocol])
    with pytest.raises(PluginError, match="item 'i': the judge sees the counterfactual image, and there is none"):
        answers(blind_of(model).judge, [unseen(protocol=protocol, image=None)])
    assert not model.seen


def test_the_repair_turn_keeps_the_image_in_the_conversation() -> None:
    model = FakeChat("I see a ramp.", GOOD[EDCT_2025])
    [reply] = answers(blind_of(model).judge, [unseen()])
    assert reply.scores == {"pcs": 1, "ncc": 0}
    assert [turn.image for turn in model.seen[1].turns] == [PHOTO, None, None]


@pytest.mark.parametrize("protocol", CONTROLS)
def test_under_a_control_it_asks_what_every_judge_asks(protocol: str) -> None:
    blind, texts = FakeChat(lines(1, 0, protocol=protocol)), FakeChat(lines(1, 0, protocol=protocol))
    assert answers(blind_of(blind).judge, [unseen(protocol=protocol)]) == answers(
        judge_of(texts).judge, [request(protocol=protocol)]
    )
    assert blind.seen == texts.seen


@pytest.mark.parametrize("protocol", PAPERS)
def test_what_the_server_sees_is_the_image_and_no_instruction(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, Calls(cache=str(tmp_path / "calls.sqlite")).model_dump_json())
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    with loopback(key="k") as server:
        model = {"plugin": "openai", "provider": "openrouter", "model": "lab/judge", "base_url": server.openrouter}
        model["key_env"] = "OPENROUTER_API_KEY"
        judge = registry.build("judges", {"plugin": "blind", "model": model})
        [reply] = answers(judge.judge, [unseen(protocol=protocol, changes=(RAMP, BAR))])
        bodies = [arrived.payload for arrived in server.log]
    assert reply.status == Status.OK
    assert set(reply.scores) == set(RULES[protocol].scores)
    assert len(bodies) == len(reply.calls) == (2 if RULES[protocol].graded else 1)
    for body in bodies:
        [message] = body["messages"]
        [image] = [part for part in message["content"] if part["type"] == "image_url"]
        assert Image(from_base64(image["image_url"]["url"])).sha256 == PHOTO.sha256
        said = json.dumps(body)
        assert not [word for part in (RAMP, BAR) for word in (part.positive, part.negative) if word in said]


@pytest.mark.parametrize(("protocol", "wanted"), [(EDCT_2025, 2), (EDCT_BENCH_2026, 4)])
def test_its_templates_are_its_files(protocol: str, wanted: int) -> None:
    spec = {"plugin": "blind", "model": {"plugin": "mock"}}
    named = [Path(path).name for path in registry.dependencies("judges", spec, [protocol])]
    assert len(named) == wanted
    assert [name for name in named if "repair" not in name] == ["blind_judge.md", "blind_grade.md"][: wanted // 2]
    assert not list(registry.diagnose("judges", spec, protocols=RULES))


def test_the_image_is_counted_where_it_is_shown() -> None:
    model = {"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    spec = {"plugin": "blind", "model": model}
    assert {call.images_shown for call in registry.estimate_calls("judges", spec, PAPERS)} == {1}
    assert {call.images_shown for call in registry.estimate_calls("judges", spec, CONTROLS)} == {0}
    limits = [call.max_tokens for call in registry.estimate_calls("judges", spec, [EDCT_BENCH_2026])]
    assert limits == [4096, 4096, 8192, 8192]


def test_no_template_of_it_names_an_instruction() -> None:
    spec = {"plugin": "blind", "model": {"plugin": "mock"}}
    texts = [Path(path).read_text() for path in registry.dependencies("judges", spec, PAPERS)]
    assert not [text for text in texts if re.search(r"\{edit_instruction\}", text)]
