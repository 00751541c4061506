"""What all sets of images read from files have in common: no image comes from outside, unless that is allowed."""

from collections.abc import Sequence
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.image_folders import inside


class OwnImages(plugin.Plugin):
    """The options that every set of images read from files has."""

    allow_outside: bool = False
    """Whether images may lie outside the set's folder, also by a link; a hosted model would be sent them."""

    def checked(self, image: Path, folders: Sequence[Path], place: str) -> Path:
        """An image itself; InputError where it lies in none of the folders and that is not allowed."""
        return image if self.allow_outside else inside(image, folders, place)
