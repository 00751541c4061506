"""Layers of trained networks for inference, on numpy arrays in double precision; images are (N, H, W, channels).

Double precision keeps differences between CPUs near 1e-15, far below a byte of an image or a word. Layers take their
weights by the names that PyTorch gives them: `cfeval_testbed.training.networks` defines the same networks for training.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import InputError
from cfeval_testbed.render import Pixels
from cfeval_testbed.weights import load

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


class Weights:
    """The weights of a network or of one of its parts, by name."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], source: str = "network", prefix: str = "") -> None:
        """`source` is the name of the weights file, for errors."""
        self._arrays, self._source, self._prefix = arrays, source, prefix

    @classmethod
    def shipped(cls, name: str) -> "Weights":
        """The shipped weights of this name.

        Raises:
            InputError: the file is missing.
        """
        return cls(load(name), name)

    def part(self, name: str) -> "Weights":
        """The weights of a part of the network."""
        return Weights(self._arrays, self._source, f"{self._prefix}{name}.")

    def __contains__(self, name: str) -> bool:
        """Whether there is such an array."""
        return self._prefix + name in self._arrays

    def __getitem__(self, name: str) -> Array:
        """The array of this name in double precision.

        Raises:
            InputError: these are the weights of another network.
        """
        key = self._prefix + name
        if key not in self._arrays:
            raise InputError(
                f"the weights {self._source}.safetensors are of another network: {key} is missing; restore data/models "
                "or train them again"
            )
        array: Array = self._arrays[key].astype(np.float64)
        return array


class Linear:
    """x Wᵀ + b over the last axis; of images, a 1 × 1 convolution."""

    def __init__(self, weights: Weights) -> None:
        weight = weights["weight"]
        self._matrix = weight.reshape(len(weight), -1).T
        self._bias = weights["bias"] if "bias" in weights else np.zeros(len(weight))

    def __call__(self, x: Array) -> Array:
        """(…, inputs) to (…, outputs)."""
        # One product of two matrices is several times as fast as numpy's stack of small ones.
        made: Array = x.reshape(-1, x.shape[-1]) @ self._matrix
        made += self._bias
        return made.reshape(*x.shape[:-1], -1)


class LayerNorm:
    """Normalisation over the last axis."""

    def __init__(self, weights: Weights) -> None:
        self._scale, self._shift = weights["weight"], weights["bias"]

    def __call__(self, x: Array) -> Array:
        """The same shape."""
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        made: Array = centred / np.sqrt(variance + 1e-5) * self._scale + self._shift
        return made


class GroupNorm:
    """Normalisation of images over all places and the channels of a group (Wu and He 2018)."""

    def __init__(self, weights: Weights, groups: int, epsilon: float = 1e-5) -> None:
        self._scale = weights["weight"].reshape(groups, -1)
        self._shift = weights["bias"].reshape(groups, -1)
        self._epsilon = epsilon

    def __call__(self, x: Array) -> Array:
        """The same shape."""
        count, channels = len(x), x.shape[-1]
        flat = x.reshape(count, -1, channels)
        mean = self._group_means(flat.sum(1), flat.shape[1])
        square = self._group_means(np.einsum("npc,npc->nc", flat, flat), flat.shape[1])
        scale = self._scale / np.sqrt(square - mean * mean + self._epsilon)
        shift = self._shift - mean * scale
        made = flat * scale.reshape(count, 1, channels)
        made += shift.reshape(count, 1, channels)
        return made.reshape(x.shape)

    def _group_means(self, sums: Array, places: int) -> Array:
        """Sums (N, channels) over places to means (N, groups, 1)."""
        grouped = sums.reshape(len(sums), *self._scale.shape)
        means: Array = grouped.mean(-1, keepdims=True) / places
        return means


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ)."""
    made: Array = 1 / (1 + np.exp(-x))
    return made


def silu(x: Array) -> Array:
    """x / (1 + e⁻ˣ)."""
    divisor = np.exp(-x)
    divisor += 1
    return np.divide(x, divisor, out=divisor)


def softplus(x: Array) -> Array:
    """log(1 + eˣ), and x above 20, as PyTorch computes it."""
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def gelu(x: Array) -> Array:
    """x Φ(x), with the distribution function Φ of the standard normal distribution (Hendrycks and Gimpel 2016)."""
    made: Array = x * 0.5 * (1 + erf(x * math.sqrt(0.5)))
    return made


def softmax(x: Array) -> Array:
    """Probabilities over the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    made: Array = powers / powers.sum(-1, keepdims=True)
    return made


def log_softmax(x: Array) -> Array:
    """Log-probabilities over the last axis."""
    shifted = x - x.max(-1, keepdims=True)
    made: Array = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return made


def attention(query: Array, key: Array, value: Array, visible: npt.NDArray[np.bool_] | None = None) -> Array:
    """softmax(Q Kᵀ / √d) V (Vaswani et al. 2017, Equation 1).

    Args:
        query: (N, heads, T, d).
        key: (N, heads, S, d), and value likewise.
        visible: which of the S each of the T may look at, broadcast to (N, heads, T, S); by default all.
    """
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    return softmax(scores) @ value


def split_heads(x: Array, heads: int) -> Array:
    """(N, T, width) to (N, heads, T, width / heads)."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def join_heads(x: Array) -> Array:
    """The reverse of `split_heads`."""
    return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)


def unshuffle(x: Array, factor: int) -> Array:
    """Blocks of pixels to channels: (N, H, W, channels) to (N, H / factor, W / factor, channels · factor²)."""
    count, height, width, channels = x.shape
    blocks = x.reshape(count, height // factor, factor, width // factor, factor, channels)
    return blocks.transpose(0, 1, 3, 5, 2, 4).reshape(count, height // factor, width // factor, -1)


def shuffle(x: Array, factor: int) -> Array:
    """The reverse of `unshuffle`."""
    count, height, width, channels = x.shape
    blocks = x.reshape(count, height, width, channels // factor**2, factor, factor)
    return blocks.transpose(0, 1, 4, 2, 5, 3).reshape(count, height * factor, width * factor, -1)


def doubled(x: Array) -> Array:
    """Images (N, H, W, channels) at twice their width and height, every pixel repeated."""
    return x.repeat(2, 1).repeat(2, 2)


def to_floats(images: Sequence[Pixels]) -> Array:
    """uint8 images (H, W, 3) to one array (N, H, W, 3) in [0, 1]."""
    return np.stack(images) / 255.0


# Numerators and denominators, highest power first: Cody 1969, "Rational Chebyshev Approximations for the Error
# Function", in the digits of W. J. Cody's CALERF (netlib.org/specfun/erf).
_NEAR = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e00,
        1.13864154151050156e02,
        3.77485237685302021e02,
        3.20937758913846947e03,
    ),
    (1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e00,
        6.61191906371416295e01,
        2.98635138197400131e02,
        8.81952221241769090e02,
        1.71204761263407058e03,
        2.05107837782607147e03,
        1.23033935479799725e03,
    ),
    (
        1.0,
        1.57449261107098347e01,
        1.17693950891312499e02,
        5.37181101862009858e02,
        1.62138957456669019e03,
        3.29079923573345963e03,
        4.36261909014324716e03,
        3.43936767414372164e03,
        1.23033935480374942e03,
    ),
)
_FAR = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e00,
        1.87295284992346725e00,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)


def erf(x: Array) -> Array:
    """The error function, to about 4e-16 of its value.

    scipy.special has it too, but takes longer to import than a small network to answer.
    """
    size = np.abs(x)
    near, far = size <= 0.46875, size > 4
    middle = ~(near | far)
    made = np.empty_like(x)
    made[near] = x[near] * _ratio(_NEAR, x[near] ** 2)
    made[middle] = 1 - np.exp(-(size[middle] ** 2)) * _ratio(_MIDDLE, size[middle])
    inverse = 1 / size[far] ** 2
    tail = (1 / math.sqrt(math.pi) - inverse * _ratio(_FAR, inverse)) / size[far]
    made[far] = 1 - np.exp(-(size[far] ** 2)) * tail
    made[~near] = np.copysign(made[~near], x[~near])
    return made


def _ratio(polynomials: tuple[Sequence[float], Sequence[float]], x: Array) -> Array:
    return _polynomial(polynomials[0], x) / _polynomial(polynomials[1], x)


def _polynomial(coefficients: Sequence[float], x: Array) -> Array:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value
