"""The diffusion editor, to be trained: see `cfeval_testbed.models.editor`."""

from typing import Any

import torch
from diffusers import UNet2DConditionModel
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.models.editor import CHANNELS, GROUPS, HEADS, PROMPT_LENGTH, PROMPT_WORDS, WINDOW

_TEXT_WIDTH = 64
_TEXT_PLANES = 16
_CONDITION_PLANES = 3 + 1 + 2 + 1 + 1


class EditorNetwork(nn.Module):
    """Predicts the clean window from a noisy one, its surroundings, the mask and a short prompt; 2.5 M parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(len(PROMPT_WORDS), _TEXT_WIDTH)
        self.mix = nn.Linear(PROMPT_LENGTH * _TEXT_WIDTH, _TEXT_WIDTH)
        self.planes = nn.Linear(PROMPT_LENGTH * _TEXT_WIDTH, _TEXT_PLANES)
        plain = len(CHANNELS) - 1
        self.unet: Any = UNet2DConditionModel(
            sample_size=WINDOW // 2,
            in_channels=4 * (3 + _CONDITION_PLANES) + _TEXT_PLANES,
            out_channels=12,
            block_out_channels=CHANNELS,
            layers_per_block=1,
            down_block_types=("DownBlock2D",) * plain + ("CrossAttnDownBlock2D",),
            up_block_types=("CrossAttnUpBlock2D",) + ("UpBlock2D",) * plain,
            cross_attention_dim=_TEXT_WIDTH,
            attention_head_dim=HEADS,  # in this class of diffusers it is how many heads there are
            norm_num_groups=GROUPS,
            only_cross_attention=True,
            class_embed_type="simple_projection",
            projection_class_embeddings_input_dim=_TEXT_WIDTH,
        )

    def forward(self, noisy: Tensor, condition: Tensor, timesteps: Tensor, prompts: Tensor) -> Tensor:
        """The clean window.

        Args:
            noisy: x_t (N, 3, 32, 32) in about [-1, 1].
            condition: planes of `cfeval_testbed.models.editor.condition_planes`, (N, 8, 32, 32).
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
