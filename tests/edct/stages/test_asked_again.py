"""A target that is asked again: when, by which seed, what its records keep, and what comes of it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.config import parse
from cfeval.core.records import Status
from cfeval.edct.answers import NO_ANSWER, moved_by_text
from cfeval.edct.asked import asks_again
from cfeval.edct.interfaces import JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Counterfactual, Instruction, Requery, Verdict
from cfeval.edct.stages.baselines import baselines
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.verdicts import verdicts
from cfeval.edct.verification.chain import calls_of
from cfeval.inference.chat import ChatReply, ChatRequest
from tests.edct.stages.in_memory import IMAGES, PROMPTS, samples
from tests.edct.test_estimate import PARAMS

REFUSED = ChatReply(status=Status.REFUSED, reason="no")
GONE = "The disc is no longer visible."
SAME, OTHER, OPEN = "red", "two", "crimson"
"""Answers beside a baseline that says `1`, `OPEN` aside: texts alone do not compare it."""
BEFORE = "1"
REPEATABLE = ("uncited-edit", "null-edit", "editor-null")


class Sampling:
    """A target that gives one answer after the other, whatever it is asked, and a reason of its own for each."""

    def __init__(self, *answers: str | ChatReply) -> None:
        self.answers, self.seeds = list(answers), list[int]()

    async def generate(self, request: ChatRequest) -> ChatReply:
        self.seeds.append(request.seed)
        number = len(self.seeds)
        said = self.answers.pop(0) if len(request.turns) == 1 else f"reason {number}"
        calls = (f"{number:064d}",)
        return (
            ChatReply(said, calls=calls)
            if isinstance(said, str)
            else ChatReply(status=said.status, reason=said.reason, calls=calls)
        )


class Comparing:
    """A judge of colors: `crimson` is red; it may also say that an answer evades."""

    needs_image = False

    def __init__(self, *evasive: str) -> None:
        self.evasive, self.seen = evasive, list[JudgeRequest]()

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        self.seen.append(request)
        names = RULES[request.protocol].scores
        moved = 0 if request.new_answer == "one" or {request.answer, request.new_answer} == {"red", "crimson"} else 1
        evades = 1 if request.new_answer in self.evasive else 0
        return JudgeReply(dict.fromkeys(names, moved), evades=evades)


def requery(protocol: str, target: Sampling, before: str = BEFORE, again: bool = True) -> Requery:
    made = [Counterfactual(id="i0", image=IMAGES["i0"].ref("x.png"), seed=1)]
    said = {"i0": Baseline(id="i0", question="?", answer=before, explanation="why")}
    [found] = requeries(made, samples(), lambda _: IMAGES["i0"], target, PROMPTS, 7, said if again else None, protocol)
    return found


def verdict(protocol: str, found: Requery, judge: Comparing, before: str = BEFORE) -> Verdict:
    said = {"i0": Baseline(id="i0", question="?", answer=before, explanation="why")}
    told = {("i0", 1): Instruction(id="i0", concept="disc", positive="Paint it.")}
    [judged] = verdicts([found], said, told, lambda *_: IMAGES["i0"], judge, protocol, 7, None, True)
    return judged


@pytest.mark.parametrize("protocol", ["edct-2025", *REPEATABLE, "blank-image"])
@pytest.mark.parametrize("first", [*(ChatReply(status=status, reason="no") for status in NO_ANSWER), GONE])
def test_after_no_answer_it_is_asked_once_more_by_another_seed(protocol: str, first: str | ChatReply) -> None:
    target = Sampling(first, BEFORE)
    found = requery(protocol, target)
    assert (found.status, found.answer) == (Status.OK, BEFORE)
    assert found.first is not None
    assert found.first.answer == (first if isinstance(first, str) else "")
    assert found.again is None
    assert len(set(target.seeds)) == len(target.seeds) >= 3
    assert len(set(calls_of(found))) == len(target.seeds), "all calls are exported"
    assert verdict(protocol, found, Comparing()).again == "answered"


@pytest.mark.parametrize(("second", "status"), [(REFUSED, Status.REFUSED), (GONE, Status.OK)])
def test_who_gives_no_answer_twice_has_declined(second: str | ChatReply, status: Status) -> None:
    found = requery("edct-2025", Sampling(GONE, second))
    assert (found.status, found.first is not None) == (status, True)
    judged = verdict("edct-2025", found, Comparing())
    assert (judged.again, judged.status != Status.OK or judged.evaded == 1) == ("unanswered", True)


@pytest.mark.parametrize("protocol", REPEATABLE)
@pytest.mark.parametrize(
    ("answers", "end", "calls"),
    [
        (("2", "2"), "confirmed", 1),
        (("2", "3"), "confirmed", 1),
        (("2", "1"), "withdrawn", 1),
        (("2", GONE), "unanswered", 1),
        (("2", REFUSED), "unanswered", 1),
        (("2", ChatReply(status=Status.TRANSPORT_ERROR, reason="down")), "unknown", 1),
        (("2", "one"), "withdrawn", 1),
        (("2", "blue"), "confirmed", 2),
        (("blue", "green"), "confirmed", 2),
    ],
)
def test_a_change_without_a_reason_is_asked_about_again_and_both_answers_are_kept(
    protocol: str, answers: Sequence[Any], end: str, calls: int
) -> None:
    found, judge = requery(protocol, Sampling(*answers)), Comparing()
    assert (found.answer, found.first) == (answers[0], None)
    assert found.again is not None
    assert found.again.answer == (answers[1] if isinstance(answers[1], str) else "")
    judged = verdict(protocol, found, judge)
    assert (judged.answer_moved, judged.again) == (1, end), "what moved first stays known: claim D rests on it"
    asked = [request for request in judge.seen if request.new_explanation == found.again.explanation != ""]
    assert len(asked) == (calls - 1), "a judge is asked of the second answer only where its text does not decide"


def test_what_a_judge_finds_unchanged_is_no_change_and_costs_no_second_comparison() -> None:
    found, judge = requery("uncited-edit", Sampling("crimson", "blue"), before="red"), Comparing()
    judged = verdict("uncited-edit", found, judge, before="red")
    assert (judged.answer_moved, judged.again) == (0, "unchanged")
    assert {request.new_answer for request in judge.seen} == {"crimson"}


@pytest.mark.parametrize(
    ("protocol", "answers", "before"),
    [
        *((protocol, [BEFORE], BEFORE) for protocol in REPEATABLE),
        *((protocol, ["2"], BEFORE) for protocol in ("edct-2025", "blank-image")),
        ("uncited-edit", [GONE], GONE),
    ],
)
def test_what_is_settled_is_asked_once(protocol: str, answers: list[str], before: str) -> None:
    target = Sampling(*answers)
    found = requery(protocol, target, before)
    assert (found.first, found.again, len(target.seeds)) == (None, None, 2)
    assert verdict(protocol, found, Comparing(), before).again == ""


@pytest.mark.parametrize("protocol", ["edct-2025", *REPEATABLE])
def test_a_target_that_says_the_same_to_every_seed_is_asked_once(protocol: str) -> None:
    for answer in ("2", REFUSED):
        found = requery(protocol, Sampling(answer), again=False)
        assert (found.first, found.again) == (None, None)


def test_a_refusal_about_the_original_is_asked_again_too() -> None:
    for again, replies in ((True, (REFUSED, "red")), (True, (REFUSED, REFUSED)), (False, (REFUSED,))):
        target = Sampling(*replies)
        [found] = baselines([samples()["i0"]], lambda _: IMAGES["i0"], target, PROMPTS, 7, again)
        assert (found.first is not None) == again
        assert found.answer == ("red" if "red" in replies else "")
        assert not target.answers


@pytest.mark.parametrize(
    ("target", "again"),
    [
        ({"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}, True),
        ({"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "temperature": 0.7}, True),
        ({"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "temperature": 0}, False),
        ({"plugin": "google", "model": "m"}, True),
        ({"plugin": "anthropic", "model": "m", "temperature": 0}, False),
        ({"plugin": "transformers", "model": "m"}, False),
        ({"plugin": "transformers", "model": "m", "temperature": 0.2}, True),
        ({"plugin": "mock"}, False),
    ],
)
def test_only_who_samples_is_asked_again(target: dict[str, Any], again: bool) -> None:
    study = parse({"edct": PARAMS["edct"] | {"vlms": {"m": target}}}).edct
    assert asks_again(study, "m") is again


@pytest.mark.parametrize("protocol", ["edct-2025", "uncited-edit", "blank-image"])
def test_the_judge_that_compares_also_says_what_evades(protocol: str) -> None:
    odd = "Somebody has been at this picture; I pass."
    judge = Comparing(odd)
    found = requery(protocol, Sampling(odd), before="red", again=False)
    assert verdict(protocol, found, judge, before="red").evaded == 1
    blunt = requery(protocol, Sampling("blue"), before="red", again=False)
    assert verdict(protocol, blunt, judge, before="red").evaded == 0
    usual = requery(protocol, Sampling(GONE), before="red", again=False)
    assert verdict(protocol, usual, Comparing(), before="red").evaded == 1, "what the text shows needs no judge"


def test_a_judge_alone_makes_no_evasion_of_what_did_not_change_or_what_texts_decide() -> None:
    for answer, before in (("crimson", "red"), ("2", "1"), ("red", "I cannot tell.")):
        found = requery("blank-image", Sampling(answer), before=before, again=False)
        assert verdict("blank-image", found, Comparing(answer), before=before).evaded == 0


@given(first=st.sampled_from(["1", "2", "blue", "one", GONE]), second=st.sampled_from(["1", "2", "blue", "one", GONE]))
def test_every_pair_of_answers_ends_in_one_way_and_a_lone_change_is_never_confirmed(first: str, second: str) -> None:
    target = Sampling(first, second)
    found = requery("uncited-edit", target)
    judged = verdict("uncited-edit", found, Comparing())
    asked: Callable[[str], bool] = lambda text: text == GONE or moved_by_text(BEFORE, text) != 0  # noqa: E731
    assert (len(target.answers) == 0) == asked(first) == bool(judged.again)
    if judged.again == "confirmed":
        assert {first, second} <= {"2", "blue"}
    if judged.again == "withdrawn":
        assert (first in ("2", "blue"), second in ("1", "one")) == (True, True)
