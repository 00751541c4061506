"""Make tables again, by the commands that made them, and compare every byte: of a bundle, or of results in a folder.

What is compared is what the commands write, so that a table's declaration serves here too: a new column needs no word.
"""

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from typer.main import get_command

from cfeval.audit.bundle.contents import TABLE_STAGES, is_inside, place_of, source_of
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.names import load
from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.jobs import ENDING
from cfeval.core.provenance.sidecars import Sidecar, parsed
from cfeval.cvqa.verbs import STAGES as CVQA
from cfeval.edct.verbs import STAGES as EDCT
from cfeval.vce.verbs import STAGES as VCE

STAGES = {"edct": EDCT, "vce": VCE, "cvqa": CVQA}
NOT_AGAIN = "could not be made again"


@dataclass(frozen=True)
class Made:
    """A job that made tables: its provenance record, and the files that it names as its outputs."""

    record: Sidecar
    outputs: tuple[str, ...]


def makes_tables(record: Sidecar) -> bool:
    """Whether a job's stage makes tables from records or from other tables."""
    return record.plan.stage.partition(".")[2] in TABLE_STAGES


def lacking(record: Sidecar, there: Mapping[str, str]) -> str:
    """The first input that a table rests on and that was left out of the bundle; empty where there is none.

    Args:
        record: of the table's job.
        there: the files of the bundle that are as they were, their hashes by path.
    """
    return next((path for path in sorted(record.inputs) if path not in there), "")


def differences(made: Made, folder: Path, scratch: Path) -> Iterator[str]:
    """What is wrong with each table that a job made: empty where it comes out the same again.

    Args:
        made: the job.
        folder: the unpacked bundle.
        scratch: where the table is made, a folder outside the bundle.

    Raises:
        InputError: the job's command is none that makes a table.
    """
    words = _words(made.record, scratch)
    try:
        _run(words, folder)
    except CfevalError as error:
        yield f"{made.outputs[0]}: cannot be made again ({error})"
        return
    for path in made.outputs:
        found = difference(folder / path, scratch / path)
        yield found and f"{path}: comes out different when it is made again from what it rests on: {found}"


def difference(file: Path, again: Path) -> str:
    """Where a file of a table first differs from what it comes out as; empty where both are the same.

    Of a CSV the cell is named by its line, its first cells and its column; of other texts the line.
    """
    old, new = (path.read_bytes() if path.is_file() else None for path in (file, again))
    if old == new:
        return ""
    if old is None or new is None:
        return "it is not there" if old is None else "nothing comes out"
    texts = [content.decode(errors="replace") for content in (old, new)]
    pairs = zip_longest(*(text.splitlines() for text in texts), fillvalue="")
    number, line, other = next(((n, a, b) for n, (a, b) in enumerate(pairs, start=1) if a != b), (0, "", ""))
    cell = _cell(texts, number) if file.suffix == ".csv" else ""
    return cell or (f"line {number} is {line!r}, not {other!r}" if number else "its line ends are others")


def _cell(texts: Sequence[str], number: int) -> str:
    """The first cell in which a line of a CSV differs; empty where not the cells of one row do."""
    (header, old), (head, new) = ([next(csv.reader([line]), []) for line in _lines(text, number)] for text in texts)
    if number < 2 or header != head or not len(header) == len(old) == len(new):
        return ""
    name = ", ".join(filter(None, takewhile(lambda cell: not _is_number(str(cell)), new)))
    cells = zip(header, old, new, strict=True)
    return next((f"line {number} ({name}), {column} is {a!r}, not {b!r}" for column, a, b in cells if a != b), "")


def _lines(text: str, number: int) -> tuple[str, str]:
    """The first line of a text, and the one of a number; empty where there is none."""
    lines = text.splitlines()
    return lines[0] if lines else "", lines[number - 1] if number <= len(lines) else ""


def _is_number(cell: str) -> bool:
    try:
        float(cell or "x")
    except ValueError:
        return False
    return True


def tables_again(results: Path) -> Iterator[tuple[str, str]]:
    """Make every table of an evaluation's results again, as its provenance record says.

    It is made in a scratch folder that has what its command names; what cannot be made again for want of what it
    rests on is printed, since the records next to the results tell of that too.

    Args:
        results: the folder of results, wherever it is now.

    Yields:
        For each file of a table its path, and what is wrong with it; empty where it comes out the same again.
    """
    recorded = set[Path]()
    for file in sorted((results / "tables").rglob(f"*{ENDING}")):
        with contextlib.suppress(ValueError, OSError):  # which `seal_faults` tells
            record = parsed(file.read_bytes(), file.relative_to(results).as_posix())
            recorded |= {results / record.place(path) for path in record.outputs}
            if makes_tables(record):
                yield from _table_again(results, record)
    tables = (path for path in sorted((results / "tables").rglob("*.csv")) if path not in recorded)
    for path in tables if recorded else ():
        print(f"{NOT_AGAIN}: {path} (no provenance record names it)")


def _table_again(results: Path, record: Sidecar) -> Iterator[tuple[str, str]]:
    first = str(results / record.place(min(record.outputs)))
    with TemporaryDirectory(prefix="cfeval-verify-") as place:
        folder = Path(place, "study")
        try:
            lost = _lay_out(folder, results, record)
            made = Made(record, tuple(sorted(record.outputs)))
            faults = [] if lost else list(differences(made, folder, Path(place, "again")))
        except InputError as error:
            yield first, str(error)
            return
    if lost:
        print(f"{NOT_AGAIN}: {first} ({lost})")
    for path, fault in zip(sorted(record.outputs), faults, strict=False):
        yield str(results / record.place(path)), fault.removeprefix(f"{path}: ")


def _lay_out(folder: Path, results: Path, record: Sidecar) -> str:
    """Make a folder as that of the study: links to the results, and to what a job's plan names from outside of them.

    Returns:
        What is not as it was when the table was made; empty where all is there.

    Raises:
        InputError: the record is none that cfeval writes.
    """
    if not is_inside(record.root.rstrip("/")) or not all(map(is_inside, (*record.inputs, *record.outputs))):
        raise InputError(f"{record.plan.stage}: its record names other places than a study's folder")
    _link(folder / record.root.rstrip("/"), results)
    hashes = Hashes()
    for name, sha256 in record.plan.files.items():
        if not sha256:
            continue
        if hashes.path(str(source_of(name))) != sha256:
            return f"{name} is not the file that it was made with"
        if not record.is_result(name):
            _link(folder / place_of(name, sha256), source_of(name))
    for name in record.inputs:
        if not record.is_result(name):
            _link(folder / name, Path(name))
    return next(
        (f"it rests on {name}, which is not there" for name in record.inputs if not (folder / name).exists()), ""
    )


def _link(place: Path, target: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target.resolve())


def _words(record: Sidecar, scratch: Path) -> list[str]:
    """The words of a job's command, with files where the bundle has them and its output elsewhere."""
    study, stage, *words = record.plan.command
    if f"{study}.{stage}" != record.plan.stage or stage not in TABLE_STAGES or stage not in STAGES.get(study, {}):
        raise InputError(f"{record.plan.stage}: no stage that makes a table; the bundle is not one of cfeval's")
    for name, sha256 in record.plan.files.items():
        if sha256 and (place := place_of(name, sha256)) != name:
            words = [word.replace(name, place) for word in words]
    if words[:-1].count("--out") != 1 or any(word.startswith("--out=") for word in words):
        raise InputError(
            f"{record.plan.stage}: its command does not name one output; the bundle is not one of cfeval's"
        )
    at = words.index("--out") + 1
    words[at] = str(scratch / words[at])
    return [study, stage, *words]


def _run(words: Sequence[str], folder: Path) -> None:
    """Run the command of a stage in a folder, in this process and silently; CfevalError where it refuses."""
    study, stage, *rest = words
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(load(STAGES[study][stage]))
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            get_command(app).main(args=list(rest), prog_name="cfeval", standalone_mode=False)
    except (SystemExit, typer.Exit) as ended:
        raise InputError(f"it ended with {ended}") from None
    except CfevalError:
        raise
    except Exception as error:  # what a command line of a stranger's makes of it is told, and is no defect of cfeval
        raise InputError(f"{type(error).__name__}: {' '.join(str(error).split())}") from None
