"""ImageNet's validation images (ILSVRC 2012), which are not to be had without an account: the user's own copy.

Two layouts: a folder for each synset (`n02130308/…`), or all files in one folder (`ILSVRC2012_val_00000001.JPEG` …) and
beside it what their classes are: the unpacked devkit (`ILSVRC2012_devkit_t12`), or a CSV file with the columns `image`
and `synset` (a Kaggle solution file with `ImageId` and `PredictionString` also serves). Images of a class come in the
order of the dataset; each is resized to ⌊size / 0.875⌋ (bicubic) and its middle cut out, and small or colourless ones
are taken like the others (DBVCE, Section 4, and its code). Class names are torchvision's.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import KEEP, center_crop
from cfeval.core.registry import Diagnostic
from cfeval.core.text_files import CsvFile, read_pairs
from cfeval.inference.local.pretrained import finding
from cfeval.vce.interfaces import ImageSet, LabelledImage
from cfeval.vce.models.class_names import imagenet, imagenet_synsets
from cfeval.vce.plugins.image_folders import counted, first_of_each, images_in

_META, _TRUTH = Path("data") / "meta.mat", Path("data") / "ILSVRC2012_validation_ground_truth.txt"
"""In the devkit: the synset of each of its own class numbers, and the number of each image."""


class Plugin(plugin.Plugin):
    """Where the images are, and what their classes are."""

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

    def __init__(self, options: Plugin) -> None:
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
    found = {synset: images_in(folder / synset, others) for synset in names if (folder / synset).is_dir()}
    strange = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name not in names)
    others += [LeftOut(f"{name}/", "other", "no synset of ImageNet") for name in strange if not name.startswith(".")]
    if not any(found.values()) and any(islice(folder.glob("ILSVRC2012_val_*"), 1)):
        raise InputError(
            f"{folder}: the images lie in one folder, so what their classes are is needed; set truth to the folder "
            "of the devkit (ILSVRC2012_devkit_t12) or to a CSV file with the columns image and synset"
        )
    return {synset: images for synset, images in found.items() if images}


def _in_one_folder(folder: Path, truth: Path, others: list[LeftOut]) -> dict[str, list[Path]]:
    synsets = _of_devkit(truth) if truth.is_dir() else _of_csv(truth)
    found: dict[str, list[Path]] = {}
    beside: list[LeftOut] = []
    for path in images_in(folder, beside):
        if synset := synsets.get(path.stem):
            found.setdefault(synset, []).append(path)
        else:
            others.append(LeftOut(f"{folder.name}/{path.name}", "other", f"no class in {truth.name}"))
    others += [entry for entry in beside if Path(entry.name).name != truth.name]
    return found


def _of_csv(path: Path) -> dict[str, str]:
    """The synset of each image, by its file name without the ending."""
    kaggle = "ImageId" in CsvFile(path, (), lambda row: row).header
    pairs = read_pairs(path, *(("ImageId", "PredictionString") if kaggle else ("image", "synset")))
    return {Path(image).stem if "." in image else image: said.split()[0] for image, said in pairs.items()}


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
