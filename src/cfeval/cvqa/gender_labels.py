"""Labels of perceived gender of the people in COCO images, from a file that the user supplies (C-VQA, Section 4.3).

The paper uses those of Zhao, Wang and Russakovsky (ICCV 2021), which their authors give out on request. A row is one
person: `id`, the number of the COCO image, and `bb_gender`. Images with only women or only men are kept.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.text_files import csv_rows

COLUMNS = ("id", "bb_gender")
_KNOWN = {"female": "female", "male": "male", "unsure": "", "both": "", "": ""}
"""By label in small letters; empty: a person of whom nobody could tell."""
_ALLOWED = "Female, Male, Unsure, Both"
_SHOWN, _DIGITS = 5, 12
"""Bad rows that are told one by one; digits of a COCO id at most."""


@dataclass
class GenderLabels:
    """What a file says.

    `of` is `female` or `male` by COCO id, for images whose people are all of that kind; `mixed` counts the other
    images: of both kinds, or with a person of whom nothing is known. `bad` has a line for each row that cannot be used.
    """

    of: dict[int, str] = field(default_factory=dict)
    mixed: int = 0
    bad: list[str] = field(default_factory=list)


def read_genders(path: Path) -> dict[int, str]:
    """`female` or `male` by COCO id; rows that cannot be used are told on stderr. Raises as `read_gender_labels`."""
    labels = read_gender_labels(path)
    more = len(labels.bad) - _SHOWN
    lines = labels.bad[:_SHOWN] + ([f"{path}: {more} more rows cannot be used"] if more > 0 else [])
    for line in lines:
        print(line, file=sys.stderr)
    return labels.of


def read_gender_labels(path: Path) -> GenderLabels:
    """Read labels. A bad row is left out and told; a person whose label is bad is one of whom nothing is known.

    Raises:
        InputError: the file cannot be read, lacks a column, or has no row that can be used.
    """
    found: dict[int, set[str]] = {}
    labels = GenderLabels()
    for row in csv_rows(path, COLUMNS):
        image, label = row.cells["id"].strip(), row.cells["bb_gender"].strip()
        if not (image.isascii() and image.isdigit() and len(image) <= _DIGITS):
            labels.bad.append(f"{path}, line {row.line}: id '{image}' is no number of a COCO image")
            continue
        if label.lower() not in _KNOWN:
            labels.bad.append(f"{path}, line {row.line}: bb_gender '{label}' is none of {_ALLOWED}")
        found.setdefault(int(image), set()).add(_KNOWN.get(label.lower(), ""))
    if not found:
        raise InputError(f"{path}: no label in it; a row is a person with {' and '.join(COLUMNS)}")
    labels.of = {image: next(iter(kinds)) for image, kinds in found.items() if len(kinds) == 1 and "" not in kinds}
    labels.mixed = len(found) - len(labels.of)
    return labels
