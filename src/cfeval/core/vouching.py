"""Which files in a folder of results the records there vouch for, wherever that folder lies now.

A record names its step's outputs and inputs by hash (`cfeval.core.record`). So each input that lies in the results must
be the output of another step, by the same hash: a chain from the tables back to the items.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from cfeval.core.errors import InputError
from cfeval.core.hashes import Hashes
from cfeval.core.record import ENDING, Step, read


@dataclass(frozen=True)
class Kept:
    """A step, as a record in a folder of results tells it.

    Attributes:
        record: the record's path in the folder.
        step: what it says of the step.
        before: what came before paths in the folder when the step ran, as `results/edct/`.
    """

    record: str
    step: Step
    before: str

    @property
    def out(self) -> str:
        """Its output, as its options name it."""
        return str(self.step["options"]["--out"])

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The hashes of what it made, by path in the folder."""
        return self._in_folder("outputs")

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The hashes of those inputs that lie in the folder, by path in it."""
        return self._in_folder("inputs")

    def _in_folder(self, kind: str) -> dict[str, str]:
        files = self.step[kind].items()
        return {path.removeprefix(self.before): sha for path, sha in files if sha and path.startswith(self.before)}


def steps_in(steps: Iterable[Step], record: str) -> list[Kept]:
    """The steps of a record, as they stand in the folder in which it lies.

    Args:
        steps: what it says (`cfeval.core.record.read`).
        record: its path in the folder.

    Raises:
        ValueError: it is no record, or one of other files than those beside which it lies.
    """
    steps_of_record = [Kept(record, step, _before(step, record.removesuffix(ENDING))) for step in steps]
    if not steps_of_record:
        raise ValueError("is no record of a step")
    return steps_of_record


@dataclass(frozen=True)
class Vouched:
    """A folder of results, and steps of the records in it.

    Attributes:
        folder: the folder.
        files: every file by its path in it, but hidden ones.
        steps: what records tell.
        broken: why other records tell nothing, by path in the folder.
        hashes: of files.
    """

    folder: Path
    files: list[str]
    steps: list[Kept]
    broken: dict[str, str]
    hashes: Hashes

    def only(self, steps: Iterable[Kept]) -> "Vouched":
        """The same with some of the steps alone."""
        return Vouched(self.folder, self.files, list(steps), {}, self.hashes)

    @cached_property
    def outputs(self) -> dict[str, set[str]]:
        """The hashes by which steps name each output, by path in the folder."""
        hashes: dict[str, set[str]] = {}
        for kept in self.steps:
            for path, sha in kept.outputs.items():
                hashes.setdefault(path, set()).add(sha)
        return hashes

    def unnamed(self) -> list[str]:
        """The files that no step names, neither by itself nor by a folder that it is in; records left out."""
        return [
            path
            for path in self.files
            if not path.endswith(ENDING) and self.outputs.keys().isdisjoint([path, *_folders_of(path)])
        ]

    def unvouched(self, kept: Kept) -> list[str]:
        """Those inputs of a step that lie in the folder, and that no step names by the same hash."""
        return [
            path
            for path, sha in kept.inputs.items()
            if sha not in self.outputs.get(path, ()) and self.outputs.keys().isdisjoint(_folders_of(path))
        ]

    def hash_of(self, path: str) -> str | None:
        """The hash of a file, or of a folder of images, by its path in the folder; None where there is none."""
        try:
            return self.hashes.path(f"{self.folder}/{path}")
        except (OSError, ValueError):
            return None

    def faults(self, files: Iterable[Path] = ()) -> Iterator[tuple[Path, str]]:
        """What is wrong with each record, and each output and input in the folder that one names; empty: nothing.

        Where there is any record, each of `files` must be named by one. Inputs that lie elsewhere are left aside.
        """
        for path, fault in self.broken.items():
            yield self.folder / path, fault
        for kept in self.steps:
            for path, fault in self._faults(kept):
                yield self.folder / path, fault
        if self.steps or self.broken:
            unnamed = {self.folder / path for path in self.unnamed()}
            for file in sorted(unnamed & set(files)):
                yield file, f"no record (X{ENDING}) names it"

    def _faults(self, kept: Kept) -> Iterator[tuple[str, str]]:
        name, out = PurePosixPath(kept.record).name, kept.out.removeprefix(kept.before)
        for path, sha in kept.outputs.items():
            what = "its images are not those that" if path.endswith("/") else "is not the file that"
            yield path, "" if self.hash_of(path) == sha else f"{what} {name} names"
        unvouched = self.unvouched(kept)
        for path, sha in kept.inputs.items():
            if self.hash_of(path) != sha:
                yield out, f"was made from another {path} than lies there now"
            else:
                yield out, f"was made from {path}, which no record names" if path in unvouched else ""


def vouched(folder: Path, hashes: Hashes | None = None) -> Vouched:
    """A folder of results with all its records; by default, no hash of a file is remembered."""
    files = sorted(_files(folder))
    steps, broken = list[Kept](), dict[str, str]()
    for path in files:
        if path.endswith(ENDING):
            try:
                steps += steps_in(read(folder / path), path)
            except ValueError as error:
                broken[path] = str(error)
    return Vouched(folder, files, steps, broken, hashes or Hashes())


def is_inside(path: str) -> bool:
    """Whether a path stays in the folder that it is in."""
    parts = PurePosixPath(path)
    plain = bool(path) and not parts.is_absolute() and parts.as_posix() == path and "\\" not in path
    return plain and ".." not in parts.parts and not {"\n", "\0"} & {*path}


def _before(step: Step, stem: str) -> str:
    """What came before paths in the folder when a step ran; ValueError where STEM.made.json is not its record."""
    out, outputs = step["options"]["--out"], step["outputs"]
    hashes = [*outputs.values(), *filter(None, step["inputs"].values())]
    if not outputs or not all(isinstance(sha, str) for sha in hashes):
        raise ValueError("is no record of a step")
    for place in (out, out.rpartition("/")[0]):
        if place == stem or place.endswith(f"/{stem}"):
            own = place.removesuffix(".jsonl").removesuffix(".html")
            if all(path == place or path.startswith((f"{own}/", f"{own}.")) for path in outputs):
                before = str(place.removesuffix(stem))
                inputs = [path for path in step["inputs"] if not path.startswith("../")]  # those lie beside the study
                inside = [out, *outputs, *(path for path in inputs if path.startswith(before))]
                if any(".." in PurePosixPath(path).parts for path in inside):
                    raise ValueError("names a path with '..' in it")
                return before
    raise ValueError("tells of other files than those beside which it lies")


def _folders_of(path: str) -> list[str]:
    """The folders that a file or folder lies in, as records name them."""
    parts = path.rstrip("/").split("/")
    return [f"{'/'.join(parts[:number])}/" for number in range(1, len(parts))]


def _files(folder: Path) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = at[len(str(folder)) + 1 :]
        yield from (f"{place}/{name}" if place else name for name in names if not name.startswith("."))


# Where a link is, and what is wrong with it; empty where nothing is.
Fault = tuple[str, str]


def report_links(results: Path, conditions: int, kinds: Iterable[tuple[str, Iterable[Fault]]], limit: int) -> None:
    """Count the links of each kind, print those that do not hold, and sum up.

    Args:
        results: the folder of an evaluation's results.
        conditions: how many conditions they are of.
        kinds: the links by their kind; those of the kind `records` say whether records of steps name the files.
        limit: how many faults to print.

    Raises:
        InputError: a link does not hold.
    """
    links: Counter[str] = Counter()
    wrong = 0
    for kind, links_of_kind in kinds:
        for where, fault in links_of_kind:
            links[kind] += 1
            wrong += bool(fault)
            if fault and wrong <= limit:
                print(f"FAIL {where}: {fault}")
    counted = ", ".join(f"{kind} {count:,}" for kind, count in links.items())
    print(f"{results}: {conditions} conditions; links: {counted}")
    if wrong:
        raise InputError(f"{results}: {wrong:,} of {links.total():,} links do not hold; see above")
    print("fine" if links["records"] else "fine, but without records: none of a step names these files")
