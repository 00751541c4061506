"""What is in a bundle: the files of a study's jobs, what their plans name, and what is left out where texts may not go.

Paths in a bundle are those of the study's folder, so that the commands of its jobs work in an unpacked one. What comes
with cfeval is named as in a checkout; the rest of what plans name from outside the folder is in `elsewhere/`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cfeval.core.errors import InputError
from cfeval.core.package import CARRIED, carried
from cfeval.core.provenance.hashes import Hashes, read_json
from cfeval.core.provenance.jobs import ENDING
from cfeval.core.provenance.sources import PACKAGE, ROOT

FULL = "full-manifest-sha256.txt"
"""In a redacted bundle: the manifest of the bundle that has everything."""
TABLE_STAGES = ("table", "metrics", "pair_table")
"""Stages that make tables from records or from other tables."""
KEPT = {
    "edct": ("scores", "tables", "figures"),
    "vce": ("groups", "scores", "tables", "figures"),
    "cvqa": ("tables", "figures"),
}
"""By evaluation: the folders of results that hold neither texts nor images, and stay in a redacted bundle."""
_NOT_TAKEN = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".npz", ".png", ".jpg", ".jpeg", ".webp")
"""Weights, which are named by their hash alone, and images, which the items have."""
_SNAKEMAKES = ".snakemake_timestamp"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A file that jobs rest on and no job makes: its name in their plans, its path in the bundle, and where it is."""

    name: str
    place: str
    source: Path
    sha256: str
    stages: tuple[str, ...]


def result_files(outputs: Iterable[str]) -> Iterator[str]:
    """The files that jobs made, with the provenance records next to their first outputs.

    Args:
        outputs: what each job makes, by path; a folder's name ends with a slash.

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


def plan_files(records: Iterable[str]) -> list[PlanFile]:
    """The prompts, published figures and data that provenance records name, each once; no weights and no images.

    Raises:
        InputError: one is gone, or is not the file that was used.
    """
    found: dict[str, tuple[str, set[str]]] = {}
    for record in records:
        plan = read_json(Path(record)).get("plan") or {}
        for name, sha256 in (plan.get("files") or {}).items():
            if sha256 and not name.endswith(("/", *_NOT_TAKEN)):
                found.setdefault(name, (sha256, set()))[1].add(str(plan.get("stage")))
    hashes, files = Hashes(), []
    for name, (sha256, stages) in sorted(found.items()):
        source = source_of(name)
        if hashes.file(str(source)) != sha256:
            raise InputError(f"{source}: gone, or changed since the jobs that used it; run the study again")
        files.append(PlanFile(name, place_of(name, sha256), source, sha256, tuple(sorted(stages))))
    return files


def source_of(name: str) -> Path:
    """Where the file is that a plan calls so."""
    if name.startswith(f"{PACKAGE}:"):
        return ROOT / PACKAGE / name.partition(":")[2]
    brought = any(name.startswith(f"{place}/") for place in CARRIED)
    return carried(name) if brought and not Path(name).exists() else Path(name)


def place_of(name: str, sha256: str) -> str:
    """The path in the bundle of a file that a plan calls so."""
    if name.startswith(f"{PACKAGE}:"):
        return f"{PACKAGE}/{name.partition(':')[2]}"
    path = PurePosixPath(name)
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


def plan_file_may_stay(file: PlanFile) -> bool:
    """Whether a file that plans name stays in a redacted bundle: what comes with cfeval, and what tables rest on."""
    brought = file.name.startswith(f"{PACKAGE}:") or any(file.name.startswith(f"{place}/") for place in CARRIED)
    return brought or any(stage.partition(".")[2] in TABLE_STAGES for stage in file.stages)


def is_inside(path: str) -> bool:
    """Whether a path of a bundle stays in the folder that it is unpacked into."""
    parts = PurePosixPath(path)
    plain = (
        bool(path) and not parts.is_absolute() and parts.as_posix() == path and "\\" not in path and "\0" not in path
    )
    return plain and ".." not in parts.parts and "\n" not in path
