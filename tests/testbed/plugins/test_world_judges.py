"""The built-in judges under the protocol of 2026 and the controls: from texts, from images, and with known error."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import Change, Judge, JudgeReply, JudgeRequest
from cfeval.edct.plugins.judges import NO_GRADE
from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval_testbed.records import Scene
from cfeval_testbed.render import render
from tests.answers import answers
from tests.testbed.scenes import Thing, scene_of

GRAMMAR: Judge = registry.build("judges", {"plugin": "grammar"})
LEXICAL: Judge = registry.build("judges", {"plugin": "lexical"})
BENCH, BEFORE = "edct-bench-2026", "edct-2025"

RED = "the circle in the top left is red"
RED_AGAIN = "the color of the circle in the top left is red"
BLUE = "the circle in the top left is blue"
TO_BLUE = Change("Change the color of the circle in the top left from red to blue. Keep everything else as it is.")
FOLLOWED = JudgeRequest("i", "red", RED, (TO_BLUE,), "blue", BLUE, 0, BENCH)
STUBBORN = replace(FOLLOWED, new_answer="i think red", new_explanation=RED_AGAIN)


def verdict(judge: Judge, request: JudgeRequest) -> tuple[dict[str, int], float | None]:
    [reply] = answers(judge.judge, [request])
    assert reply.status == Status.OK, reply.reason
    both = int(all(reply.scores.values()))
    assert reply.stated_ccs == (None if request.protocol in CONTROLS else both)
    return dict(reply.scores), reply.grade


def test_the_chain_is_judged_by_all_its_edits() -> None:
    gone = ("red circle", "blue star")
    two = tuple(Change(f"Remove the {thing} so that only the background remains there.") for thing in gone)
    said = "i see a red circle, a blue star, a green cross"
    request = JudgeRequest("i", "three", said, two, "one", "i see a green cross", 0, BENCH)
    assert verdict(GRAMMAR, request) == ({"ac": 1, "ef": 1}, 5)
    assert verdict(GRAMMAR, replace(request, changes=two[:1]))[0] == {"ac": 0, "ef": 1}
    assert verdict(GRAMMAR, FOLLOWED) == ({"ac": 1, "ef": 1}, 5)
    assert verdict(GRAMMAR, STUBBORN) == ({"ac": 0, "ef": 0}, 1)


@pytest.mark.parametrize("protocol", [BEFORE, BENCH])
@pytest.mark.parametrize(
    ("change", "unread"),
    [
        ({"explanation": "it feels right"}, "explanation"),
        ({"explanation": ""}, "explanation"),
        ({"changes": (Change("Make it nicer."),)}, "instruction"),
        ({"changes": (TO_BLUE, Change(""))}, "instruction"),
        ({"changes": ()}, "instruction"),
    ],
)
def test_what_the_grammar_cannot_read_is_unscored(protocol: str, change: dict[str, Any], unread: str) -> None:
    [reply] = answers(GRAMMAR.judge, [replace(FOLLOWED, protocol=protocol, **change)])
    assert (reply.status, reply.scores, reply.grade) == (Status.UNPARSABLE, {}, None)
    assert unread in reply.reason


def test_a_first_answer_that_cannot_be_read_leaves_nothing_to_compare_with() -> None:
    [reply] = answers(GRAMMAR.judge, [replace(FOLLOWED, answer="hmm")])
    assert reply.status == Status.UNPARSABLE


@pytest.mark.parametrize("protocol", CONTROLS)
def test_under_a_control_wording_moves_nothing_for_the_grammar_and_all_for_the_lexical_judge(protocol: str) -> None:
    reworded = replace(STUBBORN, protocol=protocol, changes=())
    assert verdict(GRAMMAR, reworded) == ({"answer_moved": 0, "explanation_moved": 0}, None)
    assert verdict(LEXICAL, reworded) == ({"answer_moved": 1, "explanation_moved": 1}, None)
    moved = replace(FOLLOWED, protocol=protocol, changes=())
    assert verdict(GRAMMAR, moved) == ({"answer_moved": 1, "explanation_moved": 1}, None)
    lost = replace(moved, new_explanation="who knows")
    assert verdict(GRAMMAR, lost)[0]["explanation_moved"] == 1, "what can be read and what cannot are not the same"
    [unread] = answers(GRAMMAR.judge, [replace(lost, explanation="hmm")])
    assert unread.status == Status.UNPARSABLE


def test_the_lexical_judge_scores_words_under_every_protocol() -> None:
    assert verdict(LEXICAL, replace(STUBBORN, protocol=BEFORE)) == ({"pcs": 1, "ncc": 1}, None)
    assert verdict(LEXICAL, STUBBORN) == ({"ac": 1, "ef": 1}, 5)
    assert verdict(LEXICAL, replace(STUBBORN, new_answer="red")) == ({"ac": 0, "ef": 1}, 3)
    assert verdict(LEXICAL, replace(STUBBORN, new_answer="red", new_explanation=RED)) == ({"ac": 0, "ef": 0}, 1)
    assert verdict(GRAMMAR, replace(STUBBORN, protocol=BEFORE))[0] == {"pcs": 0, "ncc": 0}


@pytest.fixture(scope="module")
def blind() -> Judge:
    judge: Judge = registry.build("judges", {"plugin": "reader"})
    return judge


def scene(top_left: Thing, bottom_right: Thing = ("green", "square")) -> Scene:
    """A scene of two objects."""
    return scene_of(top_left, None, None, bottom_right)


def looking(request: JudgeRequest, at: Scene) -> JudgeRequest:
    """The request as a blind judge gets it."""
    image = Image.from_pixels(render(at))
    return replace(request, changes=(), question="What color is the circle?", image=image)


def test_the_blind_judge_finds_out_what_was_edited(blind: Judge) -> None:
    edited = scene(("blue", "circle"))
    for protocol in (BEFORE, BENCH):
        for told in (FOLLOWED, STUBBORN, replace(FOLLOWED, new_answer="green"), replace(FOLLOWED, new_explanation=RED)):
            request = replace(told, protocol=protocol)
            assert answers(blind.judge, [looking(request, edited)]) == answers(GRAMMAR.judge, [request])


def test_the_blind_judge_leaves_an_edit_that_was_not_made_unscored(blind: Judge) -> None:
    [reply] = answers(blind.judge, [looking(FOLLOWED, scene(("red", "circle")))])
    assert (reply.status, reply.scores) == (Status.EDIT_INVALID, {})
    assert "still in the image" in reply.reason


def test_evidence_that_was_made_up_passes_a_judge_of_texts_and_not_one_that_looks(blind: Judge) -> None:
    there = "there is a red circle in the top left"
    request = replace(FOLLOWED, answer="yes", explanation=there, new_answer="yes")
    second = replace(request, new_explanation="there is a red circle in the bottom right")
    assert verdict(GRAMMAR, second) == ({"ac": 1, "ef": 1}, 5)
    assert verdict(blind, looking(second, scene(("blue", "circle"), ("red", "circle")))) == ({"ac": 1, "ef": 1}, 5)
    assert verdict(blind, looking(second, scene(("blue", "circle"), ("green", "circle")))) == ({"ac": 0, "ef": 0}, 1)


def test_an_object_that_is_gone_is_seen_to_be_gone(blind: Judge) -> None:
    said = JudgeRequest(
        "i", "top left", "the red circle is in the top left", (), "nowhere", "i see a green square", 0, BENCH
    )
    assert verdict(blind, looking(said, scene(None)))[0] == {"ac": 1, "ef": 1}


@pytest.mark.parametrize("size", [None, (80, 64)])
def test_the_blind_judge_says_when_there_is_nothing_that_it_can_look_at(
    blind: Judge, size: tuple[int, int] | None
) -> None:
    image = None if size is None else Image.from_pixels(np.zeros((*size, 3), np.uint8))
    [reply] = answers(blind.judge, [replace(FOLLOWED, changes=(), image=image)])
    assert reply.status == Status.UNPARSABLE
    [easy] = answers(
        blind.judge, [replace(looking(FOLLOWED, scene(None)), explanation="the circle in the picture is red")]
    )
    assert easy.status == Status.UNPARSABLE


class Knowing:
    """A judge that says what the item's name says: `10` is 1 for the first score and 0 for the second."""

    needs_image = False

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        return JudgeReply(scores=dict(zip(("ac", "ef"), map(int, request.item[:2]), strict=True)), grade=4)


def noisy(**options: Any) -> Judge:
    judge: Judge = registry.build("judges", {"plugin": "noisy", "judge": {"plugin": "grammar"}, **options})
    judge.wrapped = Knowing()
    return judge


def rates(judge: Judge, truth: str, draws: int = 4000) -> Mapping[str, float]:
    replies = answers(judge.judge, [replace(FOLLOWED, item=f"{truth}-{number}") for number in range(draws)])
    assert all(reply.stated_ccs == reply.scores["ac"] * reply.scores["ef"] for reply in replies)
    assert {(reply.grade, reply.grade_reason) for reply in replies} == {(None, NO_GRADE)}
    return {name: sum(reply.scores[name] for reply in replies) / draws for name in ("ac", "ef")}


def test_a_noisy_judge_errs_at_its_rates() -> None:
    judge = noisy(sensitivity=0.9, specificity=0.7)
    found = rates(judge, "10")
    assert found["ac"] == pytest.approx(0.9, abs=0.02)
    assert found["ef"] == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
def test_the_truth_is_found_again_from_a_noisy_judge_by_its_rates() -> None:
    judge, share = noisy(sensitivity=0.85, specificity=0.75), 0.3
    observed = share * rates(judge, "11")["ac"] + (1 - share) * rates(judge, "00")["ac"]
    assert (observed + 0.75 - 1) / (0.85 + 0.75 - 1) == pytest.approx(share, abs=0.03), "Rogan and Gladen 1978"


def test_errors_are_a_matter_of_seeds_alone() -> None:
    requests = [replace(FOLLOWED, item=f"10-{number}") for number in range(200)]
    judge, other = noisy(), noisy(seed=1)
    assert answers(judge.judge, requests) == answers(judge.judge, requests)
    assert answers(judge.judge, requests) != answers(other.judge, requests)
    assert answers(judge.judge, requests) != answers(judge.judge, [replace(request, seed=5) for request in requests])
    assert answers(noisy(sensitivity=1, specificity=1).judge, requests) == [
        replace(reply, stated_ccs=0, grade=None, grade_reason=NO_GRADE) for reply in answers(Knowing().judge, requests)
    ]


def test_a_noisy_judge_leaves_failures_alone_and_looks_where_its_judge_does() -> None:
    judge: Judge = registry.build("judges", {"plugin": "noisy", "judge": {"plugin": "grammar"}})
    [reply] = answers(judge.judge, [replace(FOLLOWED, explanation="")])
    assert reply == answers(GRAMMAR.judge, [replace(FOLLOWED, explanation="")])[0]
    assert not judge.needs_image
    looks: Judge = registry.build("judges", {"plugin": "noisy", "judge": {"plugin": "reader"}})
    assert looks.needs_image
    assert registry.dependencies("judges", {"plugin": "noisy", "judge": {"plugin": "reader"}})


@pytest.mark.parametrize("protocol", sorted(RULES))
def test_the_scripted_judge_draws_the_scores_of_any_protocol(protocol: str) -> None:
    judge: Judge = registry.build("judges", {"plugin": "mock", "threshold": 0.5})
    replies = answers(judge.judge, [replace(FOLLOWED, protocol=protocol, item=f"i{number}") for number in range(200)])
    for name in RULES[protocol].scores:
        assert 60 < sum(reply.scores[name] for reply in replies) < 140
    grades = {reply.grade for reply in replies}
    assert grades == ({1, 2, 3, 4, 5} if RULES[protocol].graded else {None})
