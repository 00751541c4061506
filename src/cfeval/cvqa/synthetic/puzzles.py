"""Makes puzzles: everything follows from a seed and the puzzle's number.

The six templates stand here byte for byte as the published CSV writes them, slips of grammar included (C-VQA, Table 2).
How options are drawn is recovered from the published 6,000 lists; the paper says only that they are random.
"""

import random
from collections.abc import Mapping, Sequence

from cfeval.core.sampling import derive_seed
from cfeval.cvqa.choices import LETTERS, Choices
from cfeval.cvqa.records import Question
from cfeval.cvqa.synthetic import layout
from cfeval.cvqa.synthetic.drawing import DESIGNS
from cfeval.cvqa.synthetic.records import FLOWER_TYPES, SIZE, Puzzle, PuzzleType, RegionName

Four = tuple[int, int, int, int]
# A wrong option is at most so much below and above the right answer, and never negative.
BELOW, ABOVE = 5, 6
ORIGINAL: dict[PuzzleType, str] = {
    "abs_counting_1": "How many flowers are outside the {first} polygons?",
    "abs_counting_2": "How many flowers are inside the {first} polygons?",
    "abs_counting_3": "How many flowers are inside the {first} polygons?",
    "abs_counting_4": "How many dots are there in all the circles together?",
    "abs_counting_5": "How many dots are there in the top three circles together?",
    "abs_counting_6": "How many dots do a circle contain at most?",
}
COUNTERFACTUAL: dict[PuzzleType, str] = {
    "abs_counting_1": "How many flowers would be outside the {first} polygons if all polygons were {first}?",
    "abs_counting_2": (
        "How many flowers would be inside {first} polygons if we removed {removed} flowers in {first} polygons?"
    ),
    "abs_counting_3": (
        "How many flowers would be inside {first} polygons if all flowers in {second} polygons were removed?"
    ),
    "abs_counting_4": (
        "How many dots would there be in all the circles together if {removed} dots were removed from the circles?"
    ),
    "abs_counting_5": (
        "How many dots would there be in the top three circles together "
        "if the two rightmost circles and dots in them were removed from the circles?"
    ),
    "abs_counting_6": (
        "How many dots would a circle contain at most if one of the circles with most dots were removed?"
    ),
}


def make_puzzle(
    seed: int, number: int, kind: PuzzleType, size: int = SIZE, icons: Sequence[str] = tuple(DESIGNS)
) -> Puzzle:
    """A puzzle.

    Args:
        seed: that of the whole set.
        number: of the puzzle, from 1; numbers are independent of each other.
        kind: its template.
        size: width and height of the image, pixels; the same puzzle is drawn larger or smaller.
        icons: the names of the flowers there are.
    """
    rng = random.Random(derive_seed(seed, "puzzle", number))
    make = _of_flowers if kind in FLOWER_TYPES else _of_dots
    return make(rng, number, kind, size, icons)


def _of_flowers(rng: random.Random, number: int, kind: PuzzleType, size: int, icons: Sequence[str]) -> Puzzle:
    counts = layout.draw_flower_counts(rng)
    first, second = layout.draw_colors(rng)
    original = flower_answer(kind, counts)
    removed = rng.randint(1, original) if kind == "abs_counting_2" else None
    counterfactual = original - removed if removed else flower_answer(kind, counts, changed=True)
    options = draw_options(rng, original), draw_options(rng, counterfactual)
    return Puzzle(
        number=number,
        type=kind,
        size=size,
        scene=layout.lay_out_flowers(rng, (first, second), counts, icons, size),
        colors=(first, second) if kind == "abs_counting_3" else (first,),
        removed=removed,
        original=original,
        counterfactual=counterfactual,
        original_options=options[0],
        counterfactual_options=options[1],
    )


def flower_answer(kind: PuzzleType, counts: Mapping[RegionName, int], changed: bool = False) -> int:
    """The answer to a question about flowers, before flowers are removed; the first polygon's color is asked about."""
    if kind == "abs_counting_1":
        return counts["out1_out2"] + (0 if changed else counts["out1_in2"])
    return counts["in1_out2"] + (0 if changed else counts["in1_in2"])


def _of_dots(rng: random.Random, number: int, kind: PuzzleType, size: int, icons: Sequence[str]) -> Puzzle:
    del icons
    counts = layout.draw_dot_counts(rng)
    original = dot_answer(kind, counts)
    removed = rng.randint(1, original) if kind == "abs_counting_4" else None
    counterfactual = original - removed if removed else dot_answer(kind, counts, changed=True)
    options = draw_options(rng, original), draw_options(rng, counterfactual)
    return Puzzle(
        number=number,
        type=kind,
        size=size,
        scene=layout.lay_out_dots(rng, counts, size),
        removed=removed,
        original=original,
        counterfactual=counterfactual,
        original_options=options[0],
        counterfactual_options=options[1],
    )


def dot_answer(kind: PuzzleType, counts: Sequence[int], changed: bool = False) -> int:
    """The answer to a question about dots, before dots are removed."""
    if kind == "abs_counting_4":
        return sum(counts)
    if kind == "abs_counting_5":  # the two rightmost circles are the third of the top row and the third of the other
        return sum(counts[:2] if changed else counts[:3])
    return sorted(counts)[-2 if changed else -1]


def draw_options(rng: random.Random, right: int) -> Four:
    """The answer and three different wrong ones, shuffled."""
    first, second, third, fourth = rng.sample([right, *rng.sample(wrong_values(right), 3)], 4)
    return first, second, third, fourth


def wrong_values(right: int) -> list[int]:
    """All that can be a wrong option beside this answer."""
    return [value for value in range(max(0, right - BELOW), right + ABOVE + 1) if value != right]


def letter_of(options: Sequence[int], right: int) -> str:
    """The letter that the right answer has among the options."""
    return LETTERS[options.index(right)]


def original_of(puzzle: Puzzle) -> Question:
    """The question about the image as it is, with its options; the answer is a letter."""
    return _question(puzzle, ORIGINAL, puzzle.original_options, puzzle.original)


def counterfactual_of(puzzle: Puzzle) -> Question:
    """The question under a counterfactual presupposition, likewise."""
    return _question(puzzle, COUNTERFACTUAL, puzzle.counterfactual_options, puzzle.counterfactual)


def _question(puzzle: Puzzle, templates: dict[PuzzleType, str], options: Four, right: int) -> Question:
    first, second = (*puzzle.colors, "", "")[:2]
    stem = templates[puzzle.type].format(first=first, second=second, removed=puzzle.removed)
    a, b, c, d = map(str, options)
    return Question(question=Choices(stem, (a, b, c, d)).text(), answer=letter_of(options, right))
