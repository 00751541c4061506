"""Makes puzzles: everything follows from a seed and the puzzle's number."""

import random
from collections.abc import Mapping, Sequence

from cfeval.records.puzzles import FLOWER_TYPES, Puzzle, PuzzleType, RegionName
from cfeval.seeds import derive
from cfeval.world.puzzles import dots, flowers
from cfeval.world.puzzles.designs import DESIGNS
from cfeval.world.puzzles.look import SIZE
from cfeval.world.puzzles.options import draw_options


def make_puzzle(
    seed: int, number: int, kind: PuzzleType, size: int = SIZE, icons: Sequence[str] = tuple(DESIGNS)
) -> Puzzle:
    """A puzzle.

    Args:
        seed: that of the whole set.
        number: of the puzzle, from 1; numbers are independent of each other.
        kind: its template.
        size: width and height of the picture, pixels; the same puzzle is drawn larger or smaller.
        icons: the names of the flowers there are.
    """
    rng = random.Random(derive(seed, "puzzle", number))
    make = _of_flowers if kind in FLOWER_TYPES else _of_dots
    return make(rng, number, kind, size, icons)


def _of_flowers(rng: random.Random, number: int, kind: PuzzleType, size: int, icons: Sequence[str]) -> Puzzle:
    counts = flowers.draw_counts(rng)
    first, second = flowers.draw_colors(rng)
    original = flower_answer(kind, counts)
    removed = rng.randint(1, original) if kind == "abs_counting_2" else None
    counterfactual = original - removed if removed else flower_answer(kind, counts, changed=True)
    options = draw_options(rng, original), draw_options(rng, counterfactual)
    return Puzzle(
        number=number,
        type=kind,
        size=size,
        scene=flowers.lay_out(rng, (first, second), counts, icons, size),
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
    counts = dots.draw_counts(rng)
    original = dot_answer(kind, counts)
    removed = rng.randint(1, original) if kind == "abs_counting_4" else None
    counterfactual = original - removed if removed else dot_answer(kind, counts, changed=True)
    options = draw_options(rng, original), draw_options(rng, counterfactual)
    return Puzzle(
        number=number,
        type=kind,
        size=size,
        scene=dots.lay_out(rng, counts, size),
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
