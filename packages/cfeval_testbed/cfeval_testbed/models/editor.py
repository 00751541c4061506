"""The diffusion editor: mask-conditioned inpainting of 32×32 windows that predicts the clean image directly.

variable → symbol (Ho et al. 2020; Song et al. 2021, DDIM): `alpha_bars` → ᾱ_t, `noisy` → x_t, `clean` → x̂_0.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cfeval_testbed.models.convolution import Convolution
from cfeval_testbed.models.layers import (
    Array,
    GroupNorm,
    Integers,
    LayerNorm,
    Linear,
    Weights,
    attention,
    doubled,
    gelu,
    join_heads,
    shuffle,
    silu,
    split_heads,
    unshuffle,
)
from cfeval_testbed.records import BACKGROUNDS, COLORS, SHAPES, SIZES

WINDOW = 32
"""Width and height of what the network sees, pixels."""
TIMESTEPS = 1000
PROMPT_WORDS: tuple[str, ...] = ("<none>", "object", "nothing", "background", *SIZES, *COLORS, *SHAPES, *BACKGROUNDS)
PROMPT_LENGTH = 4
CHANNELS = (32, 64, 96)
"""Of the features at 16, 8 and 4 pixels; only the last attend to the prompt."""
GROUPS, HEADS = 16, 32


def alpha_bars() -> Array:
    """ᾱ_t of the squared-cosine schedule (Nichol & Dhariwal 2021), (1000,); each step keeps β ≤ 0.999."""
    kept, product = [], 1.0
    for step in range(TIMESTEPS):
        ratio = _cosine((step + 1) / TIMESTEPS) / _cosine(step / TIMESTEPS)
        product *= max(ratio, 0.001)
        kept.append(product)
    return np.array(kept)


def _cosine(share: float) -> float:
    return math.cos((share + 0.008) / 1.008 * math.pi / 2) ** 2


class EditorNetwork:
    """Predicts the clean window from a noisy one, its surroundings, the mask and a short prompt."""

    def __init__(self, weights: Weights) -> None:
        self._words = weights["words.weight"]
        self._mix, self._planes = Linear(weights.part("mix")), Linear(weights.part("planes"))
        self._unet = _UNet(weights.part("unet"))

    def __call__(self, noisy: Array, condition: Array, timestep: int, prompts: Integers) -> Array:
        """The clean window (N, 32, 32, 3).

        Args:
            noisy: x_t (N, 32, 32, 3) in about [-1, 1].
            condition: planes from `condition_planes`, (N, 32, 32, 8).
            timestep: 0 to 999.
            prompts: word numbers (N, 4).
        """
        text = self._words[prompts]
        flat = text.reshape(len(text), -1)
        planes = self._planes(flat)[:, None, None] * condition[:, ::2, ::2, 3:4]
        visible = unshuffle(np.concatenate([noisy, condition], -1), 2)
        sample = np.concatenate([visible, planes], -1)
        return shuffle(self._unet(sample, timestep, text, self._mix(flat)), 2)


class _UNet:
    """`UNet2DConditionModel` of diffusers, as `cfeval_testbed.training.networks.editor` sets it up."""

    def __init__(self, weights: Weights) -> None:
        levels = range(len(CHANNELS))
        up, down = (weights.part(f"{way}_blocks") for way in ("up", "down"))
        self._times = [Linear(weights.part(f"time_embedding.linear_{number}")) for number in (1, 2)]
        self._class = Linear(weights.part("class_embedding"))
        self._first = Convolution(weights.part("conv_in"))
        self._down = [_Residual(down.part(f"{level}.resnets.0")) for level in levels]
        self._halve = [Convolution(down.part(f"{level}.downsamplers.0.conv"), 2) for level in levels[:-1]]
        self._down_look = _Transformer(down.part(f"{levels[-1]}.attentions.0"))
        self._middle = [_Residual(weights.part(f"mid_block.resnets.{number}")) for number in (0, 1)]
        self._middle_look = _Transformer(weights.part("mid_block.attentions.0"), attends_itself=True)
        self._up = [[_Residual(up.part(f"{level}.resnets.{layer}")) for layer in (0, 1)] for level in levels]
        self._up_look = [_Transformer(up.part(f"0.attentions.{layer}")) for layer in (0, 1)]
        self._double = [Convolution(up.part(f"{level}.upsamplers.0.conv")) for level in levels[:-1]]
        self._norm, self._last = GroupNorm(weights.part("conv_norm_out"), GROUPS), Convolution(weights.part("conv_out"))

    def __call__(self, sample: Array, timestep: int, text: Array, classes: Array) -> Array:
        """Windows (N, 16, 16, 60), words (N, 4, 64) and the prompt as a whole (N, 64) to (N, 16, 16, 12)."""
        moment = self._times[1](silu(self._times[0](_timestep_embedding(timestep)))) + self._class(classes)
        x = self._first(sample)
        kept = [x]
        for level, residual in enumerate(self._down):
            x = residual(x, moment)
            if level == len(self._halve):
                kept.append(self._down_look(x, text))
            else:
                kept.append(x)
                kept.append(self._halve[level](x))
            x = kept[-1]
        x = self._middle[1](self._middle_look(self._middle[0](x, moment), text), moment)
        for level, residuals in enumerate(self._up):
            for layer, residual in enumerate(residuals):
                x = residual(np.concatenate([x, kept.pop()], -1), moment)
                if level == 0:
                    x = self._up_look[layer](x, text)
            if level < len(self._double):
                x = self._double[level](doubled(x))
        return self._last(silu(self._norm(x)))


def _timestep_embedding(timestep: int) -> Array:
    """Cosines and sines of a timestep (1, 32) (Vaswani et al. 2017, Section 3.5).

    They are rounded to float32 where diffusers rounds. Functions are computed in double precision: numpy's in float32
    differ between CPUs, and an angle may be 999 times as far off as its frequency.
    """
    half = CHANNELS[0] // 2
    exponents = np.float32(-math.log(10000)) * np.arange(half, dtype=np.float32) / np.float32(half)
    frequencies = np.exp(exponents.astype(np.float64)).astype(np.float32)
    angles = (np.float32(timestep) * frequencies).astype(np.float64)
    return np.concatenate([np.cos(angles), np.sin(angles)])[None].astype(np.float32).astype(np.float64)


class _Residual:
    """Two convolutions, told the timestep and the prompt in between, beside a shortcut."""

    def __init__(self, weights: Weights) -> None:
        self._norms = [GroupNorm(weights.part(f"norm{number}"), GROUPS) for number in (1, 2)]
        self._convolutions = [Convolution(weights.part(f"conv{number}")) for number in (1, 2)]
        self._moment = Linear(weights.part("time_emb_proj"))
        changes_width = "conv_shortcut.weight" in weights
        self._shortcut = Linear(weights.part("conv_shortcut")) if changes_width else None

    def __call__(self, x: Array, moment: Array) -> Array:
        """Images (N, H, W, inputs) and the moment (N, 128) to (N, H, W, outputs)."""
        inner = self._convolutions[0](silu(self._norms[0](x)))
        inner += self._moment(silu(moment))[:, None, None]
        inner = self._convolutions[1](silu(self._norms[1](inner)))
        return inner + (x if self._shortcut is None else self._shortcut(x))


class _Transformer:
    """Every place attends to the words of the prompt, or first to all places, beside a shortcut."""

    def __init__(self, weights: Weights, attends_itself: bool = False) -> None:
        block = weights.part("transformer_blocks.0")
        self._attends_itself = attends_itself
        self._norm = GroupNorm(weights.part("norm"), GROUPS, epsilon=1e-6)
        self._first, self._last = Linear(weights.part("proj_in")), Linear(weights.part("proj_out"))
        self._norms = [LayerNorm(block.part(f"norm{number}")) for number in (1, 2, 3)]
        self._attentions = [_Attention(block.part(f"attn{number}")) for number in (1, 2)]
        self._raise, self._lower = Linear(block.part("ff.net.0.proj")), Linear(block.part("ff.net.2"))

    def __call__(self, x: Array, text: Array) -> Array:
        """Images (N, H, W, channels) and words (N, 4, 64) to images of the same shape."""
        count, height, width, channels = x.shape
        places = self._first(self._norm(x)).reshape(count, height * width, channels)
        asking = self._norms[0](places)
        places = places + self._attentions[0](asking, asking if self._attends_itself else text)
        places = places + self._attentions[1](self._norms[1](places), text)
        raised, gate = np.split(self._raise(self._norms[2](places)), 2, -1)
        places = places + self._lower(raised * gelu(gate))
        return x + self._last(places).reshape(x.shape)


class _Attention:
    def __init__(self, weights: Weights) -> None:
        self._query, self._key, self._value = (Linear(weights.part(name)) for name in ("to_q", "to_k", "to_v"))
        self._out = Linear(weights.part("to_out.0"))

    def __call__(self, asking: Array, seen: Array) -> Array:
        """Places (N, T, channels) that look at (N, S, width)."""
        query, key, value = self._query(asking), self._key(seen), self._value(seen)
        mixed = attention(split_heads(query, HEADS), split_heads(key, HEADS), split_heads(value, HEADS))
        return self._out(join_heads(mixed))


def condition_planes(source: Array, mask: Array, silhouette: Array, light: Array) -> Array:
    """Everything the network may see besides noise, (N, 32, 32, 8).

    These are the surroundings, the mask, box coordinates, the old outline and the light.

    Args:
        source: the image (N, 32, 32, 3) in [-1, 1]; hidden where the mask is.
        mask: what to paint, (N, 32, 32, 1), 0 or 1.
        silhouette: the pixels of the object to be edited, (N, 32, 32, 1); zero for backgrounds.
        light: smooth relative brightness of the background, (N, 32, 32, 1); zero for objects.
    """
    return np.concatenate([source * (1 - mask), mask, box_coordinates(mask), silhouette, light * mask], -1)


def box_coordinates(mask: Array) -> Array:
    """(u, v) from -1 to 1 across the bounding box of a mask (N, H, W, 1), 0 outside the mask; (N, H, W, 2)."""
    down, across = _centred(mask[..., 0].max(2) > 0.5)[:, :, None], _centred(mask[..., 0].max(1) > 0.5)[:, None]
    coordinates = np.stack(np.broadcast_arrays(across, down), -1)
    planes: Array = np.clip(coordinates, -1.5, 1.5) * mask
    return planes


def _centred(occupied: npt.NDArray[np.bool_]) -> Array:
    """Each index relative to the middle of the occupied stretch, in units of half its length; (N, length)."""
    length = occupied.shape[1]
    index = np.arange(length, dtype=np.float64)
    first = np.where(occupied, index, length).min(1)
    last = np.where(occupied, index, -1).max(1)
    half = np.maximum((last - first) / 2, 1)
    centred: Array = (index - (first + last)[:, None] / 2) / half[:, None]
    return centred


def encode_prompts(prompts: Sequence[str]) -> Integers:
    """Word numbers (N, 4) of prompts such as `object large red star`, `nothing`, `background mint`."""
    rows = [[PROMPT_WORDS.index(word) for word in prompt.split()] for prompt in prompts]
    return np.array([row + [0] * (PROMPT_LENGTH - len(row)) for row in rows])


def paint(
    network: EditorNetwork, condition: Array, source: Array, noise: Array, prompts: Integers, steps: int
) -> Array:
    """DDIM (η = 0) from pure noise; the known pixels are put back at every step.

    Args:
        network: the editor.
        condition: planes (N, 32, 32, 8).
        source: the image (N, 32, 32, 3) in [-1, 1].
        noise: x_T (N, 32, 32, 3).
        prompts: word numbers (N, 4).
        steps: evenly spaced timesteps, the last training step first.

    Returns:
        The painted window (N, 32, 32, 3) in [-1, 1], equal to the source outside the mask.
    """
    bars = alpha_bars()
    mask, noisy = condition[..., 3:4], noise
    times = [round(TIMESTEPS * (steps - step) / steps) - 1 for step in range(steps)]
    for time, following in zip(times, [*times[1:], None], strict=True):
        clean = np.clip(network(noisy, condition, time, prompts), -1, 1) * mask + source * (1 - mask)
        if following is None:
            return clean
        now, after = float(bars[time]), float(bars[following])
        residual = (noisy - math.sqrt(now) * clean) / math.sqrt(1 - now)
        noisy = math.sqrt(after) * clean + math.sqrt(1 - after) * residual
    return source


def standard_normal(seed: int) -> Array:
    """The noise of a seed (32, 32, 3): what `torch.randn` gives for (3, 32, 32) in double precision.

    Uniform numbers of 53 bits from MT19937, then Box and Muller 1958, eight pairs at a time. `RandomState` is frozen
    by numpy's policy (NEP 19), and torch takes the lowest 32 bits of a seed as it does.
    """
    drawn = np.random.RandomState(seed % 2**32).randint(0, 2**32, (3 * WINDOW**2, 2), dtype=np.uint64)
    bits = (drawn[:, 0] << np.uint64(32) | drawn[:, 1]) & np.uint64(2**53 - 1)
    radial, angular = (bits * 2.0**-53).reshape(-1, 2, 8).swapaxes(0, 1)
    radius, angle = np.sqrt(-2 * np.log1p(-radial)), 2 * np.pi * angular
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return normal.reshape(3, WINDOW, WINDOW).transpose(1, 2, 0)
