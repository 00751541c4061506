"""`cfeval report`: print where a study's report is, open it, pack it into one archive, or follow a run at work.

The page of a run at work is made of the records so far, again as further jobs end, and the run is not disturbed: a
folder beneath `.cfeval/live` holds links to the finished outputs, and the tables and the page beside them. A table
shows the conditions that are complete.
"""

import os
import shutil
import time
import webbrowser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from cfeval.core.cli_options import StudyParams
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.extras import load
from cfeval.core.files import write_text
from cfeval.core.folder import Folder, Name, ParamsFiles, cfeval, study_in
from cfeval.core.record import option, outputs_of, record_of, steps
from cfeval.core.records import Record
from cfeval.edct import asked
from cfeval.edct.files import STAGES, stage_files
from cfeval.edct.tables import FIGURES
from cfeval.report.pack import PAGE, pack
from cfeval.report.page import Progress
from cfeval.study.summary import report_of
from cfeval.study.whole import Job, Whole, outdated, whole

FOLDER = Path(".cfeval/live")
# How often the browser loads the page again, and how often this looks for finished jobs.
SECONDS = 15
# Steps of the whole study, which are made here from what is there so far.
_SUMMARIES = ("tables", "figures", "report", "calls")
C = TypeVar("C", bound=Record)


def run(
    folder: Folder = Path(),
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    archive: Annotated[
        Path | None, typer.Option("--pack", help="Write the report and its images to this ZIP file.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="With --pack: full-size images instead of thumbnails.")] = False,
    evaluation: Annotated[str, typer.Option(metavar="NAME", help="edct, vce or cvqa, if the study has several.")] = "",
    live: Annotated[
        bool, typer.Option("--live", help="While the study runs: make a page of the results so far, and renew it.")
    ] = False,
    params: ParamsFiles = None,
    name: Name = "",
) -> None:
    """Print where the report is; --open shows it in a browser, --pack makes one file to send."""
    if live and archive is not None:
        raise InputError("--live and --pack exclude each other: an archive is of a finished report")
    if full and archive is None:
        raise InputError("--full needs --pack FILE.zip: it selects the images of that archive")
    to = None if archive is None else archive.absolute()
    with study_in(folder, params) as files:
        study = whole(files, name)
        report = report_of(study.params, study.root, evaluation)
        if live:
            _follow(study, folder, report, show)
            return
        if not report.exists():
            raise InputError(f"{folder / report}: no report yet; `{cfeval('run', folder)}` makes it")
        print(folder / report)
        if to is not None:
            print(f"{pack(report, to, full)} images in {archive}; open {PAGE} in it")
        if show:
            _open(report)


def _follow(study: Whole, folder: Path, report: Path, show: bool) -> None:
    """Renew the page of a run at work until it has ended, or Ctrl-C; it lies beneath `.cfeval`, not in the results."""
    evaluation = report.parent.parent.name
    page = FOLDER / study.root / f"{evaluation}.html"
    try:
        for number, (done, jobs) in enumerate(follow(study, evaluation, page, report)):
            if number == 0:
                print(folder / page)
                print("Renewing it until the run ends; Ctrl-C stops that and not the run.", flush=True)
            print(f"{done} of {jobs} jobs are done", flush=True)
            if number == 0 and show:
                _open(page)
    except KeyboardInterrupt:
        return
    print(f"report: {folder / report}")


def _open(page: Path) -> None:
    if not webbrowser.open(page.absolute().as_uri()):
        raise InputError(f"could not start a browser; open {page.absolute()} in one")


class Shown(NamedTuple):
    """What the page and its tables are made of."""

    tables: StudyParams
    report: StudyParams
    figures: Sequence[str]
    left_out: int
    """Conditions that are not complete."""


def follow(
    study: Whole, evaluation: str, page: Path, report: Path, seconds: float = SECONDS
) -> Iterator[tuple[int, int]]:
    """Make the page again whenever jobs have ended, until all have; each time yields how many have, and of how many.

    Args:
        study: the study.
        evaluation: edct, vce or cvqa.
        page: where the page goes; what it is made from lies in its folder.
        report: where the run writes the finished page.
        seconds: between two looks.
    """
    state = State(study.jobs([evaluation]))
    shown = -1
    while True:
        if len(state.done()) != shown:
            shown = len(state.done())
            write_page(study, evaluation, state.jobs, page, report, state.done())
            yield shown, len(state.jobs)
        if shown == len(state.jobs):
            return
        time.sleep(seconds)
        if state.may_be_decided_anew():
            state = State(study.jobs([evaluation]))


class State:
    """Which jobs are done: those that were up to date, and those whose record is another one since."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self._to_do = outdated(jobs)
        self._before = {job.name: _stamp(job) for job in jobs if job.name in self._to_do}

    def done(self) -> list[Job]:
        """The finished jobs, parents first."""
        return [
            job
            for job in self.jobs
            if job.name not in self._before or (_stamp(job) not in (None, self._before[job.name]))
        ]

    def may_be_decided_anew(self) -> bool:
        """Whether only such jobs are left as another dry run may find up to date: what they rest on was made alike."""
        done = {job.name for job in self.done()}
        left = [job for job in self.jobs if job.name not in done]
        return bool(left) and not any(job.reason for job in left)


def _stamp(job: Job) -> tuple[int, int] | None:
    """What tells a job's record from a later one; None where there is none."""
    try:
        state = Path(record_of(job.words)).stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino


def write_page(
    study: Whole, evaluation: str, jobs: Sequence[Job], page: Path, report: Path, done: Sequence[Job]
) -> None:
    """Write the page of the finished jobs, with tables of the complete conditions."""
    results = page.parent / evaluation
    shutil.rmtree(results, ignore_errors=True)
    _link(done, Path(study.root, evaluation), results)
    finished = {job.name for job in done}
    left = [job for job in jobs if job.name not in finished and _step(job) not in _SUMMARIES]
    shown = _SHOWN_OF[evaluation](getattr(study.params, evaluation), study.params.shards, left, results)
    for name, content in {"tables": shown.tables, "report": shown.report}.items():
        write_text(results / f"{name}.json", content.as_json())
    note = _make_tables(evaluation, shown, results)
    if not note and shown.left_out:
        subject = "One condition is" if shown.left_out == 1 else f"{shown.left_out:,} conditions are"
        note = f"{subject} not complete and in no table."
    over = len(done) == len(jobs)
    progress = Progress(
        done=len(done),
        jobs=len(jobs),
        steps=tuple(_step_counts(jobs, finished)),
        note=note,
        seconds=0 if over else SECONDS,
        finished=Path(os.path.relpath(report, page.parent)).as_posix() if over else "",
    )
    load(f"cfeval.{evaluation}.report.page:write")(shown.report, page, results, progress=progress)


def _make_tables(evaluation: str, shown: Shown, results: Path) -> str:
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as nothing, redirect_stdout(nothing):
            run_tables, run_figures = (load(f"cfeval.{evaluation}.cli:run_{name}") for name in ("tables", "figures"))
            run_tables(results / "tables.json", results / "tables", results)
            run_figures(results / "tables", list(shown.figures), results / "figures")
    except CfevalError as error:
        return f"There are no tables yet: {error}."
    return ""


def _step_counts(jobs: Sequence[Job], finished: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    every, ended = Counter(map(_step, jobs)), set(finished)
    done = Counter(_step(job) for job in jobs if job.name in ended)
    for step, number in every.items():
        yield step.replace("-", " "), done[step], number


def _step(job: Job) -> str:
    return job.words[1]


def _link(jobs: Iterable[Job], results: Path, to: Path) -> None:
    """Link the outputs of finished jobs, with their images, at the same places below another folder."""
    for job in jobs:
        if _step(job) in _SUMMARIES and _step(job) != "calls":
            continue
        for args in steps(job.words):
            out = Path(option(args, "--out"))
            outputs = map(Path, outputs_of(args)) if out.suffix else (out,)
            for path in outputs:
                place = to / path.relative_to(results)
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.is_symlink():
                    place.symlink_to(path.absolute())


def _edct(study: Any, shards: int, left: Sequence[Job], results: Path) -> Shown:
    """Tables of the complete conditions, and items of all whose images are there."""
    tables, report = asked.asked_tables(study, shards), asked.asked_report(study, shards)
    pairs = complete(report.pairs, [job for job in left if _step(job).startswith("pair-")])
    left = [job for job in left if not _step(job).startswith("pair-")]
    made = {
        name: table.model_copy(
            update={"conditions": complete(table.conditions, left), "beside": complete(table.beside, left)}
        )
        for name, table in tables.tables.items()
    }
    made = {name: table for name, table in made.items() if table.conditions}
    of_pairs = tables.pairs.model_copy(update={"conditions": pairs}) if tables.pairs and pairs else None
    begun = [
        condition
        for condition in report.conditions
        if all(file.exists() for file in stage_files(results, "items", condition, shards))
    ]
    for condition in begun:
        files = [file for stage in STAGES for file in stage_files(results, stage, condition, shards)]
        inside = results.resolve()
        for file in files:
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                assert file.parent.resolve().is_relative_to(inside), f"{file} would lie in the results"
                file.touch()
    names = (*made, *(["pairs"] if of_pairs else []))
    figures = [figure for figure in asked.figures_of(study) if FIGURES[figure].table in names]
    return Shown(
        tables.model_copy(update={"tables": made, "pairs": of_pairs, "metrics": ()}),
        report.model_copy(update={"conditions": tuple(begun), "pairs": pairs, "tables": names}),
        figures,
        len(report.conditions) + len(report.pairs) - len(complete(report.conditions, left)) - len(pairs),
    )


def _vce(study: Any, shards: int, left: Sequence[Job], _results: Path) -> Shown:
    from cfeval.vce import asked
    from cfeval.vce.tables import FIGURES as DRAWN

    return _complete_alone(asked.asked_tables(study, shards), asked.asked_report(study, shards), left, list(DRAWN))


def _cvqa(study: Any, shards: int, left: Sequence[Job], _results: Path) -> Shown:
    """The same of the sets that are complete; what language models read of replies comes with the last of it."""
    from cfeval.cvqa import step_params
    from cfeval.cvqa.tables import FIGURES as DRAWN

    tables, report = step_params.tables_params(study, shards), step_params.conditions_of(study, shards)
    sets = {condition.set for condition in complete(report.conditions, left)}
    readers = () if any(_step(job) == "readings" for job in left) else tables.readers
    tables = tables.model_copy(
        update={
            "sets": {name: facts for name, facts in tables.sets.items() if name in sets},
            "builds": tuple(name for name in tables.builds if name in sets),
            "readers": readers,
        }
    )
    return _complete_alone(tables, report, left, list(DRAWN))


def _complete_alone(tables: Any, report: Any, left: Sequence[Job], figures: Sequence[str]) -> Shown:
    """Tables and items of the complete conditions."""
    conditions = complete(report.conditions, left)
    update = {"conditions": conditions}
    missing = len(report.conditions) - len(conditions)
    return Shown(tables.model_copy(update=update), report.model_copy(update=update), figures, missing)


_SHOWN_OF = {"edct": _edct, "vce": _vce, "cvqa": _cvqa}


def complete(conditions: Sequence[C], left: Iterable[Job]) -> tuple[C, ...]:
    """The conditions for which no job is left."""
    wildcards: list[Mapping[str, str]] = [job.wildcards for job in left]

    def is_of(names: Mapping[str, str], condition: C) -> bool:
        shared = names.keys() & type(condition).model_fields.keys()
        return bool(shared) and all(names[name] == getattr(condition, name) for name in shared)

    return tuple(condition for condition in conditions if not any(is_of(names, condition) for names in wildcards))
