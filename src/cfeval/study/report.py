"""`cfeval report`: print where a study's report is, open it, pack it into one archive, or follow a run at work."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.errors import InputError
from cfeval.core.folder import Folder, Name, ParamsFiles, cfeval, study_in
from cfeval.report.pack import PAGE, pack
from cfeval.study.live import FOLDER, follow
from cfeval.study.outcome import report_of
from cfeval.study.whole import Whole, whole


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
    """Open a page in a browser; InputError where none can be started."""
    if not webbrowser.open(page.absolute().as_uri()):
        raise InputError(f"could not start a browser; open {page.absolute()} in one")
