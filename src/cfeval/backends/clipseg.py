"""CLIPSeg: where in an image is what a text names (Lüddecke and Ecker 2022, "Image Segmentation Using Text and Image
Prompts")."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from cfeval.backends.local_models.pretrained import check_kind, checkpoint_of, load

KINDS = ("clipseg",)


class ClipSeg:
    """The model, loaded."""

    def __init__(self, model: str, revision: str, device: str) -> None:
        checkpoint = checkpoint_of(model, revision)
        check_kind(checkpoint, KINDS)
        self._loaded = load(checkpoint, "CLIPSegForImageSegmentation", device)

    def __call__(self, pixels: npt.NDArray[np.uint8], text: str) -> npt.NDArray[np.float32]:
        """The probability of every pixel of an image, (H, W, 3), to belong to what the text names: (H, W) in [0, 1]."""
        import torch
        from torch.nn.functional import interpolate

        inputs = self._loaded.processor(
            text=[text], images=[Image.fromarray(pixels)], return_tensors="pt", truncation=True, padding=True
        )
        with torch.inference_mode():
            logits = self._loaded.model(**inputs.to(self._loaded.device)).logits.float()
        square = logits.reshape(1, 1, *logits.shape[-2:])
        found = interpolate(square, size=pixels.shape[:2], mode="bilinear", align_corners=False)
        return np.asarray(found.sigmoid()[0, 0].cpu())


def about(model: str, revision: str) -> str:
    """What can be said about a checkpoint without loading it.

    Raises:
        BackendError: it is not there, incomplete, of another model, or the hub cannot be reached.
    """
    checkpoint = checkpoint_of(model, revision)
    check_kind(checkpoint, KINDS)
    return f"mask {checkpoint.about(checkpoint.here())}"
