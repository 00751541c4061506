"""What a report reads: the records of a study's conditions, and where their images are."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cfeval.core.images import folder_of, in_archive, load
from cfeval.core.records import ImageRef
from cfeval.edct.files import stage_files, stage_records
from cfeval.edct.records import Condition
from cfeval.report.html import data_url

_SIDE = 512
"""In pixels: a larger image that is part of the page itself is shrunk to that."""


@dataclass(frozen=True)
class Study:
    """The result files of a study's conditions."""

    results: Path
    conditions: tuple[Condition, ...]
    shards: int = 1

    def records(self, stage: str, condition: Condition, items: Collection[str] | None = None) -> Iterator[Any]:
        """The records of a stage of a condition, of all items or of some, each with the folder of its images.

        Raises:
            InputError: a file is missing or broken.
        """
        for file in stage_files(self.results, stage, condition, self.shards):
            folder = folder_of(file)
            for record in stage_records(stage, file):
                if items is None or record.id in items:
                    yield record, folder


@dataclass
class Images:
    """The images of a page: each has a number, and is linked to, or is in the page where it is in an archive."""

    page_folder: Path
    links: list[str] = field(default_factory=list)
    """A link each, by number."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, folder: Path, ref: ImageRef) -> int:
        """The number of an image; the same file has the same one, an image in an archive the same as its copies."""
        archived = in_archive(folder)
        key = ref.sha256 if archived else str(folder / ref.path)
        if key not in self._numbers:
            relative = "" if archived else Path(os.path.relpath(folder / ref.path, self.page_folder)).as_posix()
            self._numbers[key] = len(self.links)
            self.links.append(quote(relative) or data_url(load(folder, ref), _SIDE))
        return self._numbers[key]
