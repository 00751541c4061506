"""What the verbs of the study share: options, and opening the images and the masks that stages pass on.

A mask, which a user draws, says in which part of an image a counterfactual may differ from it (part `mask: given`).
"""

import gc
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from cfeval.core.cli_options import build, from_json
from cfeval.core.errors import InputError
from cfeval.core.files import archive_of
from cfeval.core.images import Image, file_in, folder_of, load
from cfeval.core.record import uses
from cfeval.core.streams import RecordIndex
from cfeval.vce.plugins.image_sets import opened
from cfeval.vce.records import SourceImage, VceCounterfactual

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.vce.predictions import Views

SAMPLE = ".npy"
"""How the name of a file ends that holds what the sampler returned, (3, H, W), not clamped."""

ImagesFile = Annotated[
    Path, typer.Option("--images", help="Source images (JSONL); their files lie in the folder or archive beside.")
]
AllImages = Annotated[
    list[Path],
    typer.Option("--images", help="Source images (JSONL) with all their shards, image files beside; may be repeated."),
]
CounterfactualsFile = Annotated[
    Path,
    typer.Option(
        "--counterfactuals", help="Counterfactuals (JSONL); their images lie in the folder or archive beside."
    ),
]
ClassifierSpec = Annotated[
    str, typer.Option("--classifier", help="The classifier to be explained, as JSON: its plugin and options.")
]
Groups = Annotated[
    str,
    typer.Option(
        "--groups", help='JSON list of {"source": …, "target": …}; with "pair": "other" where it is not ideal.'
    ),
]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Counterfactuals of each image and target.")]
Named = 'As JSON: {"NAME": {"plugin": …}}.'
PerceptualSpecs = Annotated[str, typer.Option("--perceptual", help=f"Perceptual distances. {Named}")]
Reference = Annotated[
    bool, typer.Option("--reference/--paper", help="Measure as the reference code does, or as the paper says.")
]
Results = Annotated[Path, typer.Option("--results", help="Folder of the study's results.")]
Pixels = npt.NDArray[np.uint8]


def pixels_of(images: Path) -> Callable[[SourceImage], Pixels]:
    """How to open an original."""
    folder = folder_of(images)
    return lambda record: load(folder, record.image).pixels


def load_torch() -> None:
    """Import torch while Python collects no garbage, and never look for garbage in it again."""
    # The collector would go through its half a million objects forty times on the way, and again at the end: 0.3 s of
    # the 1.7 s that torch costs a step.
    gc.disable()
    try:
        import torch  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


def build_all(family: str, text: str, option: str) -> dict[str, Any]:
    """The plugins that an option names, by name."""
    specs = from_json(text, dict[str, dict[str, Any]], option)
    if specs:
        load_torch()
    return {name: build(family, json.dumps(spec), f"{option} {name}") for name, spec in specs.items()}


def views_of(images: Sequence[Path], counterfactuals: Sequence[Path], reference: bool) -> "Views":
    """How to open what is scored: images, and for the reference evaluation the sampler's own values beside them."""
    from cfeval.vce.predictions import Views

    originals, made = RecordIndex(images, SourceImage), RecordIndex(counterfactuals, VceCounterfactual)
    if reference:  # unlike images, samples are not named by their records
        uses(*(f"{folder_of(file)}/" for file in counterfactuals))
        uses(*(file for file in map(archive_of, map(folder_of, counterfactuals)) if file.exists()))

    def sample(name: str) -> npt.NDArray[np.float32]:
        file, _ = made.where(name)
        folder, path = folder_of(file), f"{name}{SAMPLE}"
        try:
            values = io.BytesIO(file_in(folder, path))
            return np.asarray(np.load(values, allow_pickle=False), dtype=np.float32)
        except (OSError, ValueError):
            raise InputError(f"{folder / path}: no sample; only methods with mode 'reference' keep them") from None

    return Views(
        lambda name: image_in(*originals.where(name)),
        lambda name: image_in(*made.where(name)),
        sample if reference else None,
    )


def image_in(file: Path, record: SourceImage | VceCounterfactual) -> Image:
    """The image of a record that stands in a file."""
    assert record.image is not None, "only what has an image is opened"
    return load(folder_of(file), record.image)


def npy(values: "Tensor | None") -> bytes:
    """What the sampler returned, as the bytes of a file that numpy reads, float32."""
    assert values is not None, "only what has an image has values"
    buffer = io.BytesIO()
    np.save(buffer, values.float().cpu().numpy(), allow_pickle=False)
    return buffer.getvalue()


Mask = npt.NDArray[np.uint8]
"""(H, W), 1 where the image may change, else 0."""
_WHITE = 128


def masks_in(folder: Path, side: int) -> Callable[[SourceImage], Mask]:
    """How to open the mask of a source image: `ID.png`, `side` pixels high and wide, white where it may change."""

    def mask_of(image: SourceImage) -> Mask:
        path = folder / f"{image.id}.png"
        if not path.is_file():
            raise InputError(f"{path}: no mask for this image; draw one, white where the image may change")
        drawn = opened(path, gray=True)
        if drawn.pixels.shape[:2] != (side, side):
            raise InputError(f"{path}: the mask is {_size_of(drawn)}, but its image is {side}×{side}; make them equal")
        return as_mask(drawn, path)

    return mask_of


def check_fits(mask: Image, photo: Image, name: object) -> None:
    """Check that a mask is as large as the photograph that it is of; InputError where it is not."""
    if _size_of(mask) != _size_of(photo):
        raise InputError(f"{name}: the mask is {_size_of(mask)}, but the photo is {_size_of(photo)}; make them equal")


def as_mask(image: Image, name: object) -> Mask:
    """1 where an image is at least half as bright as white; InputError where nothing is."""
    mask: Mask = (image.pixels.mean(axis=2) >= _WHITE).astype(np.uint8)
    if not mask.any():
        raise InputError(f"{name}: nothing in the mask is white, so nothing could change; mark the part that may")
    return mask


def _size_of(image: Image) -> str:
    height, width = image.pixels.shape[:2]
    return f"{width}×{height}"
