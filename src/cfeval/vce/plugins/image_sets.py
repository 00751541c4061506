"""Labelled images, which counterfactuals are made of: own folders, ImageNet's validation images, photographs.

`folder` has a folder for each class (the ImageFolder layout), any still images in it, in the order of their names. A
class is called after its folder, or as `classes.csv` in the outer folder says (columns `folder` and `class`). The
middle of an image is taken; its shorter side must have as many pixels as are asked for.

`imagenet` is the user's own copy of ILSVRC 2012, which is not to be had without an account. Two layouts: a folder for
each synset (`n02130308/…`), or all files in one folder (`ILSVRC2012_val_00000001.JPEG` …) and beside it what their
classes are: the unpacked devkit (`ILSVRC2012_devkit_t12`), or a CSV file with the columns `image` and `synset` (a
Kaggle solution file with `ImageId` and `PredictionString` also serves). Images of a class come in the order of the
dataset; each is resized to ⌊size / 0.875⌋ (bicubic) and its middle cut out, and small or colourless ones are taken like
the others (DBVCE, Section 4, and its code). Class names are torchvision's.

`photographs` come with scikit-image, under the name of an ImageNet class: real images without a download. Only those of
something that ImageNet has a class for, and that EfficientNet-Lite 0, 1 and 2 all recognise. ImageNet has no
motorcycle; the nearest class, which they name, is moped. Chelsea is a tabby; they name the class that ImageNet's
photographs of such cats are most often in. There is one photograph of each class. The first image is its middle; the
further ones are squares of 80 to 100 % of its shorter side that the seed places, every other one mirrored, so they are
views of one photograph and not independent.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from cfeval.core import ids, plugin
from cfeval.core.errors import CfevalError, InputError, PluginError, nearest
from cfeval.core.image_folders import LeftOut, left_out, list_images, read_faults, short_fault, summary
from cfeval.core.images import KEEP, Image, center_crop, import_image, size_and_mode
from cfeval.core.registry import Diagnostic
from cfeval.core.text_files import CsvFile, read_pairs
from cfeval.inference.local.pretrained import finding
from cfeval.vce.interfaces import ImageSet, LabelledImage
from cfeval.vce.models.class_names import imagenet, imagenet_synsets

_COLOUR = {"RGB", "RGBA", "RGBX", "RGBa", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV"}
"""What Pillow calls images with colour."""
"""What it calls images of more than 8 bits begins with these; as RGB they would be cut off."""
LONGEST = 50
"""Bytes of an image's id, at most; a counterfactual's id holds it and more."""


def images_in(folder: Path, others: list[LeftOut] | None = None) -> list[Path]:
    """The image files that lie in a folder, by name; what else lies there is added to `others`."""
    listed = list_images(folder, allow_outside=True)  # a classifier in this process gets them, and nobody else
    if others is not None:
        for entry in listed.left_out:
            below = entry.kind == "in subfolders"
            why = "in a subfolder" if below else entry.why
            others.append(LeftOut(f"{folder.name}/{entry.name}", "other" if below else entry.kind, why))
    return listed.images


def counted(files: Mapping[str, Sequence[Path]], classes: str) -> str:
    """How many images of how many classes there are, for `cfeval doctor`."""
    return f"{sum(map(len, files.values()))} images of {len(files)} {classes}"


def check_label(label: str, classes: Sequence[str], where: object) -> None:
    """Check that a set has a class.

    Raises:
        InputError: it has not; the nearest are named.
    """
    if label in classes:
        return
    raise InputError(f"{where}: no class '{label}'; {nearest(label, classes)}")


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


NAMES = "classes.csv"


class FolderPlugin(plugin.Plugin):
    """Own images: a folder for each class (the ImageFolder layout), any still images in it, in the order of their
    names.
    """

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

    def __init__(self, options: FolderPlugin) -> None:
        self.options = options
        self._others: list[LeftOut] = []
        folder, others = Path(options.path), self._others
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; it should hold one folder of images for each class")
        folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        named = read_pairs(folder / NAMES, "folder", "class") if (folder / NAMES).is_file() else {}
        for where, folder_names in ((folder / NAMES, named), (f"{folder}: option classes", options.classes)):
            if unknown := sorted(set(folder_names) - {path.name for path in folders}):
                raise InputError(f"{where}: names the folder '{unknown[0]}', which is not there")
        named = {**named, **options.classes}
        by_class: dict[str, list[Path]] = {}
        for path in folders:
            if images := images_in(path, others):
                by_class.setdefault(named.get(path.name, path.name), []).extend(images)
        if not by_class:
            raise InputError(
                f"{folder}: no folder in it holds an image; there should be one folder of images for each class"
            )
        loose = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != NAMES)
        others += [LeftOut(name, "other", "in no folder of a class") for name in loose if not name.startswith(".")]
        self.files = by_class
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


_META, _TRUTH = Path("data") / "meta.mat", Path("data") / "ILSVRC2012_validation_ground_truth.txt"
"""In the devkit: the synset of each of its own class numbers, and the number of each image."""


class ImageNetPlugin(plugin.Plugin):
    """ImageNet's validation images (ILSVRC 2012), which are not to be had without an account: the user's own copy."""

    path: str = Field(min_length=1)
    """The folder with the images, or with a folder for each synset."""
    truth: str = ""
    """For images in one folder: the devkit's folder, or a CSV file."""

    def dependencies(self) -> tuple[str, ...]:
        """The folder of images, and what the classes are read from."""
        images = f"{self.path.rstrip('/')}/"
        if not self.truth:
            return (images,)
        truth = Path(self.truth)
        return (images, *((str(truth / _META), str(truth / _TRUTH)) if truth.is_dir() else (str(truth),)))

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many images of how many classes there are."""
        yield finding(lambda: counted(ImageNet(self).files, "of ImageNet's classes"))

    def class_names(self) -> tuple[str, ...]:
        """ImageNet's that have an image there."""
        return tuple(ImageNet(self).files)

    def build(self) -> ImageSet:
        """The set.

        Raises:
            InputError: no images, or their classes are not known.
            PluginError: timm, which brings the synset ids, is not installed.
        """
        return ImageNet(self)


class ImageNet:
    """Looks the files up once and opens those that are taken."""

    def __init__(self, options: ImageNetPlugin) -> None:
        self.options = options
        self.classes = imagenet()
        folder = Path(options.path)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; it should hold ImageNet's validation images")
        names = dict(zip(imagenet_synsets(), self.classes, strict=True))
        self.left_out: list[LeftOut] = []
        truth = Path(options.truth) if options.truth else None
        by_synset = _in_one_folder(folder, truth, self.left_out) if truth else _in_folders(folder, names, self.left_out)
        self.files = {names[synset]: by_synset[synset] for synset in names if synset in by_synset}
        if not self.files:
            raise InputError(f"{folder}: none of ImageNet's classes has an image there; check path and truth")

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """See `ImageSet.images`; the seed draws nothing."""
        del seed
        return first_of_each(
            self.files,
            labels,
            count,
            self.options.path,
            lambda image, path: center_crop(image, size, KEEP, path, enlarge=True),
            gray=True,
        )


def _in_folders(folder: Path, names: Mapping[str, str], others: list[LeftOut]) -> dict[str, list[Path]]:
    by_synset = {synset: images_in(folder / synset, others) for synset in names if (folder / synset).is_dir()}
    strange = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name not in names)
    others += [LeftOut(f"{name}/", "other", "no synset of ImageNet") for name in strange if not name.startswith(".")]
    if not any(by_synset.values()) and any(islice(folder.glob("ILSVRC2012_val_*"), 1)):
        raise InputError(
            f"{folder}: the images lie in one folder, so what their classes are is needed; set truth to the folder "
            "of the devkit (ILSVRC2012_devkit_t12) or to a CSV file with the columns image and synset"
        )
    return {synset: images for synset, images in by_synset.items() if images}


def _in_one_folder(folder: Path, truth: Path, others: list[LeftOut]) -> dict[str, list[Path]]:
    synsets = _of_devkit(truth) if truth.is_dir() else _of_csv(truth)
    by_synset: dict[str, list[Path]] = {}
    beside: list[LeftOut] = []
    for path in images_in(folder, beside):
        if synset := synsets.get(path.stem):
            by_synset.setdefault(synset, []).append(path)
        else:
            others.append(LeftOut(f"{folder.name}/{path.name}", "other", f"no class in {truth.name}"))
    others += [entry for entry in beside if Path(entry.name).name != truth.name]
    return by_synset


def _of_csv(path: Path) -> dict[str, str]:
    """The synset of each image, by its file name without the ending."""
    kaggle = "ImageId" in CsvFile(path, (), lambda row: row).header
    pairs = read_pairs(path, *(("ImageId", "PredictionString") if kaggle else ("image", "synset")))
    return {Path(image).stem if "." in image else image: synset.split()[0] for image, synset in pairs.items()}


def _of_devkit(folder: Path) -> dict[str, str]:
    from scipy.io import loadmat

    try:
        table = loadmat(folder / _META, squeeze_me=True)["synsets"]
        synset_of = {int(row["ILSVRC2012_ID"]): str(row["WNID"]) for row in table}
        numbers = [int(line) for line in (folder / _TRUTH).read_text(encoding="ascii").split()]
        return {f"ILSVRC2012_val_{i:08d}": synset_of[number] for i, number in enumerate(numbers, start=1)}
    except (OSError, ValueError, LookupError) as error:
        raise InputError(
            f"{folder}: not the unpacked devkit; {_META} and {_TRUTH} are needed ({type(error).__name__}: {error})"
        ) from None


class Photograph(NamedTuple):
    """A file of scikit-image, and how the image's id begins."""

    file: str
    id: str


PHOTOGRAPHS = {
    "Egyptian cat": Photograph("chelsea.png", "cat"),
    "espresso": Photograph("coffee.png", "coffee"),
    "moped": Photograph("motorcycle_left.png", "motorcycle"),
    "tripod": Photograph("camera.png", "camera"),
}
"""By the name of their class."""
LEAST = 0.8
"""The smallest square that the seed draws, as a share of the shorter side."""


class PhotographsPlugin(plugin.Plugin):
    """Photographs that come with scikit-image, under the name of an ImageNet class: real images without a download."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the photographs are there."""
        yield finding(lambda: f"{len([_photograph_file(label) for label in PHOTOGRAPHS])} photographs are here")

    def class_names(self) -> tuple[str, ...]:
        """The four photographs'."""
        return tuple(PHOTOGRAPHS)

    def build(self) -> ImageSet:
        """The set."""
        return Photographs()


class Photographs:
    """Opens a photograph for each label and cuts squares out of it."""

    classes = tuple(PHOTOGRAPHS)

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """See `ImageSet.images`."""
        for label in labels:
            check_label(label, self.classes, "photographs")
            photograph = opened(_photograph_file(label), gray=True)
            for number in range(count):
                view = _view(photograph, number, f"{seed} {label} {number}")
                square = center_crop(view, size, 1.0, f"scikit-image's {PHOTOGRAPHS[label].file}")
                yield LabelledImage(f"{PHOTOGRAPHS[label].id}-{number:03d}", label, square)


def _view(photograph: Image, number: int, seed: str) -> Image:
    if number == 0:
        return photograph
    drawn = random.Random(seed)
    pixels = photograph.pixels
    side = round(min(pixels.shape[:2]) * drawn.uniform(LEAST, 1))
    top, left = (drawn.randint(0, length - side) for length in pixels.shape[:2])
    square = pixels[top : top + side, left : left + side]
    return Image.from_pixels(np.ascontiguousarray(square[:, ::-1] if number % 2 else square))


def _photograph_file(label: str) -> Path:
    spec = find_spec("skimage")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else Path()
    path = folder / PHOTOGRAPHS[label].file
    if not path.is_file():
        raise PluginError(f"'{path.name}', a photograph of the package 'scikit-image', is not there; install it again")
    return path
