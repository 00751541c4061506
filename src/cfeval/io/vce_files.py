"""The files of the arms of the vce study, shards joined."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from cfeval.errors import InputError
from cfeval.io.records import read_jsonl
from cfeval.records.common import Record
from cfeval.records.vce import VceArm

R = TypeVar("R", bound=Record)


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
