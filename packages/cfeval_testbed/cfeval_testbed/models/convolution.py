"""Convolutions of images (N, H, W, channels) in double precision, as products of matrices.

3 × 3 convolutions that keep the size take a quarter of the multiplications by Winograd's minimal filtering: each tile
of 4 × 4 outputs comes from 6 × 6 inputs, F(4 × 4, 3 × 3) of Lavin and Gray 2016, "Fast Algorithms for Convolutional
Neural Networks", Section 4. The result differs from the direct sum by about 1e-14 of the largest value.

variable → symbol: `OUTPUTS` → Aᵀ, `INPUTS` → Bᵀ, `FILTERS` → G; Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from cfeval_testbed.models.layers import Array, Weights

TILE, WINDOW = 4, 6
"""Sides of a tile of outputs and of the inputs that it comes from, pixels."""
TILES = 64
"""Tiles that are worked on at a time, so that what they need stays in the caches."""
# So many numbers of windows are laid out at a time by a direct convolution, for the same reason.
_NUMBERS = 2**17


def _both_axes(rows: tuple[tuple[int, ...], ...]) -> Array:
    """The transform of rows and columns as one matrix on flattened tiles."""
    return np.kron(rows, rows).astype(np.float64)


OUTPUTS = _both_axes(((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)))
INPUTS = _both_axes(
    (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    )
)
FILTERS = _both_axes(((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 24))) / 24**2


class Convolution:
    """A convolution and, if its weights are given, the batch normalisation after it."""

    def __init__(self, weights: Weights, stride: int = 1, padding: int = 1, norm: Weights | None = None) -> None:
        weight = weights["weight"]
        self._bias = weights["bias"] if "bias" in weights else np.zeros(len(weight))
        if norm is not None:
            scale = norm["weight"] / np.sqrt(norm["running_var"] + 1e-5)
            weight = weight * scale[:, None, None, None]
            self._bias = (self._bias - norm["running_mean"]) * scale + norm["bias"]
        outputs, inputs, *self._kernel = weight.shape
        self._stride, self._padding = stride, padding
        by_place = weight.transpose(2, 3, 1, 0)
        self._matrix = by_place.reshape(-1, outputs)
        self._filters: Array | None = None
        if self._kernel == [3, 3] and (stride, padding) == (1, 1):
            self._filters = (FILTERS @ by_place.reshape(9, -1)).reshape(WINDOW**2, inputs, outputs)

    def __call__(self, images: Array) -> Array:
        """(N, H, W, inputs) to (N, rows, columns, outputs)."""
        if self._filters is not None and images.shape[1] % TILE == images.shape[2] % TILE == 0:
            made = _by_tiles(images, self._filters)
        else:
            made = self._direct(images)
        made += self._bias
        return made

    def _direct(self, images: Array) -> Array:
        windows = sliding_window_view(_padded(images, self._padding), self._kernel, (1, 2))
        windows = windows[:, :: self._stride, :: self._stride].transpose(0, 1, 2, 4, 5, 3)
        count, rows, columns = windows.shape[:3]
        size = max(1, _NUMBERS // (rows * columns * len(self._matrix)))
        made = np.empty((count, rows, columns, self._matrix.shape[1]))
        for start in range(0, count, size):
            piece = windows[start : start + size].reshape(-1, len(self._matrix))
            made[start : start + size].reshape(len(piece), -1)[:] = piece @ self._matrix
        return made


def _padded(images: Array, border: int) -> Array:
    """Images with a border of zeros."""
    count, height, width, channels = images.shape
    made = np.zeros((count, height + 2 * border, width + 2 * border, channels))
    made[:, border : border + height, border : border + width] = images
    return made


def _by_tiles(images: Array, filters: Array) -> Array:
    """The convolution with transformed filters (36, inputs, outputs), piece by piece of the batch."""
    count, height, width, _ = images.shape
    down, across, outputs = height // TILE, width // TILE, filters.shape[2]
    size = max(1, TILES // (down * across))
    made = np.empty((count, height, width, outputs))
    for start in range(0, count, size):
        tiles = _tiles(_padded(images[start : start + size], 1), filters)
        placed = made[start : start + size].reshape(-1, down, TILE, across, TILE, outputs)
        placed[:] = tiles.transpose(2, 3, 0, 4, 1, 5)
    return made


def _tiles(padded: Array, filters: Array) -> Array:
    """Images (N, H + 2, W + 2, inputs) with their border to tiles (4, 4, N, H / 4, W / 4, outputs)."""
    count, height, width, inputs = padded.shape
    down, across = (height - 2) // TILE, (width - 2) // TILE
    image, row, column, channel = padded.strides
    windows = as_strided(
        padded,
        (WINDOW, WINDOW, count, down, across, inputs),
        (row, column, image, TILE * row, TILE * column, channel),
    )
    seen = (INPUTS @ windows.reshape(WINDOW**2, -1)).reshape(WINDOW**2, -1, inputs)
    made = OUTPUTS @ (seen @ filters).reshape(WINDOW**2, -1)
    return made.reshape(TILE, TILE, count, down, across, -1)
