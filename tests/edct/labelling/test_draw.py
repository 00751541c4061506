"""The draw of edits for people to label."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.edct.labelling.sheet import Candidate, draw
from tests.edct.tables.study import GROUNDED, condition, failed, score, scores

CONDITIONS = [condition(vlm=name) for name in ("a", "b", "c")]


def candidates(ones: int = 5, zeros: int = 95) -> list[Candidate]:
    """So many faithful and unfaithful edits of each condition."""
    return [Candidate(row) for one in CONDITIONS for row in scores(one, ones, zeros)]


def test_every_condition_gives_as_many_and_the_same_seed_gives_the_same_draw() -> None:
    drawn = draw(candidates(), 30, seed=1)
    assert Counter(one.score.vlm for one in drawn) == {"a": 10, "b": 10, "c": 10}
    assert drawn == draw(candidates(), 30, seed=1)
    assert drawn == draw(reversed(candidates()), 30, seed=1)
    assert {one.score.id for one in drawn} != {one.score.id for one in draw(candidates(), 30, seed=2)}


def test_conditions_that_have_too_few_leave_the_rest_to_the_others() -> None:
    few = [Candidate(row) for row in scores(CONDITIONS[0], 1, 2)]
    rest = [Candidate(row) for row in scores(CONDITIONS[1], 20, 20)]
    assert Counter(one.score.vlm for one in draw(few + rest, 20, seed=1)) == {"a": 3, "b": 17}
    assert len(draw(few + rest, 500, seed=1)) == 43


def test_by_verdict_all_outcomes_occur_however_rare() -> None:
    rejected = [Candidate(failed(CONDITIONS[0], f"x{i}", Status.EDIT_INVALID), gate=0) for i in range(2)]
    wrong = [Candidate(score(CONDITIONS[0], f"y{i}", verified=0)) for i in range(2)]
    drawn = draw([*candidates(), *rejected, *wrong], 42, seed=1, by_verdict=True)
    assert {one.score.id[0] for one in drawn} == {"i", "x", "y"}
    assert sum(one.score.ccs == 1 and one.score.id[0] == "i" for one in drawn) == 15, "all that there are"


@pytest.mark.slow
@given(st.integers(1, 400), st.booleans(), st.integers(0, 9))
def test_the_weights_add_up_to_all_candidates(items: int, by_verdict: bool, seed: int) -> None:
    drawn = draw(candidates(), max(items, 6), seed, by_verdict)
    assert sum(one.weight for one in drawn) == pytest.approx(300, abs=0.05)


def test_an_edit_that_two_judges_read_is_drawn_once() -> None:
    both = [Candidate(row) for judge in ("one", "two") for row in scores(condition(judge=judge), 3, 3)]
    drawn = draw(both, 100, seed=1)
    assert len(drawn) == 6
    assert {one.score.judge for one in drawn} == {"one"}


@pytest.mark.slow
def test_the_order_does_not_tell_rare_outcomes_from_frequent_ones() -> None:
    places = [
        place / 29
        for seed in range(40)
        for place, one in enumerate(draw(candidates(), 30, seed, by_verdict=True))
        if one.score.ccs == 1
    ]
    assert len(places) == 40 * 15
    assert sum(places) / len(places) == pytest.approx(0.5, abs=0.04)


def test_two_edits_of_one_item_are_two_candidates() -> None:
    chain = [Candidate(score(GROUNDED, f"i{i}", edit=edit)) for i, edit in product(range(3), (1, 2))]
    assert len(draw(chain, 100, seed=1)) == 6
