"""What is in a bundle: the files of a study's steps, what their records name, its manifest and `about.json`.

Paths in a bundle are those of the study's folder, so that the commands of its steps work in an unpacked one. What comes
with cfeval is named as in a checkout; the rest of what records name from outside the folder is in `elsewhere/`.
"""

import ast
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from cfeval import __version__
from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.hashes import Hashes
from cfeval.core.package import CARRIED, PACKAGE, carried
from cfeval.core.record import ENDING, Step, read
from cfeval.core.registry import GROUP
from cfeval.core.vouching import is_inside
from cfeval.inference.remote import archive
from cfeval.inference.remote.request import Response
from cfeval.study.recompute import makes_tables

# The line of hashes of every other file, as `sha256sum --check` reads it.
MANIFEST = "manifest-sha256.txt"
# In a redacted bundle: the manifest of the bundle that has everything.
FULL = "full-manifest-sha256.txt"
# Which code, packages and models made a study, as far as its records and calls say.
ABOUT = "about.json"
# By evaluation: the folders of results that hold neither texts nor images, and stay in a redacted bundle.
KEPT = {
    "edct": ("scores", "tables", "figures"),
    "vce": ("groups", "scores", "tables", "figures"),
    "cvqa": ("tables", "figures"),
}
UNKNOWN = "not known to cfeval"
# By evaluation: the sections of params.yaml whose plugins read data of others.
_DATA_SECTIONS = {"edct": ("datasets", "pair_sets"), "cvqa": ("question_sets",), "vce": ("image_sets",)}
# Weights, which are named by their hash alone, and images, which the items have.
_NOT_TAKEN = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".npz", ".png", ".jpg", ".jpeg", ".webp")
_OF_SNAKEMAKE = ".snakemake_timestamp"
# What records put before the names of files that come with cfeval, and where the package lies in a checkout.
_BROUGHT, _CODE = "cfeval:", "src/cfeval/"


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
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _below(entry.path)
            elif entry.name != _OF_SNAKEMAKE:
                yield entry.path


def used_files(records: Iterable[str]) -> list[UsedFile]:
    """The prompts, published figures and data that steps rest on, each once; no weights and no images.

    Raises:
        InputError: one is gone, or is not the file that was used.
    """
    inputs, made = dict[str, tuple[str, bool]](), set[str]()
    for step in steps_of(records):
        made |= step["outputs"].keys()
        for name, sha256 in step["inputs"].items():
            if sha256 and not name.endswith(("/", *_NOT_TAKEN)):
                inputs[name] = (sha256, makes_tables(step) or inputs.get(name, ("", False))[1])
    hashes, files = Hashes(), []
    for name, (sha256, for_tables) in sorted(inputs.items()):
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


def manifest_text(files: Mapping[str, str]) -> str:
    """The manifest of some files, their hashes by path."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(files.items()))


def read_manifest(text: str, place: str) -> dict[str, str]:
    """The hashes of a manifest by path.

    Raises:
        InputError: it is not as `manifest_text` writes it, or names a path outside the bundle.
    """
    lines = (line.partition("  ") for line in text.splitlines())
    files = {name: sha256 for sha256, _, name in lines}
    if manifest_text(files) != text or not all(is_inside(name) for name in files):
        raise InputError(f"{place}: not a manifest as cfeval writes it; take the bundle from where it came from again")
    return files


def head_of(text: str) -> str:
    """One hash that stands for all files of a bundle: that of its manifest."""
    return hashlib.sha256(text.encode()).hexdigest()


def about_json(
    params: Params, records: Iterable[str], archives: Iterable[str], answers: Iterable[str], date: str
) -> bytes:
    """The text of `about.json`.

    Args:
        params: of the study.
        records: of its steps.
        archives: of its calls.
        answers: its record files (JSONL) that name the model which answered.
        date: when the bundle was made.
    """
    content = {
        "format": 1,
        "cfeval": __version__,
        "code": revision(),
        "date": date,
        "packages": packages(records),
        "calls": list(called(archives)),
        "answered": list(answered(answers)),
        "licences": {"cfeval": "Apache-2.0", **licences(params)},
    }
    return f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode()


def revision() -> dict[str, Any]:
    """The commit of cfeval's checkout, and whether its files were changed; both None for an installed package."""
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists() or shutil.which("git") is None:
        return {"revision": None, "changed": None}

    def git(*args: str) -> str:
        done = subprocess.run(["git", "-C", str(checkout), *args], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "Snakefile", "workflow", "requirements.lock")
    return {"revision": git("rev-parse", "HEAD") or None, "changed": bool(changed)}


def packages(records: Iterable[str]) -> dict[str, list[str]]:
    """Python and the packages that steps ran with: each version that a record names."""
    by_name: dict[str, set[str]] = {}
    for step in steps_of(records):
        for name, version in step["packages"].items():
            by_name.setdefault(name, set()).add(str(version))
    return {name: sorted(versions) for name, versions in sorted(by_name.items())}


def called(archives: Iterable[str]) -> Iterator[dict[str, Any]]:
    """How many calls went to each model outside, and what name it gave itself in its replies."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for path in archives:
        for call, _ in archive.read(Path(path)):
            host = urlsplit(call.base_url).hostname or ""
            counts[call.api, host, call.model, Response.from_json(call.reply, None).model] += 1
    for (api, host, model, reported), number in sorted(counts.items()):
        yield {"api": api, "host": host, "model": model, "reported": reported, "calls": number}


def answered(files: Iterable[str]) -> Iterator[dict[str, Any]]:
    """How many records of each file name which model, as it names itself."""
    for path in files:
        counts: Counter[str] = Counter()
        with Path(path).open(encoding="utf-8") as lines:
            counts.update(str(json.loads(line).get("model") or "") for line in lines if line.strip())
        for model, number in sorted(counts.items()):
            if model:
                yield {"file": path, "reported": model, "records": number}


def licences(params: Params) -> dict[str, str]:
    """The terms of the datasets, as the readers that come with cfeval state them."""
    terms = {}
    for evaluation, sections in _DATA_SECTIONS.items():
        for section in sections:
            for name, spec in (getattr(getattr(params, evaluation), section, None) or {}).items():
                terms[f"{evaluation}.{section}.{name}"] = _licence(section, spec.plugin)
    return terms


def _licence(family: str, plugin: str) -> str:
    """The line `License:` of the module of a plugin, which is not imported."""
    points = importlib.metadata.entry_points(group=f"{GROUP}{family}", name=plugin)
    spec = next((find_spec(point.module) for point in points), None)
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return UNKNOWN
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    lines = [line.partition("License:")[2].strip() for line in docstring.splitlines() if "License:" in line]
    return lines[0] if lines else UNKNOWN
