"""What the verbs of the study share: options, opening the pictures that the stages pass on, reading records of arms."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt
import typer

from cfeval.errors import InputError
from cfeval.io import pictures
from cfeval.io.records import read_jsonl
from cfeval.records.common import Record
from cfeval.records.vce import SourceImage, VceArm, VceRecord

R = TypeVar("R", bound=Record)

ImagesFile = Annotated[
    Path, typer.Option("--images", help="Source images (JSONL); their pictures lie in the folder beside.")
]
CounterfactualsFile = Annotated[
    Path, typer.Option("--counterfactuals", help="Counterfactuals (JSONL); their pictures lie in the folder beside.")
]
ClassifierSpec = Annotated[
    str, typer.Option("--classifier", help="The classifier to be explained, as JSON: its backend and options.")
]
Groups = Annotated[str, typer.Option("--groups", help="Source and target classes: a JSON list of groups.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Counterfactuals of each image and target.")]
Pixels = npt.NDArray[np.uint8]


def pixels_of(images: Path) -> Callable[[SourceImage], Pixels]:
    """How to open an original."""
    folder = pictures.folder_of(images)
    return lambda record: pictures.load(folder, record.image).pixels


def pixels_made(counterfactuals: Path) -> Callable[[VceRecord], Pixels]:
    """How to open a counterfactual that has a picture."""
    folder = pictures.folder_of(counterfactuals)

    def open_one(record: VceRecord) -> Pixels:
        assert record.image is not None, "only a counterfactual with status ok is opened"
        return pictures.load(folder, record.image).pixels

    return open_one


def files_of(folder: Path, arm: VceArm) -> list[Path]:
    """The files of an arm: FOLDER/IMAGE_SET/DENOISER/CLASSIFIER/METHOD.jsonl, or such a folder of shards.

    Raises:
        InputError: there are none.
    """
    place = folder.joinpath(*arm.model_dump().values())
    whole = place.parent / f"{place.name}.jsonl"
    found = [whole] if whole.is_file() else sorted(place.glob("*.jsonl"))
    if not found:
        raise InputError(f"{whole}: no such file; run the step that scores this arm, or leave its folder out")
    return found


def records_of(folder: Path, arm: VceArm, kind: type[R]) -> Iterator[R]:
    """The records of an arm; see `files_of`."""
    for file in files_of(folder, arm):
        yield from read_jsonl(file, kind)
