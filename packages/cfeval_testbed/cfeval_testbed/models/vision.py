"""The convolutional encoder that every network starts with, and the reader that names what is in a scene."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from cfeval_testbed.models.convolution import Convolution
from cfeval_testbed.models.layers import Array, Linear, Weights, relu, sigmoid, softmax, unshuffle
from cfeval_testbed.records import COLORS, SHAPES, SIZES

Values = TypeVar("Values")
"""Arrays of numpy, and in training tensors."""
HEADS = (1, len(SHAPES), len(COLORS), len(SIZES))
"""Numbers per quadrant of presence, shape, color and size."""
NAMES = sum(HEADS)
"""How many probabilities `name_probabilities` gives per quadrant."""
BLOCK = 4
"""Side of the blocks of pixels that the encoder starts from."""


@dataclass(frozen=True)
class SlotLogits(Generic[Values]):
    """What a reader says of N scenes: presence (N, 4), shape, color, size (N, 4, classes), background (N, classes)."""

    presence: Values
    shape: Values
    color: Values
    size: Values
    background: Values


class Encoder:
    """Images (N, 64, 64, 3) in [0, 1] to features (N, 8, 8, width)."""

    def __init__(self, weights: Weights) -> None:
        self._fine = _normalised(weights.part("fine"), 1)
        self._halve = _normalised(weights.part("halve"), 2)
        self._coarse = _normalised(weights.part("coarse"), 1)

    def fine(self, images: Array) -> Array:
        """Features (N, 16, 16, width / 2) before the last halving."""
        return relu(self._fine(unshuffle(images * 2 - 1, BLOCK)))

    def coarse(self, fine: Array) -> Array:
        """Features (N, 8, 8, width) from the fine ones."""
        return relu(self._coarse(relu(self._halve(fine))))


def _normalised(weights: Weights, stride: int) -> Convolution:
    return Convolution(weights.part("0"), stride, norm=weights.part("1"))


class SceneReader:
    """Names presence, shape, color and size in each quadrant, and the background."""

    def __init__(self, weights: Weights) -> None:
        self.encoder = Encoder(weights.part("encoder"))
        self._narrow = Linear(weights.part("slots.mix.0"))
        self._pool = Convolution(weights.part("slots.mix.2"), stride=4, padding=0)
        self._slot_head = Linear(weights.part("slot_head"))
        self._background_head = Linear(weights.part("background_head"))

    def __call__(self, images: Array) -> SlotLogits[Array]:
        """What is in the images (N, 64, 64, 3)."""
        features = self.encoder.coarse(self.encoder.fine(images))
        return self.read(features, self.slots(features))

    def slots(self, features: Array) -> Array:
        """Features (N, 8, 8, width) to one vector per quadrant, (N, 4, slot_width)."""
        pooled = relu(self._pool(relu(self._narrow(features))))
        return pooled.reshape(len(pooled), 4, -1)

    def read(self, features: Array, slots: Array) -> SlotLogits[Array]:
        """Logits from features (N, 8, 8, width) and slots (N, 4, slot_width)."""
        presence, shape, color, size = np.split(self._slot_head(slots), np.cumsum(HEADS)[:-1], axis=-1)
        return SlotLogits(presence[..., 0], shape, color, size, self._background_head(features.mean((1, 2))))


def name_probabilities(logits: SlotLogits[Array]) -> Array:
    """Probabilities of presence and of each shape, color and size, (N, 4, 16); the attributes of nothing are zero."""
    presence = sigmoid(logits.presence)[..., None]
    attributes = (softmax(logits.shape), softmax(logits.color), softmax(logits.size))
    return np.concatenate([presence, *(attribute * presence for attribute in attributes)], -1)
