"""`cfeval verify`: check a study's results by their records, results item by item, or an audit bundle; offline."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError
from cfeval.core.extras import load
from cfeval.core.folder import EVALUATIONS, check_evaluations, study_in
from cfeval.core.registry import places
from cfeval.study.whole import whole

_ANY, _STUDY = "For all", "cfeval verify [DIR]"
_RESULTS, _BUNDLE = "cfeval verify --results FOLDER", "cfeval verify BUNDLE.zip"
_DEFAULTS: dict[str, Any] = {"failed_edits": 0.0, "exams": "{}"}
"""What options are where they are not given; else empty."""


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
    of: dict[str, dict[str, Any]] = {
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
    use = _use(what, results)
    for other in of.keys() - {use}:
        if given := [option for option, value in of[other].items() if value != _DEFAULTS.get(option) and value]:
            raise InputError(f"--{given[0].replace('_', '-')} belongs to `{other}`; leave it out")
    if use == _BUNDLE:
        load(_bundle_check())(what, key, signature, tsa_root, limit)
    elif results is not None:
        verify_results(results, limit, **of[_RESULTS])
    else:
        from cfeval.study.records_check import verify_studies  # with what each use needs alone, it begins at once

        check_evaluations(evaluation)
        with study_in(what, params) as files:
            study = whole(files, name)
            all_of_them = [one for one in EVALUATIONS if getattr(study.params, one)]
            verify_studies(study, evaluation or all_of_them, limit, remove_former)


def _bundle_check() -> str:
    """The function that checks a bundle, by its name; InputError where the package that has it is not installed."""
    if place := places("bundles").get("verify"):
        return place
    raise InputError("audit bundles are checked by a package that comes with pip install 'cfeval[audit]'")


def _use(what: Path, results: Path | None) -> str:
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
    taken = ("calls", "cache") if evaluation == "cvqa" else ()
    for option, value in options.items():
        if option not in taken and value != _DEFAULTS.get(option) and value:
            shown = ", ".join(f"--{one}" for one in (*taken, "limit"))
            raise InputError(f"--{option.replace('_', '-')} is of edct; results of {evaluation} take {shown} alone")
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
    of = {"answers": "cvqa", "groups": "vce"}
    own = (name for folder, name in of.items() if (results / folder).is_dir())
    return next(own, results.name if results.name in of.values() else "edct")
