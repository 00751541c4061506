"""The options of a question (recovered from the published 6,000 lists; the paper says only that they are random)."""

import random
from collections.abc import Sequence

from cfeval.io.choices import LETTERS

Four = tuple[int, int, int, int]

BELOW, ABOVE = 5, 6
"""A wrong option is at most so much below and above the right answer, and never negative."""


def wrong_values(right: int) -> list[int]:
    """All that can be a wrong option beside this answer."""
    return [value for value in range(max(0, right - BELOW), right + ABOVE + 1) if value != right]


def draw_options(rng: random.Random, right: int) -> Four:
    """The answer and three different wrong ones, shuffled."""
    first, second, third, fourth = rng.sample([right, *rng.sample(wrong_values(right), 3)], 4)
    return first, second, third, fourth


def letter_of(options: Sequence[int], right: int) -> str:
    """The letter that the right answer has among the options."""
    return LETTERS[options.index(right)]
