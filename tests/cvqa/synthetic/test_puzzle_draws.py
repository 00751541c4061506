"""What puzzles draw at random, against the published 3,000 (spec: ranges, means, options, letters).

Bounds on means are four standard errors of the published 500; the other way round chance would fail them.
"""

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from cfeval.cvqa.synthetic import puzzles
from cfeval.cvqa.synthetic.puzzles import dot_answer, draw_options, flower_answer, letter_of
from cfeval.cvqa.synthetic.records import POLYGON_COLORS, PUZZLE_TYPES, REGIONS, PuzzleType
from tests.slow import first_fast

MANY = 12_000
PUBLISHED: dict[PuzzleType, tuple[float, tuple[int, int], float, tuple[int, int]]] = {
    "abs_counting_1": (12.47, (2, 24), 6.52, (1, 12)),
    "abs_counting_2": (12.71, (3, 23), 5.88, (0, 21)),
    "abs_counting_3": (12.71, (2, 24), 6.38, (1, 12)),
    "abs_counting_4": (21.18, (9, 38), 10.27, (0, 37)),
    "abs_counting_5": (10.30, (3, 21), 6.83, (2, 15)),
    "abs_counting_6": (5.88, (4, 8), 4.45, (2, 7)),
}
"""Mean and range of the 500 original answers and of the 500 counterfactual ones."""
PUBLISHED_GAPS = {1: 343, 2: 118, 3: 27, 4: 8, 5: 4}
"""Type 6: how much more the fullest circle holds than the next, in the published 500."""


def drawn(kind: PuzzleType, count: int = MANY) -> np.ndarray:
    """Both answers of many puzzles, (count, 2), drawn without a layout; types 2 and 4 remove U{1..original}."""
    rng = random.Random(f"{kind} 1")
    pairs = []
    for _ in range(count):
        if kind in PUZZLE_TYPES[:3]:
            regions = puzzles.draw_flower_counts(rng)
            both = [flower_answer(kind, regions, changed) for changed in (False, True)]
        else:
            circles = puzzles.draw_dot_counts(rng)
            both = [dot_answer(kind, circles, changed) for changed in (False, True)]
        if kind in ("abs_counting_2", "abs_counting_4"):
            both[1] = both[0] - rng.randint(1, both[0])
        pairs.append(both)
    return np.array(pairs)


@pytest.mark.parametrize("kind", first_fast(PUZZLE_TYPES, 2))
def test_answers_have_the_published_means_and_cover_the_published_ranges(kind: PuzzleType) -> None:
    original, original_range, new, new_range = PUBLISHED[kind]
    answers = drawn(kind)
    for column, mean, (least, most) in ((0, original, original_range), (1, new, new_range)):
        ours = answers[:, column]
        assert abs(ours.mean() - mean) < 4 * ours.std() / 500**0.5
        assert ours.min() <= least
        assert ours.max() >= most
        if kind != "abs_counting_6":
            assert {*range(least, min(most, 30) + 1)} <= set(ours.tolist())


def test_regions_outside_the_second_polygon_hold_a_uniform_number_of_flowers() -> None:
    rng = random.Random(2)
    counts = [puzzles.draw_flower_counts(rng) for _ in range(MANY)]
    for region in REGIONS:
        held = Counter(count[region] for count in counts)
        assert set(held) == set(range(1, 13))
        if region.endswith("out2"):
            assert stats.chisquare(list(held.values())).pvalue > 0.001


def test_type_6_has_one_fullest_circle_and_the_published_gap_to_the_next() -> None:
    answers = drawn("abs_counting_6")
    gaps = Counter((answers[:, 0] - answers[:, 1]).tolist())
    assert min(gaps) == 1
    expected = [gaps[gap] * 500 / MANY for gap in (1, 2, 3)]
    expected.append(500 - sum(expected))
    observed = [PUBLISHED_GAPS[1], PUBLISHED_GAPS[2], PUBLISHED_GAPS[3], PUBLISHED_GAPS[4] + PUBLISHED_GAPS[5]]
    assert stats.chisquare(observed, expected).pvalue > 0.05
    assert stats.chisquare(list(Counter(answers[:, 0].tolist()).values())).pvalue > 0.001


def test_every_circle_holds_a_dot_and_any_of_the_six_can_be_the_fullest() -> None:
    rng = random.Random(4)
    counts = [puzzles.draw_dot_counts(rng) for _ in range(3000)]
    assert all(min(count) >= 1 and sorted(count)[-1] > sorted(count)[-2] for count in counts)
    fullest = Counter(count.index(max(count)) for count in counts)
    assert stats.chisquare([fullest[place] for place in range(6)]).pvalue > 0.001


def test_two_different_colors_are_drawn_all_eight_equally_often() -> None:
    rng = random.Random(5)
    pairs = [puzzles.draw_colors(rng) for _ in range(4000)]
    assert all(first != second for first, second in pairs)
    asked = Counter(first for first, _ in pairs)
    assert stats.chisquare([asked[color] for color in POLYGON_COLORS]).pvalue > 0.001


def support(right: int) -> set[int]:
    """All that may stand beside an answer, by the rule of the published lists."""
    return set(range(max(0, right - 5), right + 7)) - {right}


RIGHTS: list[Callable[[random.Random], int]] = [lambda rng: rng.randint(0, 4), lambda rng: rng.randint(5, 24)]


@pytest.mark.parametrize("rights", RIGHTS, ids=["near zero", "larger"])
def test_options_are_the_answer_and_three_different_values_of_the_exact_support(
    rights: Callable[[random.Random], int],
) -> None:
    rng = random.Random(6)
    seen: dict[int, Counter[int]] = {}
    letters: Counter[str] = Counter()
    for _ in range(6000):
        right = rights(rng)
        options = draw_options(rng, right)
        assert len(set(options)) == 4
        wrong = set(options) - {right}
        assert len(wrong) == 3
        assert wrong <= support(right)
        seen.setdefault(right, Counter()).update(wrong)
        letters[letter_of(options, right)] += 1
    assert all(set(found) == support(right) for right, found in seen.items()), "every allowed value turns up"
    uniform = [stats.chisquare([found[value] for value in support(right)]).pvalue for right, found in seen.items()]
    assert min(uniform) > 0.001 / len(uniform)
    assert all(0.23 < letters[letter] / 6000 < 0.27 for letter in "ABCD")
