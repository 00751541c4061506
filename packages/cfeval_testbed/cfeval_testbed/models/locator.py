"""Finds what a phrase points at: which quadrant's object (or the background), its attributes, and its pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from cfeval_testbed.models.convolution import Convolution
from cfeval_testbed.models.layers import Array, Integers, Linear, Weights, doubled, relu, shuffle, unshuffle
from cfeval_testbed.models.vision import SceneReader, SlotLogits, Values
from cfeval_testbed.records import COLORS, POSITIONS, SHAPES, SIZES, Referent

PHRASE_WORDS: tuple[str, ...] = ("<none>", *SIZES, *COLORS, *SHAPES, *POSITIONS)
"""What a phrase can name; `<none>` where it leaves an attribute open."""
NOT_FOUND = 4
"""The choice after the four quadrants: nothing fits the phrase."""


@dataclass(frozen=True)
class Sight(Generic[Values]):
    """What the locator makes of N images and K phrases about each.

    Attributes:
        choice: logits (N·K, 5): the quadrants in reading order, then `NOT_FOUND`.
        foreground: logits (N, 64, 64) of a pixel being part of any object.
        slots: attributes read in every quadrant.
    """

    choice: Values
    foreground: Values
    slots: SlotLogits[Values]


class Locator:
    """A scene reader with a phrase matcher per quadrant and a foreground segmenter."""

    def __init__(self, weights: Weights) -> None:
        self._reader = SceneReader(weights.part("reader"))
        self._words, self._place = weights["words.weight"], weights["place"]
        self._phrase = (Linear(weights.part("phrase.0")), Linear(weights.part("phrase.2")))
        self._match = (Linear(weights.part("match.0")), Linear(weights.part("match.2")))
        self._join = Convolution(weights.part("join"))
        self._refine = Convolution(weights.part("refine"))
        self._pixels = Convolution(weights.part("pixels"))

    def __call__(self, images: Array, phrases: Integers) -> Sight[Array]:
        """Images (N, 64, 64, 3) in [0, 1] and K phrases about each, (N·K, 4), as word numbers."""
        fine = self._reader.encoder.fine(images)
        coarse = self._reader.encoder.coarse(fine)
        slots = self._reader.slots(coarse)
        choice = self._choose(slots.repeat(len(phrases) // len(images), 0), phrases)
        return Sight(choice, self._segment(images, fine, coarse), self._reader.read(coarse, slots))

    def _choose(self, slots: Array, phrases: Integers) -> Array:
        """Logits of the quadrants against a fixed zero for `NOT_FOUND`."""
        words = self._words[phrases].reshape(len(phrases), -1)
        wanted = np.broadcast_to(_two_layers(self._phrase, words)[:, None], slots.shape)
        placed = slots + self._place
        scores = _two_layers(self._match, np.concatenate([placed, wanted, placed * wanted], -1))[..., 0]
        return np.concatenate([scores, np.zeros((len(scores), 1))], 1)

    def _segment(self, images: Array, fine: Array, coarse: Array) -> Array:
        joined = relu(self._join(np.concatenate([doubled(coarse), fine], -1)))
        detail = np.concatenate([shuffle(joined, 2), unshuffle(images, 2)], -1)
        return shuffle(self._pixels(relu(self._refine(detail))), 2)[..., 0]


def _two_layers(layers: tuple[Linear, Linear], x: Array) -> Array:
    first, second = layers
    return second(relu(first(x)))


def encode_phrases(referents: Sequence[Referent]) -> Integers:
    """Word numbers (N, 4) of size, color, shape and position; a word this world does not draw reads as open."""
    rows = [(referent.size, referent.color, referent.shape, referent.position) for referent in referents]
    return np.array([[PHRASE_WORDS.index(word) if word in PHRASE_WORDS else 0 for word in row] for row in rows])


def knows(referent: Referent) -> bool:
    """Whether every attribute that the phrase names exists in this world."""
    named = (referent.color, referent.shape)
    return all(word is None or word in PHRASE_WORDS for word in named)
