"""Own images: a folder for each class (the ImageFolder layout), any still images in it, in the order of their names.

A class is called after its folder, or as `classes.csv` in the outer folder says (columns `folder` and `class`). The
middle of an image is taken; its shorter side must have as many pixels as are asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.image_folders import LeftOut, left_out, read_faults, summary
from cfeval.core.images import center_crop
from cfeval.core.registry import Diagnostic
from cfeval.core.text_files import read_pairs
from cfeval.inference.local.pretrained import finding
from cfeval.vce.interfaces import ImageSet, LabelledImage
from cfeval.vce.plugins.image_folders import counted, first_of_each, images_in

NAMES = "classes.csv"


class Plugin(plugin.Plugin):
    """Where the images are, and what is cut out of them."""

    path: str = Field(min_length=1)
    """The folder that holds the folders of the classes."""
    classes: dict[str, str] = Field(default_factory=dict)
    """Classes of folders that are not called after them: `FOLDER: CLASS`; goes before `classes.csv`."""
    share: float = Field(1.0, gt=0, le=1)
    """The square that is cut out of the middle, as a share of the shorter side."""
    gray: bool = False
    """Whether images without colour are taken; else one is left out."""
    enlarge: bool = False
    """Whether images with too few pixels are taken; else one is left out."""
    strict: bool = False
    """Whether an image that cannot be used ends the study; else the next one is taken, and that is said."""

    def dependencies(self) -> tuple[str, ...]:
        """The folder: the images, and the names of the classes where they are given."""
        return (f"{self.path.rstrip('/')}/",)

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many images of how many classes there are, and which cannot be read."""
        yield finding(lambda: counted(Folder(self).files, "classes"))
        with suppress(CfevalError):
            folder = Folder(self)
            paths = [path for files in folder.files.values() for path in files]
            readable, faults = read_faults(paths)
            others = [*(left_out(path.relative_to(self.path), fault) for path, fault in faults), *folder.left_out]
            if others:
                refused = self.strict and any(entry.is_loss for entry in others)
                yield Diagnostic(not refused, f"{self.path}: {summary(len(readable), others)}", warns=not refused)

    def class_names(self) -> tuple[str, ...]:
        """The folders that hold an image, by the names of their classes."""
        return Folder(self).classes

    def build(self) -> ImageSet:
        """The set.

        Raises:
            InputError: no such folder, no images in it, or `classes.csv` cannot be used.
        """
        return Folder(self)


class Folder:
    """Looks the files up once and opens those that are taken.

    `left_out` is what the folder holds beside images of classes, and what the last call of `images` did not use.
    """

    def __init__(self, options: Plugin) -> None:
        self.options = options
        self._others: list[LeftOut] = []
        self.files = _files_of(Path(options.path), options.classes, self._others)
        self.classes = tuple(self.files)
        self.left_out = list(self._others)

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """See `ImageSet.images`; the seed draws nothing."""
        del seed
        options, self.left_out = self.options, list(self._others)
        return first_of_each(
            self.files,
            labels,
            count,
            options.path,
            lambda image, path: center_crop(image, size, options.share, path, options.enlarge),
            options.gray,
            None if options.strict else self.left_out,
        )


def _files_of(folder: Path, given: Mapping[str, str], others: list[LeftOut]) -> dict[str, list[Path]]:
    """The files of every class, by its name; what else lies there is added to `others`."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; it should hold one folder of images for each class")
    folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    named = read_pairs(folder / NAMES, "folder", "class") if (folder / NAMES).is_file() else {}
    for where, of in ((folder / NAMES, named), (f"{folder}: option classes", given)):
        if unknown := sorted(set(of) - {path.name for path in folders}):
            raise InputError(f"{where}: names the folder '{unknown[0]}', which is not there")
    named = {**named, **given}
    found: dict[str, list[Path]] = {}
    for path in folders:
        if images := images_in(path, others):
            found.setdefault(named.get(path.name, path.name), []).extend(images)
    if not found:
        raise InputError(
            f"{folder}: no folder in it holds an image; there should be one folder of images for each class"
        )
    loose = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != NAMES)
    others += [LeftOut(name, "other", "in no folder of a class") for name in loose if not name.startswith(".")]
    return found
