"""`cfeval audit export`: results of edct in formats that others read."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cfeval.core.errors import InputError, OutputError, nearest
from cfeval.core.files import ensure_writable, fresh_folder
from cfeval.core.folder import Name, ParamsFiles, study_in
from cfeval.study.whole import whole
from cfeval_audit.bundle.cli import valid_jobs
from cfeval_audit.interchange import every_eval_ever, items, transcripts
from cfeval_audit.interchange.study import Finished, finished, pairs_of, targets


@dataclass(frozen=True)
class Options:
    """What the user wants to have written."""

    models: Mapping[str, str]
    hub: Mapping[str, str]
    day: datetime.date
    title: str
    licence: str
    organization: str
    relationship: every_eval_ever.Relationship
    source: str
    images: bool


def _croissant(study: Finished, options: Options, out: Path) -> str:
    written = items.write(study, out, options.title, options.licence)
    return ", ".join(f"{dataset.folder}: {dataset.rows:,} rows" for dataset in written)


def _every_eval_ever(study: Finished, options: Options, out: Path) -> str:
    midnight = datetime.datetime.combine(options.day, datetime.time(), datetime.UTC)
    hub = every_eval_ever.checked(study, options.hub)
    who = every_eval_ever.Who(options.organization, options.relationship, int(midnight.timestamp()), hub)
    return f"{len(every_eval_ever.write(study, targets(study, options.models), who, out))} target models"


def _hugging_face(study: Finished, options: Options, out: Path) -> str:
    hub = every_eval_ever.checked(study, options.hub)
    models = targets(study, options.models)
    return f"{len(every_eval_ever.write_hub(study, models, hub, options.day.isoformat(), options.source, out))} files"


def _inspect(study: Finished, options: Options, out: Path) -> str:
    logs = transcripts.write_logs(study, targets(study, options.models), options.day.isoformat(), options.images, out)
    return f"{len(logs)} logs"


Write = Callable[[Finished, Options, Path], str]
# By format: what writes it, the options that it needs, and those that it also takes.
FORMATS: Mapping[str, tuple[Write, tuple[str, ...], tuple[str, ...]]] = {
    "croissant": (_croissant, ("license",), ("title",)),
    "every-eval-ever": (_every_eval_ever, ("organization",), ("relationship", "model", "dataset", "date")),
    "hugging-face": (_hugging_face, ("dataset",), ("model", "date", "source")),
    "inspect": (_inspect, (), ("model", "date", "images")),
}


def run(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    out: Annotated[Path, typer.Option(help="Folder to make; it appears whole or not at all.")],
    params: ParamsFiles = None,
    name: Name = "",
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=DEVELOPER/MODEL of a target model, where params.yaml has no such name; may be repeated."
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="NAME=OWNER/NAME: where a dataset is at the Hugging Face Hub; may be repeated."),
    ] = None,
    date: Annotated[str, typer.Option(help="The date of the results, YYYY-MM-DD; empty: today (UTC).")] = "",
    title: Annotated[str, typer.Option(help="croissant: what the card calls the items.")] = "",
    licence: Annotated[
        str, typer.Option("--license", help="croissant: the items' licence, as spdx.org/licenses names it.")
    ] = "",
    organization: Annotated[str, typer.Option(help="every-eval-ever: who publishes the results.")] = "",
    relationship: Annotated[
        str, typer.Option(help=f"every-eval-ever: to the models: {', '.join(get_args(every_eval_ever.Relationship))}.")
    ] = "",
    source: Annotated[str, typer.Option(help="hugging-face: URL of the evidence, such as an audit bundle.")] = "",
    images: Annotated[
        bool | None, typer.Option(help="inspect: whether images are in the logs, or only their hashes.")
    ] = None,
) -> None:
    """Export the results of a study in a format that other tools read.

    croissant: items, images and given pairs as a folder for Hugging Face `datasets`, with Croissant. every-eval-ever: a
    JSON file for each target model with every published figure, and one with its conversations. hugging-face:
    `.eval_results` of each model's repository. inspect: logs for `inspect view` (needs `pip install inspect-ai`).

    The same results, options and date give the same bytes. Outdated results are refused.
    You decide whether images and texts may be passed on, and under which licence.
    """
    if form not in FORMATS:
        raise InputError(f"unknown format '{form}'; {nearest(form, FORMATS)}")
    write, needed, taken = FORMATS[form]
    given: dict[str, Any] = {"model": model, "dataset": dataset, "date": date, "title": title, "license": licence}
    given |= {"organization": organization, "relationship": relationship, "source": source, "images": images}
    for option, value in given.items():
        if value not in (None, "", []) and option not in needed + taken:
            raise InputError(f"--{option} has no effect on the format {form}; leave it out")
        if value in (None, "", []) and option in needed:
            raise InputError(f"the format {form} needs --{option}; see cfeval audit export --help")
    options = _options(given)
    ensure_writable(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out}: already exists; remove it or choose another folder")
    if form == "inspect":
        transcripts.inspect_package()
    with study_in(Path(), params) as files:
        study = whole(files, name)
        evaluation = finished(study.params, study.root)
        valid_jobs(study, ["edct"])
        with fresh_folder(out) as folder:
            summary = write(evaluation, Options(**options), folder)
    print(f"{out}: {summary}")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as values; InputError where one is of another form."""
    try:
        day = datetime.date.fromisoformat(given["date"] or datetime.datetime.now(datetime.UTC).date().isoformat())
    except ValueError:
        raise InputError(f"--date: {given['date']!r} is not a date; write YYYY-MM-DD") from None
    relationships = get_args(every_eval_ever.Relationship)
    if given["relationship"] and given["relationship"] not in relationships:
        raise InputError(f"--relationship: '{given['relationship']}'; {nearest(given['relationship'], relationships)}")
    return {
        "models": pairs_of("model", given["model"] or (), "DEVELOPER/MODEL"),
        "hub": pairs_of("dataset", given["dataset"] or (), "OWNER/NAME"),
        "day": day,
        "title": given["title"] or "Items of a cfeval study",
        "licence": given["license"],
        "organization": given["organization"],
        "relationship": given["relationship"] or "other",
        "source": given["source"],
        "images": given["images"] is not False,
    }
