"""Make tables again, by the step that made them, and compare every byte: of a bundle, or of results in a folder.

What is compared is what the step writes, so that a table's declaration serves here too: a new column needs no word.
"""

import contextlib
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from typer.main import get_command

from cfeval.core.errors import CfevalError, InputError
from cfeval.core.extras import load
from cfeval.core.record import STUDY, Records, Step
from cfeval.core.vouching import Kept, is_inside, vouched

NOT_AGAIN = "could not be made again"
# What makes all tables of an evaluation.
_MAKES = {study: f"cfeval.{study}.cli:run_tables" for study in ("edct", "vce", "cvqa")}
# The step that makes the tables of an evaluation.
_TABLES = "tables"
# How records call files that come with cfeval, which the step takes from the cfeval that runs it.
_BROUGHT = "cfeval:"


def makes_tables(step: Step) -> bool:
    """Whether a step makes the tables of an evaluation."""
    return step["options"].get("") in [[study, _TABLES] for study in _MAKES]


def lacking(step: Step, there: Mapping[str, str]) -> str:
    """The first input that tables rest on and that is not there as it was; empty where there is none.

    Args:
        step: that made the tables.
        there: the files that are as they were, their hashes by path; files of cfeval are those of this one.
    """
    of_cfeval = Records()
    for path, sha in sorted(step["inputs"].items()):
        if sha and sha != (of_cfeval.path(path) if path.startswith(_BROUGHT) else there.get(path)):
            return str(path)
    return ""


def differences(
    step: Step, outputs: Sequence[str], folder: Path, scratch: Path, moved: Mapping[str, str] = {}
) -> Iterator[str]:
    """What is wrong with each file that a step made: empty where it comes out the same again.

    Args:
        step: that made tables.
        outputs: those of its files that are compared, by the names that it has for them.
        folder: in which it runs: the unpacked bundle, or one that is laid out alike.
        scratch: where the tables are made, a folder outside of that.
        moved: where in the folder files lie that the step found elsewhere, by the names that it has for them.

    Raises:
        InputError: the step is none that makes tables.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    if not makes_tables(step):
        raise InputError(f"{step['options'].get('')}: no step that makes tables; the record is not one of cfeval's")
    study_file, text = scratch / "study.json", json.dumps(step["options"].get(STUDY))
    for name, place in moved.items():
        text = text.replace(json.dumps(name), json.dumps(place))
    study_file.write_text(text, encoding="utf-8")
    options: dict[str, Any] = {**step["options"], "--out": str(scratch / _TABLES), STUDY: str(study_file)}
    args = [str(word) for word in options.pop("")]
    for name, value in options.items():
        if not isinstance(value, str) or (name not in ("--out", STUDY) and not is_inside(value)):
            raise InputError(f"{name} of a step that makes tables: {value!r}; the record is not one of cfeval's")
        args.append(f"{name}={value}")
    try:
        _run(args, folder)
    except CfevalError as error:
        yield f"{outputs[0]}: cannot be made again ({error})"
        return
    made = str(step["options"]["--out"]).rstrip("/")
    for path in outputs:
        fault = difference(folder / path, scratch / _TABLES / path.removeprefix(f"{made}/"))
        yield fault and f"{path}: comes out different when it is made again from what it rests on: {fault}"


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
    numbered = zip_longest(*(text.splitlines() for text in texts), fillvalue="")
    number, line, other = next(((n, a, b) for n, (a, b) in enumerate(numbered, start=1) if a != b), (0, "", ""))
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
    """Make every table of an evaluation's results again, as the record of its step says.

    They are made in a scratch folder that has what the step names; what cannot be made again for want of what it rests
    on is printed, since the records next to the results tell of that too.

    Args:
        results: the folder of results, wherever it is now.

    Yields:
        For each file of a table its path, and what is wrong with it; empty where it comes out the same again.
    """
    results_steps = vouched(results)
    steps = [kept for kept in results_steps.steps if makes_tables(kept.step)]
    for kept in steps:
        yield from _tables_again(results, kept)
    for path in results_steps.only(steps).unnamed() if results_steps.steps else ():
        if path.startswith(f"{_TABLES}/") and path.endswith(".csv"):
            print(f"{NOT_AGAIN}: {results / path} (no record of a step that makes tables names it)")


def _tables_again(results: Path, kept: Kept) -> Iterator[tuple[str, str]]:
    names = sorted(kept.step["outputs"])
    with TemporaryDirectory(prefix="cfeval-verify-") as place:
        folder = Path(place, "study")
        try:
            lost = _lay_out(folder, results, kept)
            faults = [] if lost else list(differences(kept.step, names, folder, Path(place, "again")))
        except InputError as error:
            yield str(results / names[0].removeprefix(kept.before)), str(error)
            return
    if lost:
        print(f"{NOT_AGAIN}: {results / names[0].removeprefix(kept.before)} ({lost})")
    for path, fault in zip(names, faults, strict=False):
        yield str(results / path.removeprefix(kept.before)), fault.removeprefix(f"{path}: ")


def _lay_out(folder: Path, results: Path, kept: Kept) -> str:
    """Make a folder as that of the study: links to the results, and to what the step read outside of them.

    Returns:
        What is not as it was when the tables were made; empty where all is there.

    Raises:
        InputError: the record is none that cfeval writes.
    """
    if not is_inside(kept.before.rstrip("/")) or not all(map(is_inside, kept.step["outputs"])):
        raise InputError(f"{kept.record}: it names other places than a study's folder")
    _link(folder / kept.before.rstrip("/"), results)
    records = Records()
    for name, sha in sorted(kept.step["inputs"].items()):
        if name.startswith(kept.before):
            if sha and not (folder / name).exists():
                return f"it rests on {name}, which is not there"
        elif records.path(name) != sha:
            return f"{name} is not the file that it was made with"
        elif sha and is_inside(name):
            _link(folder / name, Path(name))
    return ""


def _link(place: Path, target: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target.resolve())


def _run(args: Sequence[str], folder: Path) -> None:
    """Run the command of a step in a folder, in this process and silently; CfevalError where it refuses."""
    study, _, *rest = args
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(load(_MAKES[study]))
    try:
        silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with contextlib.chdir(folder), silent[0], silent[1]:
            get_command(app).main(args=list(rest), prog_name="cfeval", standalone_mode=False)
    except (SystemExit, typer.Exit) as ended:
        raise InputError(f"it ended with {ended}") from None
    except CfevalError:
        raise
    except Exception as error:  # what a command line of a stranger's makes of it is told, and is no defect of cfeval
        raise InputError(f"{type(error).__name__}: {' '.join(str(error).split())}") from None
