"""CLIPSeg: where in an image is what a text names (Lüddecke and Ecker 2022, "Image Segmentation Using Text and Image
Prompts")."""

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from cfeval.backends.local_models.checkpoint import Checkpoint
from cfeval.backends.local_models.lines import first_line
from cfeval.backends.local_models.memory import out_of_memory
from cfeval.backends.local_models.quiet import quiet
from cfeval.backends.local_models.weights import weights_fault
from cfeval.errors import BackendError


class ClipSeg:
    """The model, loaded."""

    def __init__(self, model: str, revision: str, device: str) -> None:
        import transformers

        checkpoint = checkpoint_of(model, revision)
        _check_kind(checkpoint)
        folder = checkpoint.whole()
        name = checkpoint.name(folder)
        reader: Any = transformers.AutoProcessor
        segmenter: Any = transformers.CLIPSegForImageSegmentation
        try:
            with quiet("transformers"):
                self.processor = reader.from_pretrained(folder, local_files_only=True)
                loaded = segmenter.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            if out_of_memory(error):
                raise
            raise BackendError(
                f"model '{name}' cannot be loaded as CLIPSeg ({first_line(error, folder, name)}); "
                "give another 'mask_model'"
            ) from error
        self.device = device
        self.model = loaded.eval().to(device)

    def __call__(self, pixels: npt.NDArray[np.uint8], text: str) -> npt.NDArray[np.float32]:
        """The probability of every pixel of an image, (H, W, 3), to belong to what the text names: (H, W) in [0, 1]."""
        import torch
        from torch.nn.functional import interpolate

        inputs = self.processor(
            text=[text], images=[Image.fromarray(pixels)], return_tensors="pt", truncation=True, padding=True
        )
        with torch.inference_mode():
            logits = self.model(**inputs.to(self.device)).logits.float()
        square = logits.reshape(1, 1, *logits.shape[-2:])
        found = interpolate(square, size=pixels.shape[:2], mode="bilinear", align_corners=False)
        return np.asarray(found.sigmoid()[0, 0].cpu())


def checkpoint_of(model: str, revision: str) -> Checkpoint:
    """The checkpoint of a folder or of a name on the hub."""
    return Checkpoint(model, revision, "config.json", weights_fault)


def about(model: str, revision: str) -> str:
    """What can be said about a checkpoint without loading it.

    Raises:
        BackendError: it is not there, incomplete, of another model, or the hub cannot be reached.
    """
    checkpoint = checkpoint_of(model, revision)
    _check_kind(checkpoint)
    return f"mask {checkpoint.about(checkpoint.here())}"


def _check_kind(checkpoint: Checkpoint) -> None:
    if (kind := checkpoint.content().get("model_type")) != "clipseg":
        raise BackendError(f"model '{checkpoint.name()}' is a checkpoint of {kind!r}; give 'mask_model' one of clipseg")
