"""Bring verdicts, checks and right answers together: a row per item and edit, its status included."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cfeval.cli.common import (
    BaselineFile,
    InstructionsFile,
    Out,
    SamplesFile,
    baselines_by_id,
    instructions_by_edit,
    samples_by_id,
)
from cfeval.errors import InputError
from cfeval.io.records import read_jsonl, write_csv
from cfeval.records.edct import Arm, Check, Score, Verdict
from cfeval.studies.edct.scores import scores


def run(
    arm: Annotated[str, typer.Option(help="The arm's names, as JSON.")],
    samples: SamplesFile,
    baseline: BaselineFile,
    instructions: InstructionsFile,
    checks: Annotated[Path, typer.Option(help="Checks of the counterfactuals (JSONL).")],
    verdicts: Annotated[Path, typer.Option(help="Verdicts (JSONL).")],
    out: Out,
) -> None:
    """Bring verdicts, checks and right answers together: a row per item and edit, its status included."""
    rows = scores(
        read_jsonl(verdicts, Verdict),
        samples_by_id(samples),
        baselines_by_id(baseline),
        instructions_by_edit(instructions),
        {(row.id, row.edit): row for row in read_jsonl(checks, Check)},
        _arm(arm),
    )
    write_csv(out, Score, rows)


def _arm(text: str) -> Arm:
    try:
        return Arm.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"--arm: {error.errors()[0]['msg']}; the names are {', '.join(Arm.model_fields)}") from None
