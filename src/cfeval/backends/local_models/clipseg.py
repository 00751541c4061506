"""CLIPSeg: where in an image is what a text names (Lüddecke and Ecker 2022, "Image Segmentation Using Text and Image
Prompts")."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from huggingface_hub import hf_hub_download, snapshot_download
from PIL import Image

from cfeval.backends.local_models.checkpoint import (
    check_weights,
    first_line,
    from_hub,
    is_folder,
    locate,
    quiet,
    read_json,
)
from cfeval.errors import BackendError

PATTERNS = ("*.json", "*.txt", "*.safetensors")
"""The files of a checkpoint on the hub that are needed."""


class ClipSeg:
    """The model, loaded."""

    def __init__(self, model: str, revision: str, device: str) -> None:
        import transformers

        quiet(transformers)
        folder = fetched(model, revision)
        reader: Any = transformers.AutoProcessor
        segmenter: Any = transformers.CLIPSegForImageSegmentation
        try:
            self.processor = reader.from_pretrained(folder, local_files_only=True)
            loaded = segmenter.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise BackendError(
                f"{model}: cannot be loaded as CLIPSeg ({first_line(error)}); give another 'mask_model'"
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


def about(model: str, revision: str) -> str:
    """What can be said about a checkpoint without loading it.

    Raises:
        BackendError: see `fetched`.
    """
    if is_folder(model):
        return f"mask model {fetched(model, revision)}: complete"
    _check_kind(from_hub(model, revision, partial(hf_hub_download, filename="config.json")), model)
    return f"mask model {model}: from the hub; what the cache lacks is downloaded at the first use"


def fetched(model: str, revision: str) -> Path:
    """The folder of a checkpoint, complete; one of the hub is downloaded where the cache lacks it.

    Raises:
        BackendError: it is not there, incomplete, of another model, or the hub cannot be reached.
    """
    folder = locate(model, revision, partial(snapshot_download, allow_patterns=list(PATTERNS)))
    _check_kind(folder / "config.json", model)
    check_weights(folder)
    return folder


def _check_kind(config: Path, model: str) -> None:
    if (kind := read_json(config).get("model_type")) != "clipseg":
        raise BackendError(f"{model}: a checkpoint of {kind!r}; give 'mask_model' one of clipseg")
