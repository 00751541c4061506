"""The diffusion editor: mask-conditioned inpainting of 32×32 windows that predicts the clean image directly.

variable → symbol (Ho et al. 2020; Song et al. 2021, DDIM): `alpha_bar` → ᾱ_t, `noisy` → x_t, `clean` → x̂_0.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from torch import Tensor, nn
from torch.nn import functional

from cfeval.testbed.records import BACKGROUNDS, COLORS, SHAPES, SIZES

WINDOW = 32
"""Width and height of what the network sees, pixels."""
TIMESTEPS = 1000
PROMPT_WORDS: tuple[str, ...] = ("<none>", "object", "nothing", "background", *SIZES, *COLORS, *SHAPES, *BACKGROUNDS)
PROMPT_LENGTH = 4
_TEXT_WIDTH = 64
_TEXT_PLANES = 16
_CONDITION_PLANES = 3 + 1 + 2 + 1 + 1


def alpha_bars() -> Tensor:
    """ᾱ_t of the squared-cosine schedule (Nichol & Dhariwal 2021), float64 (1000,); each step keeps β ≤ 0.999."""
    kept, product = [], 1.0
    for step in range(TIMESTEPS):
        ratio = _cosine((step + 1) / TIMESTEPS) / _cosine(step / TIMESTEPS)
        product *= max(ratio, 0.001)
        kept.append(product)
    return torch.tensor(kept, dtype=torch.float64)


def _cosine(share: float) -> float:
    return math.cos((share + 0.008) / 1.008 * math.pi / 2) ** 2


class EditorNetwork(nn.Module):
    """Predicts the clean window from a noisy one, its surroundings, the mask and a short prompt; 2.5 M parameters."""

    def __init__(self, channels: Sequence[int] = (32, 64, 96)) -> None:
        super().__init__()
        self.words = nn.Embedding(len(PROMPT_WORDS), _TEXT_WIDTH)
        self.mix = nn.Linear(PROMPT_LENGTH * _TEXT_WIDTH, _TEXT_WIDTH)
        self.planes = nn.Linear(PROMPT_LENGTH * _TEXT_WIDTH, _TEXT_PLANES)
        downs = ("DownBlock2D",) * (len(channels) - 1) + ("CrossAttnDownBlock2D",)
        ups = ("CrossAttnUpBlock2D",) + ("UpBlock2D",) * (len(channels) - 1)
        self.unet: Any = UNet2DConditionModel(
            sample_size=WINDOW // 2,
            in_channels=4 * (3 + _CONDITION_PLANES) + _TEXT_PLANES,
            out_channels=12,
            block_out_channels=tuple(channels),
            layers_per_block=1,
            down_block_types=downs,
            up_block_types=ups,
            cross_attention_dim=_TEXT_WIDTH,
            attention_head_dim=32,
            norm_num_groups=16,
            only_cross_attention=True,
            class_embed_type="simple_projection",
            projection_class_embeddings_input_dim=_TEXT_WIDTH,
        )

    def forward(self, noisy: Tensor, condition: Tensor, timesteps: Tensor, prompts: Tensor) -> Tensor:
        """The clean window.

        Args:
            noisy: x_t (N, 3, 32, 32) in about [-1, 1].
            condition: planes from `condition_planes`, (N, 8, 32, 32).
            timesteps: (N,), 0 to 999.
            prompts: word numbers (N, 4).
        """
        text = self.words(prompts)
        flat = text.flatten(1)
        mask = condition[:, 3:4, ::2, ::2]
        planes = self.planes(flat)[:, :, None, None] * mask
        visible = functional.pixel_unshuffle(torch.cat([noisy, condition], 1), 2)
        sample = torch.cat([visible, planes], 1)
        predicted = self.unet(sample, timesteps, encoder_hidden_states=text, class_labels=self.mix(flat)).sample
        return functional.pixel_shuffle(predicted, 2)


def condition_planes(source: Tensor, mask: Tensor, silhouette: Tensor, light: Tensor) -> Tensor:
    """Everything the network may see besides noise: surroundings, mask, box coordinates, old outline, light.

    Args:
        source: the image (N, 3, 32, 32) in [-1, 1]; hidden where the mask is.
        mask: what to paint, (N, 1, 32, 32), 0 or 1.
        silhouette: the pixels of the object to be edited, (N, 1, 32, 32); zero for backgrounds.
        light: smooth relative brightness of the background, (N, 1, 32, 32); zero for objects.
    """
    return torch.cat([source * (1 - mask), mask, box_coordinates(mask), silhouette, light * mask], 1)


def box_coordinates(mask: Tensor) -> Tensor:
    """(u, v) from -1 to 1 across the mask's bounding box, 0 outside the mask; (N, 2, H, W)."""
    rows, columns = mask[:, 0].amax(2) > 0.5, mask[:, 0].amax(1) > 0.5
    v, u = _centred(rows).to(mask.dtype), _centred(columns).to(mask.dtype)
    count, _, height, width = mask.shape
    plane_u = u[:, None, :].expand(count, height, width)
    plane_v = v[:, :, None].expand(count, height, width)
    return torch.stack([plane_u, plane_v], 1).clamp(-1.5, 1.5) * mask


def _centred(occupied: Tensor) -> Tensor:
    """Each index relative to the middle of the occupied stretch, in units of half its length; (N, length)."""
    index = torch.arange(occupied.shape[1], dtype=torch.float64)
    first = torch.where(occupied, index, torch.tensor(float(occupied.shape[1]), dtype=torch.float64)).amin(1)
    last = torch.where(occupied, index, torch.tensor(-1.0, dtype=torch.float64)).amax(1)
    half = ((last - first) / 2).clamp(min=1)
    return (index - (first + last)[:, None] / 2) / half[:, None]


def encode_prompts(prompts: Sequence[str]) -> Tensor:
    """Word numbers (N, 4) of prompts such as `object large red star`, `nothing`, `background mint`."""
    rows = [[PROMPT_WORDS.index(word) for word in prompt.split()] for prompt in prompts]
    return torch.tensor([row + [0] * (PROMPT_LENGTH - len(row)) for row in rows])


@torch.no_grad()
def paint(
    network: EditorNetwork, condition: Tensor, source: Tensor, noise: Tensor, prompts: Tensor, steps: int
) -> Tensor:
    """DDIM (η = 0) from pure noise; the known pixels are put back at every step.

    Args:
        network: in evaluation mode, of the same precision as the tensors.
        condition: planes (N, 8, 32, 32).
        source: the image (N, 3, 32, 32) in [-1, 1].
        noise: x_T (N, 3, 32, 32).
        prompts: word numbers (N, 4).
        steps: evenly spaced timesteps, the last training step first.

    Returns:
        The painted window (N, 3, 32, 32) in [-1, 1], equal to the source outside the mask.
    """
    bars = alpha_bars()
    mask, noisy = condition[:, 3:4], noise
    times = [round(TIMESTEPS * (steps - step) / steps) - 1 for step in range(steps)]
    for time, following in zip(times, [*times[1:], None], strict=True):
        moment = torch.full((len(noisy),), time)
        clean: Tensor = network(noisy, condition, moment, prompts).clamp(-1, 1) * mask + source * (1 - mask)
        if following is None:
            return clean
        now, after = float(bars[time]), float(bars[following])
        residual = (noisy - math.sqrt(now) * clean) / math.sqrt(1 - now)
        noisy = math.sqrt(after) * clean + math.sqrt(1 - after) * residual
    return source
