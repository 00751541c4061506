"""`cfeval verify`: check a study's results by their records, results item by item, or an audit bundle; offline."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError
from cfeval.core.extras import load
from cfeval.core.folder import EVALUATIONS, check_evaluations, study_in
from cfeval.core.record import Records, forget, option, steps
from cfeval.core.registry import places
from cfeval.core.vouching import vouched
from cfeval.study.outcomes import unscored
from cfeval.study.whole import Job, Whole, outdated, whole

_ANY, _STUDY = "For all", "cfeval verify [DIR]"
_RESULTS, _BUNDLE = "cfeval verify --results FOLDER", "cfeval verify BUNDLE.zip"
# Defaults of options that are not empty.
_DEFAULTS: dict[str, Any] = {"failed_edits": 0.0, "exams": "{}"}
# Faults of a step that are printed.
_SHOWN = 3


def _option(panel: str, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def run(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="DIR | BUNDLE",
            show_default=False,
            help="The study's folder (default: the current folder), or an audit bundle (ZIP).",
        ),
    ] = Path(),
    limit: Annotated[int, _option(_ANY, "Number of faults to print.", min=0)] = 20,
    evaluation: Annotated[
        list[str] | None, _option(_STUDY, "Only edct, vce or cvqa; may be repeated. Default: all.", "--evaluation")
    ] = None,
    params: Annotated[
        list[str] | None,
        _option(_STUDY, "Parameters laid over params.yaml, as in `cfeval run`; may be repeated.", "--params"),
    ] = None,
    name: Annotated[str, _option(_STUDY, "Name of the run with other parameters: results/NAME.", "--name")] = "",
    remove_former: Annotated[
        bool, _option(_STUDY, "Remove results of earlier parameters that nobody has changed since.", "--remove-former")
    ] = False,
    results: Annotated[
        Path | None, _option(_RESULTS, "The folder of an evaluation's results, such as results/edct.")
    ] = None,
    conditions: Annotated[
        str, _option(_RESULTS, "edct: the conditions to check, a JSON list of objects of names; empty: all.")
    ] = "",
    calls: Annotated[
        Path | None, _option(_RESULTS, "Archive of the calls; empty: calls/calls.zip of the results.")
    ] = None,
    cache: Annotated[Path | None, _option(_RESULTS, "Another place to look for calls: a response cache.")] = None,
    table: Annotated[
        list[Path] | None,
        _option(_RESULTS, "edct: tables (CSV) of one condition a row whose figures must fit; may be repeated."),
    ] = None,
    interval: Annotated[
        str, _option(_RESULTS, "edct: how tables' intervals were computed, as JSON; empty: intervals are not compared.")
    ] = "",
    failed_edits: Annotated[
        float, _option(_RESULTS, "edct: as the trust card was told, share of edits that failed unseen.", min=0, max=0.9)
    ] = 0.0,
    exams: Annotated[
        str, _option(_RESULTS, 'edct: as the tables were told, exams by judge, as JSON: {"panel": "exam.csv"}.')
    ] = "{}",
    kept: Annotated[Path | None, _option(_RESULTS, "edct: a chain written before, with which all must agree.")] = None,
    out: Annotated[
        Path | None, _option(_RESULTS, "edct: where to write the chain (JSONL): a line of hashes for each score.")
    ] = None,
    key: Annotated[
        Path | None, _option(_BUNDLE, "The public SSH key (….pub) that must have signed the bundle.")
    ] = None,
    signature: Annotated[
        Path | None, _option(_BUNDLE, "The bundle's signature; empty: next to it, with `.dsse.json`.")
    ] = None,
    tsa_root: Annotated[
        Path | None,
        _option(_BUNDLE, "Root certificate (PEM) of the authority that must have stamped the signature."),
    ] = None,
) -> None:
    """Verify results offline: a study by its records, a folder of results item by item, or an audit bundle.

    A study: every result is up to date and matches its record, every input was made by a recorded step, no file is
    unaccounted for, and something was scored. Results of earlier parameters are listed.

    A folder of results (--results): images, statuses, scores and calls match their records from step to step, and
    every table is made again; the first cell that differs is printed.

    A bundle: every byte matches the manifest, and every table can be made again from the rest.

    If anything does not match, the exit status is 2, and nothing is written or removed.
    """
    options: dict[str, dict[str, Any]] = {
        _STUDY: {
            "evaluation": evaluation,
            "params": params,
            "name": name,
            "remove_former": remove_former,
        },
        _RESULTS: {
            "conditions": conditions,
            "calls": calls,
            "cache": cache,
            "table": table,
            "interval": interval,
            "failed_edits": failed_edits,
            "exams": exams,
            "kept": kept,
            "out": out,
        },
        _BUNDLE: {"key": key, "signature": signature, "tsa_root": tsa_root},
    }
    mode = _mode(what, results)
    for other in options.keys() - {mode}:
        if given := [name for name, value in options[other].items() if value != _DEFAULTS.get(name) and value]:
            raise InputError(f"--{given[0].replace('_', '-')} belongs to `{other}`; leave it out")
    if mode == _BUNDLE:
        if (check := places("bundles").get("verify")) is None:
            raise InputError("audit bundles are checked by a package that comes with pip install 'cfeval[audit]'")
        load(check)(what, key, signature, tsa_root, limit)
    elif results is not None:
        verify_results(results, limit, **options[_RESULTS])
    else:
        check_evaluations(evaluation)
        with study_in(what, params) as files:
            study = whole(files, name)
            in_study = [name for name in EVALUATIONS if getattr(study.params, name)]
            verify_studies(study, evaluation or in_study, limit, remove_former)


def _mode(what: Path, results: Path | None) -> str:
    """The mode that the arguments select; InputError if they select two."""
    if results is None:
        return _BUNDLE if what.is_file() else _STUDY
    if what != Path():
        raise InputError(f"{what}: --results names a folder already; leave one of them out")
    return _RESULTS


def verify_results(results: Path, limit: int, **options: Any) -> None:
    """Check the results of an evaluation, item by item; the options are those of `cfeval verify`."""
    from cfeval.study.recompute import tables_again

    evaluation, conditions = evaluation_of(results), options["conditions"]
    if evaluation == "edct":
        from cfeval.edct.verification import cli as edct

        edct.verify(results, limit=limit, again=() if conditions else tables_again(results), **options)
        return
    allowed = ("calls", "cache") if evaluation == "cvqa" else ()
    for name, value in options.items():
        if name not in allowed and value != _DEFAULTS.get(name) and value:
            listed = ", ".join(f"--{other}" for other in (*allowed, "limit"))
            raise InputError(f"--{name.replace('_', '-')} is of edct; results of {evaluation} take {listed} alone")
    if evaluation == "vce":
        from cfeval.vce import verification as vce

        vce.verify(results, limit, tables_again(results))
        return
    from cfeval.cvqa import verification as cvqa

    calls = options["calls"]
    if calls and not calls.is_file():
        raise InputError(f"--calls: no file {calls}")
    cvqa.verify(results, calls, options["cache"], limit, tables_again(results))


def evaluation_of(results: Path) -> str:
    """The evaluation that results are of, by the folders that no other one has; edct where there is none of them."""
    by_folder = {"answers": "cvqa", "groups": "vce"}
    own = (name for folder, name in by_folder.items() if (results / folder).is_dir())
    return next(own, results.name if results.name in by_folder.values() else "edct")


def verify_studies(study: Whole, names: Sequence[str], limit: int, remove_former: bool) -> None:
    """Check the results of some evaluations by their records, and print what does not hold.

    Args:
        study: the study.
        names: of the evaluations, as `edct`.
        limit: how many faults of each to print.
        remove_former: whether to remove results of earlier parameters, once all else holds.

    Raises:
        InputError: something does not hold; then nothing is removed.
    """
    jobs, records = study.jobs(names), Records()
    checked = []
    for name in names:
        if not (own := [job for job in jobs if job.study == name]):
            raise InputError(f"{name}: params.yaml has no such evaluation")
        checked.append(Results(f"{study.root}/{name}", own, records))
    records.remember()
    if faults := [line for results in checked if (line := results.verdict(limit))]:
        raise InputError("; ".join(faults))
    for results in checked:
        results.conclude(limit, remove_former)


class Results:
    """The results of an evaluation, and the jobs that its parameters ask for.

    Args:
        folder: of the results.
        jobs: parents first.
        records: what is there now.
    """

    def __init__(self, folder: str, jobs: Sequence[Job], records: Records) -> None:
        self.folder, self.jobs, self.outdated, self._records = folder, jobs, outdated(jobs), records
        wanted = {option(step, "--out") for job in jobs for step in steps(job.words)}
        all_steps = vouched(Path(folder), records.hashes)
        own = [kept for kept in all_steps.steps if kept.before == f"{folder}/"]
        self._now = all_steps.only(kept for kept in own if kept.out in wanted)
        self._earlier = all_steps.only(kept for kept in own if kept.out not in wanted)
        self._moved = [kept for kept in all_steps.steps if kept.before != f"{folder}/"]
        self._strays, self._broken = all_steps.only(own).unnamed(), all_steps.broken

    def _earlier_outputs(self) -> Iterator[tuple[str, str]]:
        """The files of steps that no parameters ask for any more, each with the hash that it was made with."""
        for kept in self._earlier.steps:
            yield from kept.outputs.items()

    def faults(self) -> Iterator[str]:
        """All that does not hold, a line each."""
        by_output = {kept.out: kept for kept in self._now.steps}
        for job in self.jobs:
            own = [by_output[out] for step in steps(job.words) if (out := option(step, "--out")) in by_output]
            faults = [f"{kept.out}: {line}" for kept in own if (line := _short(self._records.faults(kept.step)))]
            yield from faults or ([f"{job.name}: {job.reason}"] if job.reason else [])
        for kept in self._now.steps:
            for path in self._now.unvouched(kept):
                yield f"{kept.out}: made from {self.folder}/{path}, which no record names"
        for path, fault in self._broken.items():
            yield f"{self.folder}/{path}: {fault}"
        for kept in self._moved:
            yield f"{self.folder}/{kept.record}: of {kept.out}, which lies elsewhere"
        for path in self._strays:
            yield f"{self.folder}/{path}: no record names it; move it out of the results"
        for path, sha in self._earlier_outputs():
            if self._earlier.hash_of(path) not in (None, sha):
                yield f"{self.folder}/{path}: made with earlier parameters and changed since; move it away"

    def verdict(self, limit: int) -> str:
        """Print what does not hold; returns a line that says what to do, empty where all holds."""
        faults = list(self.faults())
        for line in faults[:limit]:
            print(f"FAIL {line}")
        if len(faults) > limit:
            print(f"FAIL … and {len(faults) - limit} more; see --limit")
        if self.outdated:
            number = f"{len(self.outdated)} of {len(self.jobs)} results"
            return f"{self.folder}: {number} are outdated or missing; run the study again"
        if faults:
            return f"{self.folder}: {len(faults)} records do not match; see above"
        return "; ".join(unscored(self.jobs))

    def conclude(self, limit: int, remove_former: bool) -> None:
        """Print that all holds; name results of earlier parameters, or remove them."""
        earlier = [path for path, sha in self._earlier_outputs() if self._earlier.hash_of(path) == sha]
        removed = ", removed" if remove_former else ""
        for path in earlier[:limit]:
            print(f"{self.folder}/{path}: made with earlier parameters{removed}")
        if len(earlier) > limit:
            print(f"and {len(earlier) - limit} more{removed}")
        for kept in self._earlier.steps if remove_former else ():
            forget(Path(self.folder, kept.record), [kept.out])
        if earlier and not remove_former:
            print(f"{self.folder}: --remove-former removes results of earlier parameters")
        print(f"{self.folder}: all {len(self.jobs)} results are up to date, and records account for every file")


def _short(faults: Iterable[str]) -> str:
    lines = list(faults)
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
