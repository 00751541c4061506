"""The six templates, byte for byte as the published CSV writes them, slips of grammar included (C-VQA, Table 2)."""

from cfeval.io.choices import Choices
from cfeval.records.cvqa import Question
from cfeval.records.puzzles import Puzzle, PuzzleType
from cfeval.world.puzzles.options import Four, letter_of

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


def original_of(puzzle: Puzzle) -> Question:
    """The question about the picture as it is, with its options; the answer is a letter."""
    return _asked(puzzle, ORIGINAL, puzzle.original_options, puzzle.original)


def counterfactual_of(puzzle: Puzzle) -> Question:
    """The question under a counterfactual presupposition, likewise."""
    return _asked(puzzle, COUNTERFACTUAL, puzzle.counterfactual_options, puzzle.counterfactual)


def _asked(puzzle: Puzzle, templates: dict[PuzzleType, str], options: Four, right: int) -> Question:
    first, second = (*puzzle.colors, "", "")[:2]
    stem = templates[puzzle.type].format(first=first, second=second, removed=puzzle.removed)
    a, b, c, d = map(str, options)
    return Question(question=Choices(stem, (a, b, c, d)).text(), answer=letter_of(options, right))
