"""The images of a new study of vce: a folder for each class, looked through before anything is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.image_conversions import is_deep
from cfeval.core.image_folders import LeftOut, scan, summary
from cfeval.core.images import size_and_mode
from cfeval.core.text_files import read_pairs
from cfeval.vce.plugins.image_sets.folder import NAMES

SIZE = 224
"""Height and width of the images of a new study, pixels."""


@dataclass
class ImageSet:
    """A folder of images with a folder for each class, as params.yaml names it.

    Attributes:
        spec: its plug-in and options, with the path as the command line has it.
        folders: the class of each folder.
        images: of each class, at most.
        notes: what to tell about it.
    """

    spec: dict[str, Any]
    folders: dict[str, str]
    images: int
    notes: list[str] = field(default_factory=list)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of its classes."""
        return tuple(dict.fromkeys(self.folders.values()))


def image_set(folder: Path, wanted: int | None, most: int, strict: bool) -> ImageSet:
    """Look through the folders of the classes.

    Args:
        folder: holds them.
        wanted: images of each class; None: `most`, or as many as each has.
        most: see `wanted`.
        strict: refuse images that cannot be used.

    Raises:
        InputError: fewer than two classes, or one without an image that can be used.
    """
    spec: dict[str, Any] = {"plugin": "folder", "path": str(folder), **({"strict": True} if strict else {})}
    folders = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(folders) < 2:
        raise InputError(f"{folder}: {len(folders)} folders of classes, and two are needed: a folder for each class")
    used, others = _scanned(folders)
    notes = [f"{folder}: {summary(sum(map(len, used.values())), others)}"]
    if strict and any(entry.is_loss for entry in others):
        raise InputError(f"{notes[0]}; --strict allows none")
    count = wanted or min(most, *map(len, used.values()))
    for option, fits in (("enlarge", _is_large), ("gray", _is_colored)):
        fitting_ = {path.name: sum(map(fits, images)) for path, images in used.items()}
        if any(number < count for number in fitting_.values()):
            spec[option] = True
            notes.append(_NOTES[option])
    few = [path.name for path, images in used.items() if len(images) < count]
    if few:
        raise InputError(f"{folder}: {few[0]} has fewer than {count} images that can be used; give a smaller --items")
    if not wanted and count < most:
        notes.append(f"Takes {count} image{'s' * (count > 1)} of each class, because one class has no more")
    named = read_pairs(folder / NAMES, "folder", "class") if (folder / NAMES).is_file() else {}
    known = registry.class_names("image_sets", spec) or ()  # refuses a table of names that cannot be used
    classes = {path.name: named.get(path.name, path.name) for path in folders}
    return ImageSet(spec, {path: name for path, name in classes.items() if name in known}, count, notes)


_NOTES = {
    "enlarge": f"Some images have fewer than {SIZE} pixels a side and are enlarged (enlarge: true)",
    "gray": "Some images have no color and are taken even so (gray: true)",
}


def _scanned(folders: Sequence[Path]) -> tuple[dict[Path, list[Path]], list[LeftOut]]:
    """The usable images of each folder, and what is left out of all."""
    used, others = {}, []
    for path in folders:
        folder_scan = scan(path, allow_outside=True)  # a classifier in this process gets them, and nobody else
        used[path] = folder_scan.images
        others += [LeftOut(f"{path.name}/{entry.name}", entry.kind, entry.why) for entry in folder_scan.left_out]
        if not folder_scan.images:
            why = summary(0, folder_scan.left_out)
            raise InputError(f"{path}: {why}; every folder of a class needs an image: add one, or remove the folder")
    return used, others


def _is_large(path: Path) -> bool:
    width, height, _ = size_and_mode(path)
    return min(width, height) >= SIZE


def _is_colored(path: Path) -> bool:
    _, _, mode = size_and_mode(path)
    return mode not in ("1", "L", "LA", "La") and not is_deep(mode)
