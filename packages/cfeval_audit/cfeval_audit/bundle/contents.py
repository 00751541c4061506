"""What is in a bundle: the files of a study's steps, what their records name, and what stays where no texts may go.

Paths in a bundle are those of the study's folder, so that the commands of its steps work in an unpacked one. What comes
with cfeval is named as in a checkout; the rest of what records name from outside the folder is in `elsewhere/`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cfeval.core.errors import InputError
from cfeval.core.hashes import Hashes
from cfeval.core.package import CARRIED, PACKAGE, carried
from cfeval.core.record import ENDING, Step, read
from cfeval.study.recompute import makes_tables

FULL = "full-manifest-sha256.txt"
"""In a redacted bundle: the manifest of the bundle that has everything."""
KEPT = {
    "edct": ("scores", "tables", "figures"),
    "vce": ("groups", "scores", "tables", "figures"),
    "cvqa": ("tables", "figures"),
}
"""By evaluation: the folders of results that hold neither texts nor images, and stay in a redacted bundle."""
_NOT_TAKEN = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".npz", ".png", ".jpg", ".jpeg", ".webp")
"""Weights, which are named by their hash alone, and images, which the items have."""
_SNAKEMAKES = ".snakemake_timestamp"


_BROUGHT = "cfeval:"
"""How records call files that come with cfeval."""
_CODE = "src/cfeval/"
"""Where the package lies in a checkout."""


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A file that steps rest on and no step makes.

    Attributes:
        name: what records call it.
        place: its path in the bundle.
        source: where it is.
        sha256: its hash.
        for_tables: whether tables rest on it.
    """

    name: str
    place: str
    source: Path
    sha256: str
    for_tables: bool


def steps_of(records: Iterable[str]) -> Iterator[Step]:
    """What records say, step by step.

    Raises:
        InputError: one is missing, or is none.
    """
    for record in records:
        steps = read(record)
        if not steps:
            raise InputError(f"{record}: not made yet; run the study to its end first")
        yield from steps


def outputs_of(records: Iterable[str]) -> list[str]:
    """What steps made, by path; a folder of images ends with a slash."""
    return [path for step in steps_of(records) for path in step["outputs"]]


def result_files(outputs: Iterable[str]) -> Iterator[str]:
    """The files that steps made.

    Args:
        outputs: what each step makes, by path; a folder's name ends with a slash.

    Raises:
        InputError: one is missing.
    """
    for path in outputs:
        if path.endswith("/"):
            yield from _below(path.rstrip("/")) if Path(path).is_dir() else ()
        elif Path(path).is_file():
            yield path
        else:
            raise InputError(f"{path}: not made yet; run the study to its end first")


def _below(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir():
                yield from _below(entry.path)
            elif entry.name != _SNAKEMAKES:
                yield entry.path


def used_files(records: Iterable[str]) -> list[UsedFile]:
    """The prompts, published figures and data that steps rest on, each once; no weights and no images.

    Raises:
        InputError: one is gone, or is not the file that was used.
    """
    found, made = dict[str, tuple[str, bool]](), set[str]()
    for step in steps_of(records):
        made |= step["outputs"].keys()
        for name, sha256 in step["inputs"].items():
            if sha256 and not name.endswith(("/", *_NOT_TAKEN)):
                found[name] = (sha256, makes_tables(step) or found.get(name, ("", False))[1])
    hashes, files = Hashes(), []
    for name, (sha256, for_tables) in sorted(found.items()):
        if name in made:
            continue
        source = source_of(name)
        if hashes.file(str(source)) != sha256:
            raise InputError(f"{source}: gone, or changed since the steps that used it; run the study again")
        files.append(UsedFile(name, place_of(name, sha256), source, sha256, for_tables))
    return files


def source_of(name: str) -> Path:
    """Where the file is that records call so."""
    inside = name.removeprefix(_BROUGHT)
    if inside == name:
        return Path(name)
    return PACKAGE / inside.removeprefix(_CODE) if inside.startswith(_CODE) else carried(inside)


def place_of(name: str, sha256: str) -> str:
    """The path in the bundle of a file that records call so."""
    path = PurePosixPath(name.removeprefix(_BROUGHT))
    if path.is_absolute() or ".." in path.parts:
        return f"elsewhere/{sha256[:16]}/{path.name}"
    return path.as_posix()


def may_stay(path: str, results: Mapping[str, str]) -> bool:
    """Whether a file of the results stays in a redacted bundle.

    Args:
        path: of the file.
        results: the evaluations by their folders of results.
    """
    if path.endswith(ENDING):
        return True
    for folder, evaluation in results.items():
        if path.startswith(f"{folder}/"):
            return path.removeprefix(f"{folder}/").partition("/")[0] in KEPT[evaluation]
    return False


def used_file_may_stay(file: UsedFile) -> bool:
    """Whether a file that steps rest on stays in a redacted bundle: what comes with cfeval, and what tables rest on."""
    brought = file.name.startswith((_BROUGHT, *(f"{place}/" for place in CARRIED)))
    return brought or file.for_tables
