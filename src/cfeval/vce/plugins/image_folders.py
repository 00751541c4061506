"""Image files by the name of their class: which there are, and taking the first of each class."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cfeval.core import ids
from cfeval.core.errors import InputError, nearest
from cfeval.core.image_folders import Kind, LeftOut, list_images, short_fault
from cfeval.core.images import Image, import_image, size_and_mode
from cfeval.vce.interfaces import LabelledImage

_COLOUR = {"RGB", "RGBA", "RGBX", "RGBa", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV"}
"""What Pillow calls images with colour."""
"""What it calls images of more than 8 bits begins with these; as RGB they would be cut off."""
LONGEST = 50
"""Bytes of an image's id, at most; a counterfactual's id holds it and more."""


def images_in(folder: Path, others: list[LeftOut] | None = None) -> list[Path]:
    """The image files that lie in a folder, by name; what else lies there is added to `others`."""
    listed = list_images(folder, allow_outside=True)  # a classifier in this process gets them, and nobody else
    if others is not None:
        others += [LeftOut(f"{folder.name}/{entry.name}", *_why(entry)) for entry in listed.left_out]
    return listed.images


def _why(entry: LeftOut) -> tuple[Kind, str]:
    return ("other", "in a subfolder") if entry.kind == "in subfolders" else (entry.kind, entry.why)


def counted(files: Mapping[str, Sequence[Path]], classes: str) -> str:
    """How many images of how many classes there are, for `cfeval doctor`."""
    return f"{sum(map(len, files.values()))} images of {len(files)} {classes}"


def check_label(label: str, known: Sequence[str], where: object) -> None:
    """Check that a set has a class.

    Raises:
        InputError: it has not; the nearest are named.
    """
    if label in known:
        return
    raise InputError(f"{where}: no class '{label}'; {nearest(label, known)}")


def first_of_each(
    files: Mapping[str, Sequence[Path]],
    labels: Sequence[str],
    count: int,
    where: object,
    square: Callable[[Image, Path], Image],
    gray: bool,
    left_out: list[LeftOut] | None = None,
) -> Iterator[LabelledImage]:
    """The first `count` images of each label that can be used, label by label.

    Args:
        files: the files of every class.
        labels: classes, all of them among `files`.
        count: images of each.
        where: what an error about the whole set names.
        square: makes the image that is given out.
        gray: whether images without colour are taken.
        left_out: takes in images that cannot be used, in the place of which the next ones are taken; None: they are
            refused.

    Raises:
        InputError: too few images of a class, or one that cannot be used and may not be left out.
    """
    named = ids_of(files)
    for label in labels:
        check_label(label, list(files), where)
        if len(files[label]) < count:
            raise InputError(
                f"{where}: {len(files[label])} images of class '{label}', and {count} are asked for; ask for fewer"
            )
        given, why = 0, ""
        for path in files[label]:
            if given == count:
                break
            try:
                image = square(opened(path, gray), path)
            except InputError as error:
                if left_out is None:
                    raise
                why = why or f"; {error}"
                left_out.append(LeftOut(f"{path.parent.name}/{path.name}", "unusable", short_fault(str(error), path)))
                continue
            given += 1
            yield LabelledImage(named[path], label, image)
        if given < count:
            raise InputError(
                f"{where}: {given} images of class '{label}' can be used, and {count} are asked for; ask for fewer{why}"
            )


def opened(path: Path, gray: bool) -> Image:
    """An image file, as RGB.

    Raises:
        InputError: it cannot be read, or has no colour where `gray` does not allow that.
    """
    image = import_image(path)
    _, _, mode = size_and_mode(path)
    if mode not in _COLOUR and not gray:
        raise InputError(f"{path}: not RGB but without colour (mode {mode}); leave it out, or set gray: true")
    return image


def ids_of(files: Mapping[str, Sequence[Path]]) -> dict[Path, str]:
    """An id for each image: its class and the file's name, see `cfeval.core.ids`."""
    labelled = [(path, f"{label}-{path.stem}") for label, paths in files.items() for path in paths]
    names = {f"{path.parent.name}/{path.name}": name for path, name in labelled}
    made = ids.ids_of(names, LONGEST, "image", ends="-._", hashed=LONGEST - 9)
    return {path: made[f"{path.parent.name}/{path.name}"] for path, _ in labelled}
