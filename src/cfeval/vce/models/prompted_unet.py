"""A UNet of diffusers that wants a text, given one for each class: the label of a class stands for its prompt.

LDCE (Farid et al. 2023) makes counterfactuals with Stable Diffusion and the target's name as the prompt; TIME
(Jeanneret et al. 2024) has it learn tokens for what a classifier sees.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line, quiet
from cfeval.vce.models.learned_tokens import LearnedTokens, add_tokens


class PromptedUNet(nn.Module):
    """Takes labels where a UNet that is conditional on classes would.

    Args:
        unet: a UNet2DConditionModel whose blocks look at a text, on its device.
        tokenizer: of its text encoder.
        encoder: the text encoder, such as a CLIPTextModel.
        prompts: one a class.
    """

    def __init__(self, unet: Any, tokenizer: Any, encoder: Any, prompts: Sequence[str]) -> None:
        super().__init__()
        self.unet, self.config, self.device = unet, unet.config, unet.device
        self.tokenizer, self.encoder = tokenizer, encoder.eval().to(unet.device).requires_grad_(False)
        self._prompts = tuple(prompts)
        self._read: dict[int, Tensor] = {}

    def forward(self, noisy: Tensor, timesteps: Tensor, class_labels: Tensor, return_dict: bool = False) -> Any:
        """What the UNet says of x_t, (N, C, H, W), under the prompts of the labels, (N,)."""
        texts = self.states(class_labels).to(noisy.dtype)
        return self.unet(noisy, timesteps, encoder_hidden_states=texts, return_dict=return_dict)

    def states(self, labels: Tensor) -> Tensor:
        """What the text encoder makes of the prompts of labels, (N, tokens, width)."""
        return torch.stack([self._states(label) for label in labels.tolist()])

    def _states(self, label: int) -> Tensor:
        """What the text encoder makes of a prompt, (tokens, width); each is read once."""
        if label not in self._read:
            with torch.no_grad():
                self._read[label] = self.read(self._prompts[label])[0]
        return self._read[label]

    def read(self, text: str) -> Tensor:
        """What the text encoder makes of a text, (1, tokens, width)."""
        length = self.tokenizer.model_max_length
        padded = {"padding": "max_length", "max_length": length, "truncation": True, "return_tensors": "pt"}
        tokens = self.tokenizer(text, **padded)
        masked = getattr(self.encoder.config, "use_attention_mask", False)
        mask = {"attention_mask": tokens.attention_mask.to(self.device)} if masked else {}
        states: Tensor = self.encoder(tokens.input_ids.to(self.device), **mask)[0]
        return states


def prompted(
    unet: Any, folder: Path, model: str, kind: str, prompts: Sequence[str], learned: LearnedTokens | None = None
) -> PromptedUNet:
    """A UNet with the tokenizer and the text encoder of its checkpoint.

    Args:
        unet: on its device.
        folder: the checkpoint's.
        model: what it is called.
        kind: transformers' class of its text encoder.
        prompts: one a class.
        learned: tokens for the classes, which the prompts speak of.

    Raises:
        PluginError: they cannot be loaded, or the tokens are of another text encoder.
    """
    import transformers

    try:
        with quiet("transformers"):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True)
            options = {"local_files_only": True, "use_safetensors": True}
            encoder = getattr(transformers, kind).from_pretrained(folder / "text_encoder", **options)
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, model)
        raise PluginError(f"model '{model}': its text encoder cannot be loaded ({reason})") from error
    if learned:
        add_tokens(tokenizer, encoder, learned.embeddings())
    return PromptedUNet(unet, tokenizer, encoder, prompts)
