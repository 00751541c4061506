"""Check a bundle offline: every byte of it, every link between its files, and every table made again.

What is checked comes first where others rest on it, so that the first thing that does not fit is the one that is named:
the archive and its manifest, records of steps, records of items and their calls, tables, parameters.
"""

import contextlib
import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cfeval.config import merged, parse
from cfeval.config import read as read_params
from cfeval.core.errors import InputError, ParamsError
from cfeval.core.folder import PARAMS, RESULTS
from cfeval.core.hashes import digest
from cfeval.core.record import ENDING, Step, options, read, record_of, steps
from cfeval.core.vouching import is_inside, steps_in
from cfeval.cvqa import verification as cvqa
from cfeval.edct.verification import cli as edct
from cfeval.study.causes import option_changes
from cfeval.study.recompute import differences, lacking, makes_tables
from cfeval.study.whole import Job, whole
from cfeval.vce import verification as vce
from cfeval_audit.bundle.build import CHAIN, CRATE, only_score_tables, score_faults
from cfeval_audit.bundle.contents import FULL, MANIFEST, head_of, place_of, read_manifest
from cfeval_audit.bundle.stored_zip import Reader

_RESULTS = re.compile(r"(results/(?:[A-Za-z0-9][A-Za-z0-9._-]*/)?(edct|vce|cvqa))/.+")
# The files of a bundle that no record names.
_UNRECORDED = re.compile(
    rf"{CHAIN}|{FULL}|{CRATE}|about\.json|params\.yaml|requirements\.lock|LICENSE|Snakefile|(workflow|overlays)/.+"
)
_OVERLAYS = "overlays/"
# Folders from which Snakemake takes settings: nothing of a bundle may lie there while it runs.
_OF_SNAKEMAKE = ("profiles",)


@dataclass(frozen=True)
class Unpacked:
    """A bundle in a folder: its files and, where it is redacted, those of the bundle that has everything; by path."""

    folder: Path
    files: Mapping[str, str]
    whole: Mapping[str, str]
    head: str

    @property
    def redacted(self) -> bool:
        """Whether texts and images are left out."""
        return FULL in self.files

    @property
    def results(self) -> dict[str, str]:
        """The evaluations by their folders of results."""
        matches = (_RESULTS.fullmatch(name) for name in self.files)
        return dict(sorted({match[1]: match[2] for match in matches if match}.items()))


def check(bundle: Path, limit: int = 20) -> str:
    """Check a bundle, and print what was looked at.

    Args:
        bundle: the archive.
        limit: of the faults between records, how many to print.

    Returns:
        The bundle's head: the hash of its manifest.

    Raises:
        InputError: something does not fit; its first place is named.
    """
    with TemporaryDirectory(prefix="cfeval-verify-") as place:
        unpacked = unpack(bundle, Path(place, "bundle"))
        print(f"{bundle}: {len(unpacked.files):,} files, each with the hash that the manifest names")
        tree, records = _Tree(unpacked.whole), dict[str, list[Step]]()
        for name in sorted(unpacked.files):
            if not name.endswith(ENDING) or not _RESULTS.fullmatch(name):
                continue
            try:
                records[name] = [kept.step for kept in steps_in(read(unpacked.folder / name), name)]
            except ValueError as error:
                raise InputError(f"{name}: {error}") from None
            for step in records[name]:
                _named_files_fit(name, step, tree)
        steps = [step for of_record in records.values() for step in of_record]
        made = {*records, *(path for step in steps for path in step["outputs"])}
        used = {place_of(path, sha or "") for step in steps for path, sha in step["inputs"].items()}
        folders = tuple(path for path in made if path.endswith("/"))
        for name in unpacked.files:
            if not (name in made or name in used or name.startswith(folders) or _UNRECORDED.fullmatch(name)):
                raise InputError(f"{name}: no record names it")
            match = _RESULTS.fullmatch(name)
            scores = match is not None and match[2] == "edct" and name.startswith(f"{match[1]}/scores/")
            otherwise = name in (CRATE, FULL) or (scores and CHAIN in unpacked.files)
            if not (unpacked.whole.get(name) == unpacked.files[name] or (unpacked.redacted and otherwise)):
                raise InputError(f"{name}: not the file that {FULL} names")
        print(f"{len(records):,} records of steps, each about the files that are there")
        _records(unpacked, limit)
        _tables(unpacked, [step for steps in records.values() for step in steps], Path(place, "again"))
        dry_run = Path(place, "dry-run")
        for line in parameter_lines(unpacked.folder, unpacked.files, unpacked.results, records, dry_run):
            print(line)
        print(f"fine; the bundle's head is {unpacked.head}")
        return unpacked.head


def unpack(bundle: Path, folder: Path) -> Unpacked:
    """Unpack a bundle, and compare every file with the manifest.

    Raises:
        InputError: the archive or a file of it was changed, is missing or is one too many.
    """
    files: dict[str, str] = {}
    with Reader(bundle).entries() as entries:
        text = _manifest(bundle, entries)
        wanted = read_manifest(text, f"{bundle}: {MANIFEST}")
        for name, pieces in entries:
            if name not in wanted or name in files:
                raise InputError(
                    f"{bundle}: {name}: not in the manifest; take the bundle from where it came from again"
                )
            path = folder / name
            sha256 = hashlib.sha256()
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as stream:
                    for piece in pieces:
                        sha256.update(piece)
                        stream.write(piece)
            except (FileExistsError, NotADirectoryError):
                raise InputError(f"{path.name}: in the bundle twice, as a file and as a folder") from None
            files[name] = sha256.hexdigest()
            if files[name] != wanted[name]:
                raise InputError(f"{bundle}: {name}: not the file that the manifest names (SHA-256 differs)")
    if lost := [name for name in wanted if name not in files]:
        raise InputError(f"{bundle}: {lost[0]}: the manifest names it, and it is not there")
    whole = dict(wanted)
    if FULL in wanted:
        whole = read_manifest((folder / FULL).read_text(encoding="utf-8"), f"{bundle}: {FULL}")
    return Unpacked(folder, wanted, whole, head_of(text))


def _manifest(bundle: Path, entries: Iterator[tuple[str, Iterator[bytes]]]) -> str:
    name, pieces = next(entries, ("", iter(())))
    if name != MANIFEST:
        raise InputError(f"{bundle}: no audit bundle; `cfeval audit build` makes one")
    try:
        return b"".join(pieces).decode()
    except UnicodeDecodeError:
        raise InputError(f"{bundle}: {name}: not UTF-8 text; take the bundle from where it came from again") from None


def _named_files_fit(name: str, step: Step, tree: "_Tree") -> None:
    """InputError where a file is another one than a record names; files that were never taken are passed."""
    for path, sha256 in sorted(step["outputs"].items()):
        if tree.hash_of(path) != sha256:
            raise InputError(f"{path}: not the file that {name} names")
    for path, sha256 in sorted(step["inputs"].items()):
        place = place_of(path, sha256 or "")
        there = None if place.endswith("/") else tree.hash_of(place)
        if there != sha256 and (there is not None or _RESULTS.fullmatch(place)):
            raise InputError(f"{place}: not the file that {name} names")


class _Tree:
    """Hashes of files and of folders of files, by path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files, self._names = files, sorted(files)

    def hash_of(self, path: str) -> str | None:
        """The hash as a record has it; that of a folder without files is that of no bytes."""
        return self._files.get(path) if not path.endswith("/") else digest("".join(self._lines(path)).encode())

    def _lines(self, folder: str) -> Iterator[str]:
        for at in range(bisect_left(self._names, folder), len(self._names)):
            if not (name := self._names[at]).startswith(folder):
                return
            yield f"{name.removeprefix(folder)} {self._files[name]}\n"


def _records(unpacked: Unpacked, limit: int) -> None:
    """Check what the items' records say, stage by stage, and the chain; of a redacted bundle what is left of that."""
    again = unpacked.folder.with_name(CHAIN)
    with contextlib.chdir(unpacked.folder):
        for folder, evaluation in unpacked.results.items():
            chained = evaluation == "edct" and CHAIN in unpacked.files
            if unpacked.redacted:
                faults = Counter(score_faults(Path(folder), Path(CHAIN)) if chained else ())
                if fault := next(filter(None, faults), None):
                    raise InputError(fault)
                if chained:
                    scored, plain = f"{faults.total():,} scores are those of the chain", f"{faults[None]:,}"
                    print(f"{folder}: {scored}, {plain} without their reasons")
                print(f"could not be recomputed: {folder}: what rests on texts and images, which are left out")
            elif chained:
                edct.verify(Path(folder), "", None, None, None, "", 0.0, "{}", None, again, limit)
                _same_lines(Path(CHAIN), again)
            elif evaluation == "cvqa":
                cvqa.verify(Path(folder), limit=limit)
            elif evaluation == "vce":
                vce.verify(Path(folder), limit)


def _same_lines(chain: Path, made_again: Path) -> None:
    with chain.open(encoding="utf-8") as old, made_again.open(encoding="utf-8") as new:
        for number, (line, again) in enumerate(zip(old, new, strict=False), start=1):
            if line != again:
                raise InputError(f"{CHAIN}, line {number}: not what the records give")
        if next(old, None) is not None or next(new, None) is not None:
            raise InputError(f"{CHAIN}: not as long as the records make it")


def _tables(unpacked: Unpacked, steps: Sequence[Step], scratch: Path) -> None:
    """Make every table again, and compare; say which rest on what was left out."""
    done, left = 0, list[str]()
    named: set[str] = set()
    for number, step in enumerate(filter(makes_tables, steps)):
        made = sorted(path for path in step["outputs"] if path in unpacked.files)
        named |= set(made)
        again, lost = only_score_tables(step, unpacked.results) if unpacked.redacted else step, ""
        outputs = [path for path in made if path in again["outputs"]]
        if not outputs or (lost := lacking(again, _there(unpacked, again))):
            outputs = []
        left += [f"{path} (rests on {lost or 'texts and images'})" for path in made if path not in outputs]
        if not outputs:
            continue
        for fault in differences(again, outputs, unpacked.folder, scratch / str(number), _moved(again)):
            if fault:
                raise InputError(fault)
            done += 1
    tables = [name for name in unpacked.files if _is_table(name)]
    if stray := sorted(set(tables) - named):
        raise InputError(f"{stray[0]}: no record of a step that makes tables names it")
    print(f"{done} files of tables made again, all the same" if done or not left else "no table could be made again")
    for line in sorted(left):
        print(f"could not be recomputed: {line}")


def _moved(step: Step) -> dict[str, str]:
    """Where a bundle has the files that a step found elsewhere, by the names that it has for them."""
    places = {path: place_of(path, sha or "") for path, sha in step["inputs"].items()}
    return {path: place for path, place in places.items() if path != place}


def _there(unpacked: Unpacked, step: Step) -> dict[str, str]:
    """The hashes of those files that a step rests on and that are there, by the names that it has for them."""
    moved = _moved(step)
    places = {path: moved.get(path, path) for path in step["inputs"]}
    return {path: unpacked.whole[place] for path, place in places.items() if place in unpacked.files}


def _is_table(name: str) -> bool:
    match = _RESULTS.fullmatch(name)
    return match is not None and name.startswith(f"{match[1]}/tables/") and not name.endswith(ENDING)


def parameter_lines(
    folder: Path,
    files: Collection[str],
    results: Mapping[str, str],
    records: Mapping[str, list[Step]],
    scratch: Path,
) -> Iterator[str]:
    """Compare the parameters with what the steps of each evaluation were told; yields a line about each.

    Args:
        folder: the unpacked bundle.
        files: its files by path.
        results: the evaluations by their folders of results.
        records: what the records say, by path.
        scratch: a folder to make, for the dry run.

    Raises:
        InputError: the parameters ask for something else than what was run, or cannot be used.
    """
    overlays = sorted((name for name in files if name.startswith(_OVERLAYS)), key=_number)
    if str(PARAMS) not in files:
        raise InputError(f"{PARAMS}: not in the bundle; take it from where it came from again")
    _lay_out(folder, files, [str(PARAMS), *overlays], records, scratch)
    with contextlib.chdir(scratch):
        content: Any = read_params(PARAMS)
        for name in overlays:
            content = merged(content, read_params(Path(name), overlay=True) or {})
        parse(content, " + ".join((str(PARAMS), *overlays)))
        for place, evaluation in results.items():
            own = {record: made for record, made in records.items() if record.startswith(f"{place}/")}
            name = place.rpartition("/")[0].removeprefix(RESULTS).strip("/")
            try:
                jobs = whole([PARAMS, *map(Path, overlays)], name).jobs([evaluation])
            except InputError as error:
                yield f"could not be compared: {PARAMS} with the steps of {place} ({error})"
                continue
            _same_steps(jobs, own)
            yield f"{PARAMS} asks for the {sum(map(len, own.values()))} steps that the records of {place} name"


def _lay_out(
    folder: Path, files: Collection[str], own: list[str], records: Mapping[str, list[Step]], scratch: Path
) -> None:
    """Make a folder with the parameters, and what they may name: of files that were not taken the names alone."""
    steps = [step for of_record in records.values() for step in of_record]
    used = {path for step in steps for path, sha in step["inputs"].items() if sha}
    names = {*own, *filter(_may_be_named, used)}
    for name in sorted(names & set(files)):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).symlink_to((folder / name).resolve())
    for name in sorted(names - set(files)):
        with contextlib.suppress(OSError):  # a name that a record made up
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).touch()


def _may_be_named(path: str) -> bool:
    """Whether parameters may name a file: it is inside of the study, no result, and nothing that rules Snakemake."""
    top = path.partition("/")[0]
    return is_inside(path) and not top.startswith((".", "cfeval:")) and top not in (RESULTS, *_OF_SNAKEMAKE)


def _number(name: str) -> int:
    """Where an overlay stands among those that were laid over, which its name begins with."""
    number = name.removeprefix(_OVERLAYS).partition("-")[0]
    if not number.isdecimal():
        raise ParamsError(f"{name}: its name does not begin with a number; the bundle is not one of cfeval's")
    return int(number)


def _same_steps(jobs: Collection[Job], records: Mapping[str, list[Step]]) -> None:
    job_of = {record_of(job.words): job for job in jobs}
    for name, made in sorted(records.items()):
        options_made = {step["options"]["--out"]: step["options"] for step in made}
        wanted = map(options, steps(job_of[name].words)) if name in job_of else ()
        options_wanted = {step["--out"]: step for step in wanted}
        if others := sorted(options_made.keys() ^ options_wanted.keys()):
            fault = "asks for no such step" if others[0] in options_made else "asks for one more step"
            raise InputError(f"{name}: {PARAMS} {fault}: {others[0]}; the parameters are not those of the run")
        for out, step in options_made.items():
            if change := next(option_changes(_by_name(step), _by_name(options_wanted[out])), ""):
                raise InputError(
                    f"{name}: told otherwise than {PARAMS} asks: {change}; the parameters are not those of the run"
                )
    if lost := next((name for name in job_of if name not in records), None):
        raise InputError(f"{PARAMS}: asks for {lost.removesuffix(ENDING)}, which the bundle does not have")


def _by_name(step: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("--") or "command": value for name, value in step.items()}
