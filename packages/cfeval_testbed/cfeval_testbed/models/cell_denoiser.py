"""The network that takes noise off cells; images (N, 3, 32, 32) in [−1, 1].

It lies apart from the classifiers because `diffusers` takes longer to import than a classifier to answer.

variable → symbol (Ho et al. 2020): `alphas_cumprod` → ᾱ_t, `noisy` → x_t, `clean` → x̂_0.
"""

from typing import Any

import torch
from diffusers import UNet2DModel
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.render import CELL

TIMESTEPS = 1000
_BLOCK = 4


def alphas_cumprod() -> Tensor:
    """ᾱ_t of the linear schedule (Ho et al. 2020, Section 4), float64 (1000,)."""
    return torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMESTEPS, dtype=torch.float64), 0)


class CellDenoiser(nn.Module):
    """Predicts the clean cell from a noisy one; 1.2 M parameters, unconditional.

    It works on blocks of 4 × 4 pixels, which costs about a third of blocks of 2 × 2. The clean image is what it
    predicts because small networks predict noise badly where there is little of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unet: Any = UNet2DModel(
            sample_size=CELL // _BLOCK,
            in_channels=3 * _BLOCK**2,
            out_channels=3 * _BLOCK**2,
            block_out_channels=(64, 64),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            norm_num_groups=16,
            attention_head_dim=32,
        )

    def forward(self, noisy: Tensor, timesteps: Tensor) -> Tensor:
        """x̂_0 (N, 3, 32, 32) for x_t and timesteps (N,) in [0, 1000)."""
        predicted = self.unet(functional.pixel_unshuffle(noisy, _BLOCK), timesteps).sample
        return functional.pixel_shuffle(predicted, _BLOCK)
