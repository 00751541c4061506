"""Metrics against limits worked out by hand."""

from itertools import product

import numpy as np
import pytest

from cfeval.datasets.answer_scoring import answer_matches
from cfeval.edct.metrics import ccs, changed_share, majority, median_grade


def test_ccs_is_the_product() -> None:
    assert [ccs(p, n) for p in (0, 1) for n in (0, 1)] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("I think it is red.", "red", True),
        ("Red", "red", True),
        ("Fred", "red", False),
        ("it is in the top left", "top left", True),
        ("left top", "top left", False),
        ("no , there is not", "no", True),
        ("", "red", False),
    ],
)
def test_an_answer_matches_when_the_reference_stands_in_it_as_words(answer: str, reference: str, right: bool) -> None:
    assert answer_matches(answer, reference) == right


def test_changed_share_counts_pixels_that_moved_in_some_channel() -> None:
    before = np.zeros((4, 5, 3), dtype=np.uint8)
    after = before.copy()
    after[0, 0, 2] = 9
    after[1, 1] = 8
    assert changed_share(before, after) == 1 / 20
    assert changed_share(before, before) == 0
    assert changed_share(before, after[:2]) == 1


def test_a_majority_is_more_than_half_of_the_full_panel() -> None:
    for size in range(6):
        for votes in product((0, 1, None), repeat=size):
            ones, zeros = votes.count(1), votes.count(0)
            expected = 1 if ones > size - ones else 0 if zeros > size - zeros else None
            assert majority(votes) == expected
    assert majority([1, 1, None]) == 1
    assert majority([1, 0]) is majority([1, None]) is majority([1, None, None]) is majority([]) is None


def test_a_panels_grade_is_the_median_of_more_than_half() -> None:
    for grades in product((1, 2.5, 4, 5, None), repeat=3):
        given = sorted(grade for grade in grades if grade is not None)
        expected = {0: None, 1: None, 2: sum(given) / 2, 3: given[1] if given[1:] else None}[len(given)]
        assert median_grade(grades) == expected
    assert median_grade([3]) == 3
    assert median_grade([3, None]) is median_grade([None]) is median_grade([]) is None
