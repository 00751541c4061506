"""Image classifiers of the transformers library: their classes, their preprocessing, and the network that gives logits.

Preprocessing is read from `preprocessor_config.json` as the library's fast processors apply it: images in [0, 1] are
resized, the middle is cut out, mean and standard deviation are those declared, divided by 255 · rescale_factor.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.hub import Checkpoint, cached, file, read_json
from cfeval.inference.local.libraries import first_line, quiet
from cfeval.vce.models.classifier import Channels, Preprocessing

PROCESSOR = "preprocessor_config.json"
_KERNELS = {2: "bilinear", 3: "bicubic"}
"""Pillow's numbers of the two interpolations that there are here."""
_CROPPED = 224 / 256
"""The share that ConvNeXT's processor keeps where none is declared."""
_RESIZED_WHOLE = 384
"""From this size on it resizes without cutting anything off."""


def classes_of(config: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names in a checkpoint's config.json, in the order of the outputs; None where it has none."""
    named = {int(number): str(name) for number, name in (config.get("id2label") or {}).items()}
    return tuple(named[number] for number in sorted(named)) or None


def config_here(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint's config.json where it is on this machine, else empty; nothing is fetched."""
    own = checkpoint.own_folder()
    folder = own or cached(checkpoint.model, checkpoint.revision, file(checkpoint.index))
    return read_json(folder / checkpoint.index) if folder else {}


def preprocessing(declared: Mapping[str, Any]) -> Preprocessing:
    """What a preprocessor_config.json declares.

    Raises:
        PluginError: something in it that is not understood.
    """
    if declared.get("rescale_offset"):
        raise PluginError("its processor shifts values when it rescales them (rescale_offset), which is not known here")
    size, resize = _sizes(declared)
    mean, std = _spread(declared)
    kernel = declared.get("resample", 2)
    if kernel not in _KERNELS:
        raise PluginError(
            f"its processor resamples by Pillow's number {kernel}; 2 (bilinear) and 3 (bicubic) are known"
        )
    return Preprocessing(size, resize, _KERNELS[kernel], mean, std)


def _sizes(declared: Mapping[str, Any]) -> tuple[int, int]:
    """Side of the inputs, and what the shorter side is brought to before they are cut out."""
    sizes = declared.get("size", 224)
    sides = {"height": sizes, "width": sizes} if isinstance(sizes, int) else dict(sizes)
    crop = declared.get("crop_size", {}) if declared.get("do_center_crop") else {}
    crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
    side = sides.get("shortest_edge", sides.get("height"))
    inner = crop.get("height", side)
    if not isinstance(side, int) or not isinstance(inner, int):
        raise PluginError(f"its processor makes images of {sizes}, and squares are needed")
    if sides.get("width", side) != side or crop.get("width", inner) != inner:
        raise PluginError(f"its processor makes images of {sizes}, and squares are needed")
    if not crop and "shortest_edge" in sides and side < _RESIZED_WHOLE:  # ConvNeXT's processor, which ResNet has too
        return side, int(side / (declared.get("crop_pct") or _CROPPED))
    return inner, side


def _spread(declared: Mapping[str, Any]) -> tuple[Channels, Channels]:
    """Mean and standard deviation for values in [0, 1]."""
    scale = 255 * float(declared.get("rescale_factor", 1 / 255)) if declared.get("do_rescale", True) else 255.0
    normalized = declared.get("do_normalize", True)
    mean, std = (declared["image_mean"], declared["image_std"]) if normalized else ([0.0] * 3, [1.0] * 3)
    return _divided(mean, scale), _divided(std, scale)


def _divided(values: Sequence[float], scale: float) -> Channels:
    red, green, blue = (float(value) / scale for value in values)
    return red, green, blue


def load(folder: Path, name: str) -> Any:
    """The network of a checkpoint, which gives logits (N, classes) for inputs (N, 3, H, W).

    Raises:
        PluginError: it is none of an image classifier, or cannot be loaded.
    """
    import torch
    from transformers import AutoModelForImageClassification

    class Logits(torch.nn.Module):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(pixel_values=images).logits
            return logits

    try:
        with quiet("transformers"):
            model, loading = AutoModelForImageClassification.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        raise PluginError(
            f"model '{name}' cannot be loaded as an image classifier ({first_line(error, folder, name)}); give another"
        ) from error
    if absent := sorted(loading["missing_keys"]):
        raise PluginError(f"model '{name}' has no weights for {absent[0]}; give a checkpoint of an image classifier")
    return Logits(model)
