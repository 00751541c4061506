"""A new study of vce: its folders of images, and its classifiers, matched with them, tried on them, given an oracle."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import CfevalError, InputError, PluginError
from cfeval.core.image_conversions import is_deep
from cfeval.core.image_folders import LeftOut, scan, summary
from cfeval.core.images import size_and_mode
from cfeval.core.text_files import read_pairs
from cfeval.vce.models.class_names import IMAGENET, imagenet
from cfeval.vce.models.classifier import OutputsError
from cfeval.vce.models.spelling import NAMED_BY, beside, own_network, spec_of, takes_classes, with_architecture
from cfeval.vce.originals import on_cpu, own_images, reading
from cfeval.vce.plugins.image_sets import NAMES
from cfeval.vce.stages.targets import SHOWN, fitting, surely, the_class, wordnet_if_there
from cfeval.vce.wordnet import WordNet

# The classifier that a new study explains where none is named: its weights come with the package.
DEFAULT = "efficientnet_lite:0"
# Names of the outputs of own networks, in the study's folder, where the user has no such file.
CLASSES = "classes.txt"
# Height and width of the images of a new study, pixels.
SIZE = 224
_NONE_SIMILAR = "none of its classes has such a name"
_OTHER = "Oracle: {}, of another family than your classifier; --oracle names another, --oracle none leaves it out"
_NOTES = {
    "enlarge": f"Some images have fewer than {SIZE} pixels a side and are enlarged (enlarge: true)",
    "gray": "Some images have no color and are taken even so (gray: true)",
}
Spec = dict[str, Any]
# Asks at a terminal: the question, a suggested answer, and what to say where there is no terminal.
Ask = Callable[[str, str, str], str]


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
    used, left_out = _scan(folders)
    notes = [f"{folder}: {summary(sum(map(len, used.values())), left_out)}"]
    if strict and any(entry.is_loss for entry in left_out):
        raise InputError(f"{notes[0]}; --strict allows none")
    count = wanted or min(most, *map(len, used.values()))
    for option, fits in (("enlarge", _is_large), ("gray", _is_colored)):
        if any(sum(map(fits, images)) < count for images in used.values()):
            spec[option] = True
            notes.append(_NOTES[option])
    few = [path.name for path, images in used.items() if len(images) < count]
    if few:
        raise InputError(f"{folder}: {few[0]} has fewer than {count} images that can be used; give a smaller --items")
    if not wanted and count < most:
        images = "1 image" if count == 1 else f"{count} images"
        notes.append(f"Takes {images} of each class, because one class has no more")
    named = read_pairs(folder / NAMES, "folder", "class") if (folder / NAMES).is_file() else {}
    class_names = registry.class_names("image_sets", spec) or ()  # refuses a table of names that cannot be used
    classes = {path.name: named.get(path.name, path.name) for path in folders}
    return ImageSet(spec, {path: name for path, name in classes.items() if name in class_names}, count, notes)


def _scan(folders: Sequence[Path]) -> tuple[dict[Path, list[Path]], list[LeftOut]]:
    """The usable images of each folder, and what is left out of all."""
    used, left_out = {}, []
    for path in folders:
        folder_scan = scan(path, allow_outside=True)  # a classifier in this process gets them, and nobody else
        used[path] = folder_scan.images
        left_out += [LeftOut(f"{path.name}/{entry.name}", entry.kind, entry.why) for entry in folder_scan.left_out]
        if not folder_scan.images:
            why = summary(0, folder_scan.left_out)
            raise InputError(f"{path}: {why}; every folder of a class needs an image: add one, or remove the folder")
    return used, left_out


def _is_large(path: Path) -> bool:
    width, height, _ = size_and_mode(path)
    return min(width, height) >= SIZE


def _is_colored(path: Path) -> bool:
    _, _, mode = size_and_mode(path)
    return mode not in ("1", "L", "LA", "La") and not is_deep(mode)


@dataclass(frozen=True)
class Oracles:
    """Classifiers that are only asked, and what to tell about them."""

    specs: Mapping[str, Spec] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Chosen:
    """What a new study looks at.

    Attributes:
        images: with the classes of the classifiers.
        explained: the classifiers to be explained, by name.
        oracles: further ones that are only asked.
        outputs: names for `CLASSES`, in order; empty: no such file is needed.
        unnamed: the classifiers whose outputs that file names.
        notes: what to tell.
    """

    images: ImageSet
    explained: Mapping[str, Spec]
    oracles: Mapping[str, Spec]
    outputs: tuple[str, ...]
    unnamed: frozenset[str]
    notes: Sequence[str]

    def specs_in(self, place: Path) -> tuple[dict[str, Spec], dict[str, Spec]]:
        """Those to be explained and the oracles, with paths as seen from the study's folder."""
        explained = {name: _seen_from(spec, place) for name, spec in self.explained.items()}
        for name in self.unnamed:
            explained[name]["classes"] = CLASSES
        return explained, {name: _seen_from(spec, place) for name, spec in self.oracles.items()}


def choose(
    images: ImageSet,
    models: Sequence[str],
    architecture: str,
    labels: Path | None,
    matches: Sequence[str],
    oracles: Sequence[str],
    ask: Ask,
) -> Chosen:
    """The classifiers of a new study, tried on its images.

    Args:
        images: the user's.
        models: the classifiers to be explained, as `--model` has them; none: `DEFAULT`.
        architecture: of weights among them.
        labels: the file that names the outputs of own networks; None: the folders, if they fit.
        matches: `FOLDER=CLASS` each.
        oracles: as `--oracle` has them; `none` for none; empty: one of another family, where there is one.
        ask: the user, where something is not sure.

    Raises:
        InputError: one line that names the option which corrects it.
        PluginError: a classifier cannot be loaded, or says what is not finite.
    """
    explained = _specs(models or [DEFAULT], architecture, labels, "--model")
    loads = find_spec("torch") is not None
    specs = {
        name: _outputs(name, spec, images, ask) if loads else tuple(sorted(images.classes))
        for name, spec in explained.items()
        if own_network(spec) and not spec.get("classes")
    }
    unnamed = [name for name in specs if specs[name]]
    if unnamed and matches:
        raise InputError("--class: the classes of your network have no names yet; give them by --classes FILE")
    if len({specs[name] for name in unnamed}) > 1:
        raise InputError(f"the outputs of {' and '.join(unnamed)} have different orders; name them by --classes FILE")
    outputs = specs[unnamed[0]] if unnamed else ()
    with TemporaryDirectory() as folder:
        file = Path(folder, CLASSES)
        file.write_text(class_list(outputs), encoding="utf-8")
        named = {"classes": str(file)}
        ready = {name: spec | (named if name in unnamed else {}) for name, spec in explained.items()}
        images = _matched(images, ready, matches, ask)
        notes = [note for name, spec in ready.items() if loads for note in _trial_notes(name, spec, images)]
        oracle_specs = _oracles(oracles, labels, ready, images, loads)
        faults = list(misfits({**ready, **oracle_specs.specs}, images))
    if faults:
        raise InputError(f"{faults[0]}{f' (and {len(faults) - 1} more)' if len(faults) > 1 else ''}")
    return Chosen(images, explained, oracle_specs.specs, outputs, frozenset(unnamed), [*notes, *oracle_specs.notes])


def _specs(names: Sequence[str], architecture: str, labels: Path | None, option: str) -> dict[str, Spec]:
    specs = [spec_of(text, option) for text in names]
    if architecture and not any(spec["plugin"] == "state_dict" for spec in specs):
        raise InputError(f"--architecture is for {option} state_dict:FILE; leave it out")
    by_name: dict[str, Spec] = {}
    for spec in specs:
        if spec["plugin"] == "state_dict":
            spec = with_architecture(spec, architecture, option)
        if spec["plugin"] == "python" and beside(spec["factory"]):
            spec = {**spec, "folder": spec.get("folder", ".")}
        registry.check("classifiers", spec, option)
        if NAMED_BY.get(spec["plugin"]) == "path" and not Path(spec["path"]).expanduser().is_file():
            raise InputError(f"{option}: no file {spec['path']}; correct the path")
        value = str(spec.get(NAMED_BY.get(spec["plugin"], ""), spec["plugin"]))
        if spec["plugin"] == "efficientnet_lite":
            value = f"lite{value}" if "variant" in spec else "lite0"
        elif NAMED_BY.get(spec["plugin"]) == "path":
            value = Path(value).stem
        elif Path(value).is_dir():
            value = Path(value).resolve().name
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", value).strip("_.-")[:60] or "classifier"
        by_name[f"{name}-{len(by_name) + 1}" if name in by_name else name] = spec
    if labels:
        own = [spec for spec in by_name.values() if own_network(spec)]
        named = own or [spec for spec in by_name.values() if takes_classes(spec)]
        if not named:
            raise InputError("--classes names the outputs of own networks; name one by --model, or leave it out")
        for spec in named:
            spec.setdefault("classes", str(labels))
    return by_name


def _outputs(name: str, spec: Spec, images: ImageSet, ask: Ask) -> tuple[str, ...]:
    """The names of an own network's outputs where no file has them: the folders', in the order that fits the images.

    Of a network with ImageNet's number of outputs, nothing: they are taken for ImageNet's.
    """
    labels = tuple(sorted(images.classes))
    try:
        with TemporaryDirectory() as folder:
            file = Path(folder, CLASSES)
            file.write_text(class_list(labels), encoding="utf-8")
            built = registry.build("classifiers", on_cpu({**spec, "classes": str(file)}))
        read = reading(name, built, own_images(images.spec, images.classes, SIZE))
    except OutputsError as error:
        if error.outputs == IMAGENET:
            return ()
        raise InputError(
            f"--model: '{name}' has {error.outputs} outputs, and {images.spec['path']} has {len(labels)} folders of "
            "classes; name all outputs, in their order, by --classes FILE"
        ) from error
    if not read.order:
        return labels
    why = (
        f"the outputs of '{name}' have no names; as {', '.join(labels)} it reads {read.right} of {read.total} images "
        f"rightly, as {', '.join(read.order)} more"
    )
    otherwise = f"{why}: name them, in their order, by --classes FILE"
    answer = ask(f"Order of the outputs ({why})", ", ".join(read.order), otherwise)
    given = tuple(part.strip() for part in answer.split(","))
    if sorted(given) != sorted(labels):
        raise InputError(f"'{answer}': name {', '.join(labels)}, each once, parted by commas")
    return given


def _matched(images: ImageSet, explained: Mapping[str, Spec], matches: Sequence[str], ask: Ask) -> ImageSet:
    """The images with the classes of the first classifier that can say its own."""
    given = {}
    for text in matches:
        folder, _, name = text.partition("=")
        if not name or folder not in images.folders:
            raise InputError(f"--class {text}: write FOLDER=CLASS, FOLDER one of {', '.join(images.folders)}")
        given[folder] = name
    classes = next(filter(None, map(_class_names, explained.values())), None)
    if classes is None:
        if given:
            raise InputError("--class: the classifier's classes are not known before it is fetched; leave it out")
        return images
    wordnet = wordnet_if_there()
    folders, notes = dict(images.folders), list(images.notes)
    for folder, label in images.folders.items():
        if folder in given:
            folders[folder] = the_class(given[folder], classes, wordnet, f"--class {folder}")
        elif label not in classes:
            folders[folder] = surely(label, classes, wordnet) or _ask_class(folder, label, classes, wordnet, ask)
            notes.append(f"The folder '{folder}' is taken for the class '{folders[folder]}'; --class changes that")
    if len(set(folders.values())) < 2:
        raise InputError(f"--class: all folders are '{next(iter(folders.values()))}', and two classes are needed")
    changed = {folder: name for folder, name in folders.items() if name != images.folders[folder]}
    spec = {**images.spec, "classes": changed} if changed else images.spec
    return replace(images, spec=spec, folders=folders, notes=notes)


def _ask_class(folder: str, label: str, classes: Sequence[str], wordnet: WordNet | None, ask: Ask) -> str:
    near = fitting(label, classes, wordnet)
    fault = f"no class '{label}'; {f'{_shortened(near)} may be meant' if near else _NONE_SIMILAR}"
    otherwise = f"the classifier has {fault}: name it by --class {folder}=CLASS, or your own outputs by --classes FILE"
    answer = ask(f"The classifier has {fault}. Class of the folder '{folder}'", near[0] if near else "", otherwise)
    return the_class(answer, classes, wordnet, f"--class {folder}")


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")


def _trial_notes(name: str, spec: Spec, images: ImageSet) -> Iterator[str]:
    """What to tell of a classifier after a look at the images; nothing of one that must be fetched first."""
    if not registry.plugin_of("classifiers", spec).is_here():
        return
    built = registry.build("classifiers", on_cpu(spec))
    labels = [label for label in images.classes if label in built.classes]
    yield from (f"{name}: {note}" for note in getattr(built, "notes", ()))
    if labels:
        yield f"{name}: {reading(name, built, own_images(images.spec, labels, SIZE)).summary()}"


def _oracles(
    names: Sequence[str], labels: Path | None, explained: Mapping[str, Spec], images: ImageSet, loads: bool
) -> Oracles:
    if list(names) == ["none"]:
        return Oracles()
    if names:
        specs = _specs(names, "", None, "--oracle")
        for spec in specs.values():
            if labels and own_network(spec):
                spec.setdefault("classes", str(labels))
        notes = [note for name, spec in specs.items() if loads for note in _trial_notes(name, spec, images)]
        return Oracles({_oracle_name(explained, name): spec for name, spec in specs.items()}, notes)
    if len(explained) > 1 or not loads:
        return Oracles()  # several are each other's
    [(name, spec)] = explained.items()
    names_of_network = " ".join(str(spec.get(key, "")) for key in ("plugin", "model", "architecture"))
    if "efficientnet" not in names_of_network.lower():
        if set(images.classes) <= set(imagenet()):
            lite = {"plugin": "efficientnet_lite", "variant": 0}
            return Oracles({_oracle_name(explained, "lite0"): lite}, [_OTHER.format("EfficientNet-Lite 0")])
        probe = {"plugin": "linear_probe", "path": images.spec["path"]}
        probe |= {"classes": images.spec["classes"]} if "classes" in images.spec else {}
        with suppress(CfevalError):
            notes = registry.build("classifiers", on_cpu(probe)).notes
            what = "a linear layer on EfficientNet-Lite's features"
            return Oracles(
                {_oracle_name(explained, "probe"): probe}, [_OTHER.format(what), *(f"probe: {note}" for note in notes)]
            )
    what = f"No oracle of another family than {name} is at hand"
    return Oracles(notes=[f"{what}, and only one can tell an adversarial example; name it by --oracle"])


def _oracle_name(explained: Mapping[str, Spec], name: str) -> str:
    return f"{name}-oracle" if name in explained else name


def _seen_from(spec: Spec, place: Path) -> Spec:
    """A classifier with its paths as seen from the study's folder."""
    options = ("path", "classes", "folder", *(["weights"] if spec["plugin"] == "python" else []))
    paths = {name: spec[name] for name in options if isinstance(spec.get(name), str) and spec[name]}
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
            advice = f"of its classes {_shortened(near)} may be meant" if near else _NONE_SIMILAR
            yield (
                f"'{name}' has no class '{label}'; {advice}: leave '{name}' out, or name all of its outputs as the "
                "others do, by --classes FILE"
            )


def _class_names(spec: Spec) -> tuple[str, ...] | None:
    with suppress(CfevalError):
        return registry.class_names("classifiers", spec)
    return None


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
