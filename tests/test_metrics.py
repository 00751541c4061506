"""Metrics against limits worked out by hand."""

import numpy as np
import pytest

from cfeval.metrics.accuracy import answer_matches
from cfeval.metrics.ccs import ccs
from cfeval.metrics.changed_share import changed_share


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
