"""A part of an exam: every kind in proportion, at least one of each, and the same part whenever it is drawn."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.edct.exam.cases import KINDS, ExamCase, exam_cases, stratified

CASES = exam_cases()


def part(cases: list[ExamCase], count: int, seed: int) -> list[ExamCase]:
    """A part of the judge exam."""
    return stratified(cases, count, seed, lambda case: case.ccs)


SIZES = Counter(str(case.kind) for case in CASES)


@given(count=st.integers(len(KINDS), len(CASES)), seed=st.integers(0, 9))
def test_a_part_of_any_size_holds_each_kind_in_proportion_and_at_least_one_of_it(count: int, seed: int) -> None:
    chosen = part(CASES, count, seed)
    assert len(chosen) == count
    assert chosen == [case for case in CASES if case in chosen], "in the order of the exam, none twice"
    taken = Counter(str(case.kind) for case in chosen)
    assert set(taken) == set(KINDS)
    assert all(taken[kind] <= SIZES[kind] for kind in KINDS)
    if count >= len(CASES) / min(SIZES.values()):  # where at least one of each kind is due
        assert all(abs(taken[kind] - count * SIZES[kind] / len(CASES)) < 1 for kind in KINDS)


@given(count=st.integers(4 * len(KINDS), len(CASES)), seed=st.integers(0, 9))
def test_a_part_has_cases_of_both_scores_about_as_often_as_the_whole(count: int, seed: int) -> None:
    ones = sum(case.ccs for case in part(CASES, count, seed))
    assert abs(ones / count - sum(case.ccs for case in CASES) / len(CASES)) < 0.1


def test_the_same_number_and_seed_give_the_same_part_and_another_seed_another() -> None:
    assert part(CASES, 40, 3) == part(list(reversed(CASES)), 40, 3)[::-1]
    assert part(CASES, 40, 3) != part(CASES, 40, 4)
    assert part(CASES, len(CASES), 3) == CASES


@pytest.mark.parametrize("count", [-1, 0, len(KINDS) - 1, len(CASES) + 1])
def test_a_part_that_cannot_hold_each_kind_is_refused_with_what_is_allowed(count: int) -> None:
    with pytest.raises(InputError, match=rf"give a number from {len(KINDS)} to {len(CASES)}"):
        part(CASES, count, 0)
