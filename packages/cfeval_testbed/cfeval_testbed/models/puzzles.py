"""The network that counts in synthetic puzzles: what is there, what of it a question is about, and how many that makes.

Images (N, 112, 112, 3) in [0, 1] are looked at in cells of 4 × 4 pixels, 28 × 28 of them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Generic, NamedTuple

import numpy as np

from cfeval.cvqa.synthetic.puzzles import ORIGINAL
from cfeval.cvqa.synthetic.records import POLYGON_COLORS
from cfeval_testbed.models.convolution import Convolution
from cfeval_testbed.models.layers import (
    Array,
    GroupNorm,
    Integers,
    Linear,
    Weights,
    doubled,
    log_softmax,
    relu,
    sigmoid,
    softplus,
)
from cfeval_testbed.models.vision import Values
from cfeval_testbed.models.vlm import PAD, UNKNOWN, Vocabulary, words_of

SIDE = 112
"""Width and height of the images that the network sees."""
CELLS = 28
"""Cells across and down."""
MOST = 40
"""The largest number it can say."""
LONGEST = 64
"""Words of a question that are read; what follows is cut."""
GROUPS = 8
ROWS, COLUMNS = (0, 14, 28), (0, 9, 19, 28)
"""Where the image is divided, in cells: each circle of a puzzle about dots lies in a sixth of its own."""
LEAST_WIDTH = 0.2
"""Of the distribution of a number."""


def counting_words() -> tuple[str, ...]:
    """Every word of the original questions, after the two special ones."""
    spoken = " ".join(template.replace("{first}", "") for template in ORIGINAL.values())
    return (PAD, UNKNOWN, *sorted(set(words_of(spoken))), *POLYGON_COLORS)


def encode(vocabulary: Vocabulary, questions: Sequence[str]) -> Integers:
    """Numbers of words (N, 64), padded at the end; digits are not words."""
    padded = np.full((len(questions), LONGEST), vocabulary.index(PAD))
    for row, question in zip(padded, questions, strict=True):
        numbers = vocabulary.encode(words_of(question)[:LONGEST])
        row[: len(numbers)] = numbers
    return padded


class Seen(NamedTuple, Generic[Values]):
    """What a look at images gives: features (N, 28, 28, 48), and the things in every cell (N, 28, 28)."""

    features: Values
    things: Values


class Counted(NamedTuple, Generic[Values]):
    """The things in every cell that a question is about (N, 28, 28), and log-probabilities of 0 … 40 (N, 41)."""

    things: Values
    numbers: Values


class _Block:
    """Two convolutions beside a shortcut."""

    def __init__(self, weights: Weights) -> None:
        self._norms = [GroupNorm(weights.part(f"path.{number}"), GROUPS) for number in (0, 3)]
        self._convolutions = [Convolution(weights.part(f"path.{number}")) for number in (2, 5)]

    def __call__(self, x: Array) -> Array:
        inner = self._convolutions[0](relu(self._norms[0](x)))
        return x + self._convolutions[1](relu(self._norms[1](inner)))


class PuzzleNetwork:
    """Counts what a question is about."""

    def __init__(self, weights: Weights) -> None:
        self._stem = Convolution(weights.part("stem.0"), 2, 2), Convolution(weights.part("stem.2"), 2)
        self._near, self._together = _Block(weights.part("near")), _Block(weights.part("together"))
        self._down = [Convolution(weights.part(f"down.{level}"), 2) for level in (0, 1)]
        self._far = [[_Block(weights.part(f"far.{level}.{number}")) for number in (0, 1)] for level in (0, 1)]
        self._up, self._thing = Linear(weights.part("up")), Linear(weights.part("thing"))
        self._words = weights["words.weight"]
        self._phrases, self._phrases_bias = weights["phrases.weight"].transpose(2, 1, 0), weights["phrases.bias"]
        self._thought, self._lens = Linear(weights.part("thought")), Linear(weights.part("lens"))
        self._film, self._manner = Linear(weights.part("film")), Linear(weights.part("manner"))
        self._pointer = [Linear(weights.part(f"pointer.{number}")) for number in (0, 2)]

    def look(self, images: Array) -> Seen[Array]:
        """What is where, whatever is asked."""
        ink = 1 - images
        start = relu(self._stem[0](np.concatenate([ink, np.minimum(8 * ink, 1)], -1)))
        fine = self._near(self._stem[1](start))
        middle = self._far[0][1](self._far[0][0](self._down[0](fine)))
        coarse = self._far[1][1](self._far[1][0](self._down[1](middle)))
        around = self._up(middle + doubled(coarse))
        features = self._together(fine + doubled(around))
        return Seen(features, softplus(self._thing(relu(features)))[..., 0])

    def read(self, words: Integers) -> Array:
        """What is asked (N, 64): of every kind of phrase the clearest, wherever in the question it stands."""
        padded = np.pad(self._words[words], ((0, 0), (1, 1), (0, 0)))
        before, now, after = padded[:, :-2], padded[:, 1:-1], padded[:, 2:]
        phrases = sum(
            (part @ factor for part, factor in zip((before, now, after), self._phrases, strict=True)),
            start=self._phrases_bias,
        )
        return relu(self._thought(relu(phrases).max(1)))

    def count(self, seen: Seen[Array], asked: Array) -> Counted[Array]:
        """What a question is about, and how many that is: altogether, or in the sixth of the image with most."""
        places = np.broadcast_to(_places(), (len(asked), CELLS, CELLS, 2))
        scale, shift = np.split(self._film(asked)[:, None, None], 2, -1)
        pointed = self._lens(np.concatenate([relu(seen.features), places], -1)) * (1 + scale) + shift
        chances = sigmoid(self._pointer[1](relu(self._pointer[0](relu(pointed)))))
        things = seen.things * chances[..., 0]
        altogether, width = self._manner(asked).T
        sixths = _sixths(things)
        share = sigmoid(altogether)
        number = share * sixths.sum(1) + (1 - share) * sixths.max(1)
        return Counted(things, _spread(number, softplus(width) + LEAST_WIDTH))


def _places() -> Array:
    """Where every cell is, across and down, from −1 to 1: (28, 28, 2)."""
    line = np.linspace(-1, 1, CELLS)
    return np.stack(np.meshgrid(line, line), -1)


def _sixths(things: Array) -> Array:
    """Sums (N, 6) over two rows and three columns of cells."""
    parts = [
        things[:, top:bottom, left:right].sum((1, 2))
        for top, bottom in pairwise(ROWS)
        for left, right in pairwise(COLUMNS)
    ]
    return np.stack(parts, 1)


def _spread(number: Array, width: Array) -> Array:
    """Log-probabilities of 0 … 40 around numbers (N,): a normal distribution of this width at whole numbers."""
    line = np.arange(MOST + 1)
    return log_softmax(-(((line - number[:, None]) / width[:, None]) ** 2) / 2)
