"""How long edits on this machine took: a line an image in a file beside the response cache, by the image's hash.

Results hold no times, since they are to be the same on any machine; these are for `cfeval edct edit-cost`. A job of the
workflow writes them, and none reads them; a copy that params.yaml names (`edct.edit_times`) is shown in the report.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.text_files import parse_json, text_lines
from cfeval.inference.remote.settings import VARIABLE, settings

NAME = "edit-times.jsonl"


def note(images: Iterable[str], seconds: float) -> None:
    """Keep what each of some images took, given by their SHA-256, where this process is a job of the workflow."""
    if VARIABLE not in os.environ:
        return
    path = Path(settings().cache).parent / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({"image": sha256, "seconds": round(seconds, 4)}) + "\n" for sha256 in images)
    with path.open("a", encoding="utf-8") as file:
        file.write(lines)


def noted(path: Path) -> Mapping[str, float]:
    """Seconds by image; the last where one was made more than once. A line that a kill cut off is left out.

    Raises:
        InputError: a line is no time of an image.
    """
    seconds: dict[str, float] = {}
    if path.is_file():
        for number, line in enumerate(text_lines(path), start=1):
            if line.rstrip().endswith("}"):
                try:
                    content = parse_json(line, f"{path}, line {number}")
                    seconds[str(content["image"])] = float(content["seconds"])
                except (ValueError, TypeError, KeyError):
                    raise InputError(
                        f"{path}: line {number} is no time of an image; take .cfeval/{NAME} of the run that edited"
                    ) from None
    return seconds
