"""Say where a study's report is, open it, and pack it into one archive."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cfeval.audit.whole import whole
from cfeval.core.errors import InputError
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.core.shell import cfeval
from cfeval.report.pack import PAGE, pack
from cfeval.study.outcome import report_of


def run(
    folder: Folder = Path(),
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    archive: Annotated[
        Path | None, typer.Option("--pack", help="Write the report into this archive (ZIP), which opens anywhere.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Images of the archive at full size, no thumbnails.")] = False,
    evaluation: Annotated[
        str, typer.Option(help="The page of this one, where the study has several: edct, vce or cvqa.")
    ] = "",
    params: ParamsFiles = None,
    name: Name = "",
) -> None:
    """Say where the report of a study is; open it with --open, mail it with --pack."""
    if full and archive is None:
        raise InputError("--full is about the images of an archive; say --pack FILE.zip too")
    to = None if archive is None else archive.absolute()
    with study_in(folder, params) as files:
        study = whole(files, name)
        report = report_of(study.params, study.root, evaluation)
        if not report.exists():
            raise InputError(f"{folder / report}: not made yet; `{cfeval('run', folder)}` makes it")
        print(folder / report)
        if to is not None:
            print(f"{pack(report, to, full)} images in {archive}; open {PAGE} in it")
        if show and not webbrowser.open(report.absolute().as_uri()):
            raise InputError(f"no browser could be started; open {report.absolute()} in one")
