"""What the verbs of the study share: options, and opening the pictures that the stages pass on."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from cfeval.io import pictures
from cfeval.records.vce import SourceImage, VceRecord

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
