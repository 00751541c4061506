"""The one door through which the images of a set come: none from outside its folder, unless that is allowed."""

from collections.abc import Sequence
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.image_folders import inside


class OwnImages(plugin.Plugin):
    """What every set of images that is read from files is told of them."""

    allow_outside: bool = False
    """Whether images may lie outside the set's folder, also by a link; a hosted model would be sent them."""

    def checked(self, image: Path, folders: Sequence[Path], place: str) -> Path:
        """An image itself; InputError where it lies in none of the folders and that is not allowed."""
        return image if self.allow_outside else inside(image, folders, place)
