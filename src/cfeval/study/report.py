"""Say where a study's report is, and open it."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cfeval.audit.plan import whole
from cfeval.core.errors import InputError
from cfeval.study.folder import Folder, inside, overlay_file
from cfeval.study.outcome import report_of


def run(
    folder: Folder = Path(),
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    overlay: Annotated[list[str] | None, typer.Option("--overlay", help="As in `cfeval run`.")] = None,
    name: Annotated[str, typer.Option("--name", help="As in `cfeval run`.")] = "",
) -> None:
    """Say where the report of a study is; open it with --open."""
    with inside(folder):
        study = whole([overlay_file(one) for one in overlay or ()], name)
        report = report_of(study.params, study.root)
        if not report.exists():
            shown = "" if folder == Path() else f" {folder}"
            raise InputError(f"{folder / report}: not made yet; `cfeval run{shown}` makes it")
        print(folder / report)
        if show and not webbrowser.open(report.absolute().as_uri()):
            raise InputError(f"no browser could be started; open {report.absolute()} in one")
