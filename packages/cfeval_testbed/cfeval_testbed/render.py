"""Draws scenes with numpy, byte for byte the same on every CPU.

Only correctly rounded elementwise operations (+ − × ÷ √ min max and comparisons, float64) touch the pixels; sines are
taken once per scene and rounded; the noise is a hash of integers.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cfeval_testbed.records import BACKGROUNDS, COLORS, SHAPES, Scene

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]

SIZE = 64
"""Width and height of an image, pixels."""
CELL = 32
"""Width and height of a quadrant, pixels."""
COLOR_RGB: Floats = np.array(
    [
        [0.85, 0.15, 0.15],
        [0.15, 0.65, 0.20],
        [0.15, 0.30, 0.88],
        [0.95, 0.85, 0.15],
        [0.60, 0.20, 0.70],
        [0.95, 0.50, 0.10],
        [0.96, 0.96, 0.96],
        [0.08, 0.08, 0.08],
    ]
)
"""RGB in [0, 1], a row per name in `COLORS`."""
BACKGROUND_RGB: Floats = np.array(
    [[0.55, 0.55, 0.55], [0.76, 0.68, 0.52], [0.60, 0.74, 0.86], [0.33, 0.36, 0.42], [0.66, 0.80, 0.68]]
)
"""RGB in [0, 1], a row per name in `BACKGROUNDS`."""
RADIUS = {"small": (6.2, 1.2), "large": (10.2, 1.6)}
"""Least radius and its range, pixels."""
NOISE = 0.012
"""Standard deviation of the pixel noise, in units of full range."""

_NOISE_STEP = NOISE / math.sqrt(2 * (256**2 - 1) / 12)
_SHADING = 0.14
_LIGHT_RAMP = 0.22


def render(scene: Scene) -> Pixels:
    """The image of one scene, uint8 (64, 64, 3)."""
    image: Pixels = render_many([scene])[0]
    return image


def render_many(scenes: Sequence[Scene]) -> Pixels:
    """The images of many scenes, uint8 (N, 64, 64, 3); each is the same bytes as when drawn alone."""
    radius, u, v = _object_frames(scenes)
    alpha = _alpha(scenes, radius, u, v)[..., None]
    lx, ly = _light_direction(scenes)
    shade = 1 + _SHADING * np.minimum(np.maximum(u * lx[:, None] + v * ly[:, None], -1), 1)
    ground = BACKGROUND_RGB[[BACKGROUNDS.index(scene.background) for scene in scenes]][:, None, None, None, :]
    cells = ground + alpha * (_object_rgb(scenes)[:, :, None, None, :] * shade[..., None] - ground)
    lit = _join(cells) * _light(scenes, lx, ly)[..., None] + _noise(scenes)
    images: Pixels = np.floor(np.minimum(np.maximum(lit, 0), 1) * 255 + 0.5).astype(np.uint8)
    return images


def coverage(scenes: Sequence[Scene]) -> Floats:
    """How much of each pixel each object covers, float64 (N, 4, 64, 64) in [0, 1]."""
    radius, u, v = _object_frames(scenes)
    alpha = _alpha(scenes, radius, u, v)
    whole = np.zeros((len(scenes), 4, SIZE, SIZE))
    for place in range(4):
        row, column = CELL * (place // 2), CELL * (place % 2)
        whole[:, place, row : row + CELL, column : column + CELL] = alpha[:, place]
    return whole


def object_masks(scene: Scene) -> npt.NDArray[np.bool_]:
    """The pixels that each object covers by more than half, bool (4, 64, 64); empty for an absent object."""
    return np.asarray(coverage([scene])[0] > 0.5)


def _object_frames(scenes: Sequence[Scene]) -> tuple[Floats, Floats, Floats]:
    """Radius (N, 4, 1, 1) and unrotated coordinates u, v (N, 4, 32, 32) in units of it, from each object's centre."""
    pixel = np.arange(CELL) + 0.5
    centre_x = np.array([[16 + slot.dx for slot in scene.slots] for scene in scenes])[:, :, None, None]
    centre_y = np.array([[16 + slot.dy for slot in scene.slots] for scene in scenes])[:, :, None, None]
    radius = np.array([[_radius(slot.size, slot.scale) for slot in scene.slots] for scene in scenes])[:, :, None, None]
    u = (pixel[None, None, None, :] - centre_x) / radius
    v = (pixel[None, None, :, None] - centre_y) / radius
    u, v = np.broadcast_arrays(u, v)
    return radius, u, v


def _radius(size: str, scale: float) -> float:
    least, spread = RADIUS[size]
    return least + spread * scale


def _alpha(scenes: Sequence[Scene], radius: Floats, u: Floats, v: Floats) -> Floats:
    """Antialiased coverage of each object in its own quadrant, (N, 4, 32, 32)."""
    cos, sin = _rotations(scenes)
    turned_u, turned_v = u * cos + v * sin, v * cos - u * sin
    names = np.array([[SHAPES.index(slot.shape) for slot in scene.slots] for scene in scenes])
    distance = np.zeros(u.shape)
    for index, shape in enumerate(SHAPES):
        chosen = names == index
        distance[chosen] = _DISTANCES[shape](turned_u[chosen], turned_v[chosen])
    present = np.array([[float(slot.present) for slot in scene.slots] for scene in scenes])[:, :, None, None]
    return np.asarray(np.minimum(np.maximum(0.5 - distance * radius, 0), 1) * present)


def _rotations(scenes: Sequence[Scene]) -> tuple[Floats, Floats]:
    angles = [[slot.angle for slot in scene.slots] for scene in scenes]
    cos = np.array([[round(math.cos(angle), 9) for angle in row] for row in angles])
    sin = np.array([[round(math.sin(angle), 9) for angle in row] for row in angles])
    return cos[:, :, None, None], sin[:, :, None, None]


def _light_direction(scenes: Sequence[Scene]) -> tuple[Floats, Floats]:
    """Unit vector towards the light, two arrays (N, 1, 1)."""
    x = np.array([round(math.cos(scene.light_angle), 9) for scene in scenes])
    y = np.array([round(math.sin(scene.light_angle), 9) for scene in scenes])
    return x[:, None, None], y[:, None, None]


def _light(scenes: Sequence[Scene], lx: Floats, ly: Floats) -> Floats:
    """Factor of the light on each pixel, (N, 64, 64): brighter towards the light."""
    along = (np.arange(SIZE) + 0.5) / SIZE - 0.5
    ramp = along[None, None, :] * lx + along[None, :, None] * ly
    return np.asarray(np.array([scene.brightness for scene in scenes])[:, None, None] + _LIGHT_RAMP * ramp)


def _object_rgb(scenes: Sequence[Scene]) -> Floats:
    """RGB of each object with its tint, (N, 4, 3)."""
    rgb = COLOR_RGB[[[COLORS.index(slot.color) for slot in scene.slots] for scene in scenes]]
    return np.asarray(rgb + np.array([[slot.tint for slot in scene.slots] for scene in scenes])[..., None])


def _join(cells: Floats) -> Floats:
    """Quadrants (N, 4, 32, 32, 3) to images (N, 64, 64, 3)."""
    top = np.concatenate([cells[:, 0], cells[:, 1]], axis=2)
    bottom = np.concatenate([cells[:, 2], cells[:, 3]], axis=2)
    return np.concatenate([top, bottom], axis=1)


def _noise(scenes: Sequence[Scene]) -> Floats:
    """Triangular noise (N, 64, 64, 3), a function of the seed and the pixel alone (splitmix64 finaliser)."""
    seeds = np.array([scene.noise_seed for scene in scenes], dtype=np.uint64)[:, None]
    state = (seeds << np.uint64(16)) + np.arange(SIZE * SIZE, dtype=np.uint64)[None]
    state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    octets = np.stack([(state >> np.uint64(8 * place)) & np.uint64(255) for place in range(6)], axis=-1)
    summed = octets[..., :3].astype(np.float64) + octets[..., 3:].astype(np.float64) - 255
    return np.asarray(summed.reshape(len(scenes), SIZE, SIZE, 3) * _NOISE_STEP)


def _circle(u: Floats, v: Floats) -> Floats:
    return np.asarray(np.sqrt(u * u + v * v) - 0.95)


def _square(u: Floats, v: Floats) -> Floats:
    return np.asarray(np.maximum(np.abs(u), np.abs(v)) - 0.82)


def _triangle(u: Floats, v: Floats) -> Floats:
    low = v + 0.14
    return np.asarray(np.maximum(low - 0.575, 0.866 * np.abs(u) - 0.5 * low - 0.575))


def _star(u: Floats, v: Floats) -> Floats:
    """A pentagram is where at most one of its five half-planes is left: the second greatest distance decides."""
    greatest = np.full(u.shape, -np.inf)
    second = np.full(u.shape, -np.inf)
    for point in range(5):
        angle = math.pi / 2 + 2 * math.pi * point / 5
        distance = round(math.cos(angle), 9) * u + round(math.sin(angle), 9) * v - 0.352
        second = np.maximum(second, np.minimum(greatest, distance))
        greatest = np.maximum(greatest, distance)
    return second


def _cross(u: Floats, v: Floats) -> Floats:
    across, along = np.abs(u), np.abs(v)
    return np.asarray(np.minimum(np.maximum(across - 0.95, along - 0.31), np.maximum(across - 0.31, along - 0.95)))


_DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "cross": _cross,
}
