"""The images of a page: each has a number, and is linked to, or is in the page where it is in an archive."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from cfeval.core.images import in_archive, load
from cfeval.core.records import ImageRef
from cfeval.report.html import data_url

_SIDE = 512
"""In pixels: a larger image that is part of the page itself is shrunk to that."""


class ImageNumber(int):
    """The number of an image on a page: rows show which of their numbers are images."""


@dataclass
class Images:
    """The images of a page: each has a number, and is linked to, or is in the page where it is in an archive."""

    page_folder: Path
    links: list[str] = field(default_factory=list)
    """A link each, by number."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, folder: Path, ref: ImageRef) -> ImageNumber:
        """The number of an image; the same file has the same one, an image in an archive the same as its copies."""
        archived = in_archive(folder)
        key = ref.sha256 if archived else str(folder / ref.path)
        if key not in self._numbers:
            relative = "" if archived else Path(os.path.relpath(folder / ref.path, self.page_folder)).as_posix()
            self._numbers[key] = len(self.links)
            self.links.append(quote(relative) or data_url(load(folder, ref), _SIDE))
        return ImageNumber(self._numbers[key])
