"""Where an image may change: own masks, a model that finds what a text names, or everywhere.

A mask is bool, (H, W), in the size of its image; True may change. The model is CLIPSeg (Lüddecke and Ecker 2022, "Image
Segmentation Using Text and Image Prompts").
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL.Image
from pydantic import Field, ValidationInfo, field_validator

from cfeval.core.errors import InputError, PluginError
from cfeval.core.images import Mask, import_image
from cfeval.core.registry import PluginOptions
from cfeval.edct.interfaces import EditRequest
from cfeval.inference.local.pretrained import check_kind, checkpoint_of, load

WHOLE = "whole"
KINDS = ("clipseg",)


class MaskOptions(PluginOptions):
    """Where the masks of an editor come from; at most one source."""

    masks: str = ""
    """Folder of own masks, `<item>-<edit>.png` or `<item>.png`, white where the image may change; or `whole`: it may
    change everywhere."""
    mask_model: str = ""
    """A text-prompted segmenter (CLIPSeg) that is asked for the concept: a folder or a hub name."""
    mask_revision: str = ""
    """Branch, tag or commit of a mask model of the hub; empty: its main branch."""
    mask_threshold: float = Field(0.5, gt=0, lt=1)
    """Probability from which on a pixel belongs to the concept."""
    mask_dilation: int = Field(8, ge=0)
    """Pixels by which a found mask grows to all sides."""

    @field_validator("mask_model")
    @classmethod
    def _one_source(cls, model: str, info: ValidationInfo) -> str:
        if model and info.data.get("masks"):
            raise ValueError("a second source of masks; give 'masks' or 'mask_model', not both")
        return model

    @field_validator("mask_revision", "mask_threshold", "mask_dilation")
    @classmethod
    def _of_a_model(cls, value: str | float, info: ValidationInfo) -> str | float:
        if not info.data.get("mask_model"):
            raise ValueError("shapes the masks of a 'mask_model', and none is given")
        return value


@dataclass(frozen=True)
class Masked:
    """The mask of a request, or why there is none; `details` say where it came from."""

    mask: Mask | None = None
    reason: str = ""
    details: dict[str, str] = field(default_factory=dict)


MaskSource = Callable[[EditRequest], Masked]


def mask_source(options: MaskOptions, device: str = "cpu") -> MaskSource | None:
    """How to come by the mask of a request; None where no source is named.

    Where nothing is to be changed, the mask is black all over: there is nothing to look for, and no file is given.

    Raises:
        PluginError: the folder or the model is not there or incomplete.
    """
    if not (options.mask_model or options.masks):
        return None
    segmenter = ClipSeg(options.mask_model, options.mask_revision, device) if options.mask_model else None
    folder = mask_folder(options.masks) if options.masks not in ("", WHOLE) else None

    def mask_of(request: EditRequest) -> Masked:
        shape = request.image.pixels.shape
        if request.nothing:
            return Masked(np.zeros(shape[:2], dtype=np.bool_), details={"mask": "nothing may change"})
        if segmenter:
            return _checked(_target_mask(request, segmenter, options), "mask model")
        if folder:
            return _checked(own_mask(folder, request.item, request.edit, shape), "own")
        return _checked(Masked(np.ones(shape[:2], dtype=np.bool_)), WHOLE)

    return mask_of


def mask_folder(name: str) -> Path:
    """The folder of own masks.

    Raises:
        PluginError: no such folder, or no mask in it.
    """
    folder = Path(name)
    if not folder.is_dir():
        raise PluginError(f"masks: no folder {name}; give a folder of masks (<item>.png) or '{WHOLE}'")
    if not any(folder.glob("*.png")):
        raise PluginError(f"masks: no *.png in {name}; name each mask after its item: <item>.png")
    return folder


def mask_files(options: MaskOptions) -> list[Path]:
    """The files that the masks come from."""
    if options.mask_model:
        return checkpoint_of(options.mask_model, options.mask_revision).files()
    return sorted(Path(options.masks).glob("*.png")) if options.masks and options.masks != WHOLE else []


def examine_masks(options: MaskOptions) -> str:
    """What can be said about the masks before any is needed.

    Raises:
        PluginError: the folder or the model is not there or incomplete.
    """
    if options.mask_model:
        checkpoint = checkpoint_of(options.mask_model, options.mask_revision)
        check_kind(checkpoint, KINDS)
        return f"mask {checkpoint.about(checkpoint.here())}"
    if options.masks == WHOLE:
        return "masks: none; the whole image may change"
    return f"masks: {len(list(mask_folder(options.masks).glob('*.png')))} in {options.masks}"


def own_mask(folder: Path, item: str, edit: int, shape: tuple[int, ...]) -> Masked:
    """The mask of an item's edit in a folder of own masks, for an image of (H, W, …)."""
    names = (f"{item}-{edit}.png", f"{item}.png")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return Masked(reason=f"no mask {names[0]} or {names[1]} in the mask folder")
    try:
        image = import_image(path)
    except InputError as error:
        return Masked(reason=str(error))
    mask = image.pixels.mean(axis=2) >= 128
    if mask.shape != shape[:2]:
        return Masked(reason=f"the mask has {_size(mask.shape)} pixels, but the image {_size(shape)}")
    return Masked(mask)


def _target_mask(
    request: EditRequest, segmenter: Callable[..., npt.NDArray[np.float32]], options: MaskOptions
) -> Masked:
    from scipy import ndimage

    if not request.concept.strip():
        return Masked(reason="the instruction names no concept that a mask model could look for")
    target = segmenter(request.image.pixels, request.concept) >= options.mask_threshold
    if not target.any():
        return Masked(reason=f"the mask model finds no {request.concept!r} in the image")
    away = ndimage.distance_transform_edt(~target)
    return Masked(np.asarray(away <= options.mask_dilation, dtype=np.bool_), details={"mask_of": request.concept})


def _checked(masked: Masked, source: str) -> Masked:
    if masked.mask is None:
        return masked
    if not masked.mask.any():
        return Masked(reason="the mask is black all over: nothing may change")
    share = f"{float(masked.mask.mean()):.4f}"
    return Masked(masked.mask, details={"mask": source, "mask_share": share, **masked.details})


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} × {shape[0]}"


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
            text=[text], images=[PIL.Image.fromarray(pixels)], return_tensors="pt", truncation=True, padding=True
        )
        with torch.inference_mode():
            logits = self._loaded.model(**inputs.to(self._loaded.device)).logits.float()
        square = logits.reshape(1, 1, *logits.shape[-2:])
        logits_at_size = interpolate(square, size=pixels.shape[:2], mode="bilinear", align_corners=False)
        return np.asarray(logits_at_size.sigmoid()[0, 0].cpu())
