"""The images and classifiers of a new study of vce, and whether the classifiers know the images' classes."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import CfevalError, InputError, PluginError
from cfeval.core.image_conversions import is_deep
from cfeval.core.image_folders import LeftOut, scan, summary
from cfeval.core.images import size_and_mode
from cfeval.vce.stages.class_match import SHOWN, fitting, wordnet_if_there

LIBRARIES = ("timm", "torchvision", "transformers")
CLASSES = "classes.txt"
"""Names of the outputs of own weights, in the study's folder."""
SIZE = 224
"""Height and width of the images of a new study, pixels."""
_FORMS = (
    "timm/MODEL, torchvision/MODEL, transformers/OWNER/NAME or transformers/FOLDER, or own weights: "
    "timm/ARCHITECTURE@FILE or torchvision/ARCHITECTURE@FILE"
)
Spec = dict[str, Any]


@dataclass
class ImageSet:
    """A folder of images with a folder for each class, as params.yaml names it.

    Attributes:
        spec: its plug-in and options, with the path as the command line has it.
        classes: the names of its classes.
        images: of each class, at most.
        notes: what to tell about it.
    """

    spec: Spec
    classes: tuple[str, ...]
    images: int
    notes: list[str] = field(default_factory=list)


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
    spec: Spec = {"plugin": "folder", "path": str(folder), **({"strict": True} if strict else {})}
    folders = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    if len(folders) < 2:
        raise InputError(f"{folder}: {len(folders)} folders of classes, and two are needed: a folder for each class")
    used, others = _scanned(folders)
    notes = [f"{folder}: {summary(sum(map(len, used.values())), others)}"]
    if strict and any(one.is_loss for one in others):
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
    return ImageSet(spec, registry.class_names("image_sets", spec) or (), count, notes)


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


def classifiers(names: Sequence[str], labels: Path | None) -> dict[str, Spec]:
    """The classifiers that the command line names, by the names that they get.

    Args:
        names: as `--model` has them.
        labels: the file that names the outputs of own weights; None: `CLASSES`, which the study is to have.

    Raises:
        InputError: no such form of a name, or no such file.
    """
    specs: dict[str, Spec] = {}
    for text in names:
        library, _, rest = text.partition("/")
        architecture, at, weights = rest.partition("@")
        if library not in LIBRARIES or not architecture or (at and (not weights or library == "transformers")):
            raise InputError(f"--model {text}: write a classifier as {_FORMS}")
        spec: Spec = {"plugin": library, "model": rest}
        if at:
            if not Path(weights).is_file():
                raise InputError(f"--model {text}: no file {weights}")
            spec = {"plugin": "state_dict", "library": library, "architecture": architecture, "path": weights}
            spec["classes"] = str(labels) if labels else CLASSES
        name = _name(Path(weights).stem if at else Path(rest).name if Path(rest).is_dir() else rest)
        specs[f"{name}-{len(specs) + 1}" if name in specs else name] = spec
    if labels and not any("classes" in spec for spec in specs.values()):
        raise InputError("--classes names the outputs of own weights; give them as --model timm/ARCHITECTURE@FILE")
    return specs


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("_.-")[:60] or "classifier"


def seen_from(spec: Mapping[str, Any], place: Path) -> Spec:
    """A classifier with its paths as seen from the study's folder."""
    paths = {name: spec[name] for name in ("path", "classes") if spec.get(name, CLASSES) != CLASSES}
    if spec["plugin"] == "transformers" and Path(spec["model"]).is_dir():
        paths["model"] = spec["model"]
    return {**spec, **{name: os.path.relpath(path, place) for name, path in paths.items()}}


def misfits(named: Mapping[str, Spec], images: ImageSet) -> Iterator[str]:
    """A line for each class of the images that a classifier does not tell apart, and what to do.

    What cannot say its classes before it is loaded is left to the run.
    """
    for name, spec in named.items():
        outputs = _class_names(spec)
        unknown = [label for label in images.classes if outputs is not None and label not in outputs]
        wordnet = wordnet_if_there() if unknown else None
        for label in unknown:
            near = fitting(label, outputs or (), wordnet)
            names = ", ".join(map(repr, near[:SHOWN])) + ", …" * (len(near) > SHOWN)
            advice = f"one of its classes that fit is {names}" if near else "none of its classes has such a name"
            if len(near) == 1:
                advice = f"its class is called {names}"
            yield (
                f"the classifier '{name}' has no class '{label}'; {advice}: rename the folder to the class, or name "
                f"the class in {images.spec['path']}/classes.csv (folder,class), or explain your own classifier: "
                "--model timm/ARCHITECTURE@WEIGHTS"
            )


def _class_names(spec: Spec) -> tuple[str, ...] | None:
    """The classes that a classifier tells apart; None where that is not known, or they are those of the images."""
    with suppress(CfevalError):
        return None if spec.get("classes") == CLASSES else registry.class_names("classifiers", spec)
    return None


def check_weights(named: Mapping[str, Spec], classes: Sequence[str]) -> None:
    """Load own weights, where torch is installed; InputError or PluginError where they do not fit.

    Args:
        named: the classifiers.
        classes: the names of the outputs of those whose file of names is not there yet.
    """
    with TemporaryDirectory() as folder:
        names = Path(folder, CLASSES)
        names.write_text(class_list(classes), encoding="utf-8")
        for spec in named.values():
            if spec["plugin"] == "state_dict" and find_spec("torch"):
                file = str(names) if spec["classes"] == CLASSES else spec["classes"]
                registry.build("classifiers", {**spec, "classes": file, "device": "cpu"})


def missing_packages(named: Mapping[str, Spec], classes: Sequence[str]) -> list[str]:
    """What to install before the classifiers can be loaded, and what is checked only then; empty: nothing."""
    try:
        for name, spec in named.items():
            registry.check_installed("classifiers", spec, name)
    except PluginError:
        return [
            "These classifiers need pip install 'cfeval[vce]'; after that, `cfeval check` says whether they know the "
            f"classes {', '.join(classes)}"
        ]
    return []


def class_list(classes: Sequence[str]) -> str:
    """The text of a file that names outputs."""
    return "".join(f"{name}\n" for name in classes)
