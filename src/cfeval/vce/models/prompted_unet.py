"""A UNet of diffusers that wants a text, given one for each class: the label of a class stands for its prompt.

LDCE (Farid et al. 2023) makes counterfactuals with Stable Diffusion and the target's name as the prompt.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line, quiet


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
        self._tokenizer, self._encoder = tokenizer, encoder.eval().to(unet.device)
        self._prompts = tuple(prompts)
        self._read: dict[int, Tensor] = {}

    def forward(self, noisy: Tensor, timesteps: Tensor, class_labels: Tensor, return_dict: bool = False) -> Any:
        """What the UNet says of x_t, (N, C, H, W), under the prompts of the labels, (N,)."""
        texts = torch.stack([self._states(label) for label in class_labels.tolist()])
        return self.unet(noisy, timesteps, encoder_hidden_states=texts.to(noisy.dtype), return_dict=return_dict)

    def _states(self, label: int) -> Tensor:
        """What the text encoder makes of a prompt, (tokens, width); each is read once."""
        if label not in self._read:
            length = self._tokenizer.model_max_length
            padded = {"padding": "max_length", "max_length": length, "truncation": True, "return_tensors": "pt"}
            found = self._tokenizer(self._prompts[label], **padded)
            masked = getattr(self._encoder.config, "use_attention_mask", False)
            mask = {"attention_mask": found.attention_mask.to(self.device)} if masked else {}
            with torch.no_grad():
                self._read[label] = self._encoder(found.input_ids.to(self.device), **mask)[0][0]
        return self._read[label]


def prompted(unet: Any, folder: Path, model: str, kind: str, prompts: Sequence[str]) -> PromptedUNet:
    """A UNet with the tokenizer and the text encoder of its checkpoint.

    Args:
        unet: on its device.
        folder: the checkpoint's.
        model: what it is called.
        kind: transformers' class of its text encoder.
        prompts: one a class.

    Raises:
        PluginError: they cannot be loaded.
    """
    import transformers

    try:
        with quiet("transformers"):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True)
            how = {"local_files_only": True, "use_safetensors": True}
            encoder = getattr(transformers, kind).from_pretrained(folder / "text_encoder", **how)
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, model)
        raise PluginError(f"model '{model}': its text encoder cannot be loaded ({reason})") from error
    return PromptedUNet(unet, tokenizer, encoder, prompts)
