"""`cfeval report`: print where a study's report is, open it, or pack it into one archive."""

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
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    archive: Annotated[
        Path | None, typer.Option("--pack", help="Write the report and its images to this ZIP file.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="With --pack: full-size images instead of thumbnails.")] = False,
    evaluation: Annotated[str, typer.Option(metavar="NAME", help="edct, vce or cvqa, if the study has several.")] = "",
    params: ParamsFiles = None,
    name: Name = "",
) -> None:
    """Print where the report is; --open shows it in a browser, --pack makes one file to send."""
    if full and archive is None:
        raise InputError("--full needs --pack FILE.zip: it selects the images of that archive")
    to = None if archive is None else archive.absolute()
    with study_in(folder, params) as files:
        study = whole(files, name)
        report = report_of(study.params, study.root, evaluation)
        if not report.exists():
            raise InputError(f"{folder / report}: no report yet; `{cfeval('run', folder)}` makes it")
        print(folder / report)
        if to is not None:
            print(f"{pack(report, to, full)} images in {archive}; open {PAGE} in it")
        if show and not webbrowser.open(report.absolute().as_uri()):
            raise InputError(f"could not start a browser; open {report.absolute()} in one")
