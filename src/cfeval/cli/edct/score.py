"""Bring verdicts, checks and right answers together: a row per item and edit, its status included."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cfeval.cli.common import BaselineFile, Out, SamplesFile, baselines_by_id, samples_by_id
from cfeval.errors import InputError
from cfeval.io.records import read_csv, read_jsonl, write_csv
from cfeval.records.edct import Arm, Check, Score, Verdict
from cfeval.studies.edct.scores import scores


def run(
    arm: Annotated[str, typer.Option(help="The arm's names, as JSON.")],
    samples: SamplesFile,
    baseline: BaselineFile,
    checks: Annotated[Path, typer.Option(help="Checks of the counterfactuals (CSV).")],
    verdicts: Annotated[Path, typer.Option(help="Verdicts (JSONL).")],
    out: Out,
) -> None:
    """Bring verdicts, checks and right answers together: a row per item and edit, its status included."""
    checked = {(row.id, row.edit): row for row in read_csv(checks, Check)}
    judged = read_jsonl(verdicts, Verdict)
    rows = scores(judged, samples_by_id(samples), baselines_by_id(baseline), checked, _arm(arm))
    write_csv(out, Score, rows)


def _arm(text: str) -> Arm:
    try:
        return Arm.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"--arm: {error.errors()[0]['msg']}; the names are {', '.join(Arm.model_fields)}") from None
