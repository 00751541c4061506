"""`cfeval check`: every key, plugin and option of params.yaml; of vce, also how classifiers read the user's images."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.config import Params, load, named
from cfeval.core.errors import InputError
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.study.components import check_plugins, missing_packages, used
from cfeval.study.doctor import SECONDS, look, originals_check


def run(
    folder: Folder = Path(),
    params: ParamsFiles = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long to wait for classifiers; one that takes longer is reported as slow.")
    ] = SECONDS,
) -> None:
    """Check params.yaml: every key, plugin and option.

    Of vce, also show how your images are prepared and how many of them each classifier reads rightly.
    """
    with study_in(folder, params) as files:
        checked = check_plugins(load(*files), named(files))
        missing = missing_packages(checked, named(files))
        reading_lines = [] if "vce" in missing else list(_originals(checked, named(files), seconds))
        print(f"{named(files)} is valid: {'; '.join(_conditions(checked))}")
        for line in [*(f"{study} cannot run here: {fault}" for study, fault in missing.items()), *reading_lines]:
            print(line)


def _conditions(params: Params) -> list[str]:
    """What each evaluation has."""
    lines = []
    if params.edct:
        pairs = len(params.edct.pair_conditions())
        lines.append(
            f"edct has {len(params.edct.conditions())} conditions, {params.edct.items} items of each dataset"
            + f"; {pairs} conditions of given pairs, {params.edct.items} pairs of each set" * bool(pairs)
        )
    if params.vce:
        lines.append(f"vce has {len(params.vce.all_conditions())} conditions, {params.vce.images} images of each class")
    if params.cvqa:
        builds = len(params.cvqa.builds_asked())
        lines.append(f"cvqa has {len(params.cvqa.all_conditions())} conditions and {builds} question sets to build")
    return lines


def _originals(params: Params, where: str, seconds: float) -> Iterator[str]:
    """How classifiers read the user's images; InputError where one cannot be loaded or says what is no number."""
    check = originals_check(params, used(params))
    for _, findings in look([check] if check else [], seconds):
        for finding in findings:
            if not finding.fine:
                raise InputError(f"{where}: vce.classifiers.{finding.text}")
            yield f"warning: {finding.text}" if finding.warns else finding.text
