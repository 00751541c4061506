"""Bring verdicts, checks and right answers together: a row per item and edit, its status included."""

from typing import Annotated

import typer
from pydantic import ValidationError

from cfeval.cli.common import (
    BaselineFile,
    ChecksFile,
    InstructionsFile,
    Out,
    SamplesFile,
    VerdictsFile,
    baselines_by_id,
    checks_by_edit,
    instructions_by_edit,
    samples_by_id,
)
from cfeval.errors import InputError
from cfeval.io.records import read_jsonl, write_csv
from cfeval.records.edct import Arm, Score, Verdict
from cfeval.studies.edct.scores import scores


def run(
    arm: Annotated[str, typer.Option(help="The arm's names, as JSON.")],
    samples: SamplesFile,
    baseline: BaselineFile,
    instructions: InstructionsFile,
    checks: ChecksFile,
    verdicts: VerdictsFile,
    out: Out,
) -> None:
    """Bring verdicts, checks and right answers together: a row per item and edit, its status included."""
    rows = scores(
        read_jsonl(verdicts, Verdict),
        samples_by_id(samples),
        baselines_by_id(baseline),
        instructions_by_edit(instructions),
        checks_by_edit(checks),
        _arm(arm),
    )
    write_csv(out, Score, rows)


def _arm(text: str) -> Arm:
    try:
        return Arm.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"--arm: {error.errors()[0]['msg']}; the names are {', '.join(Arm.model_fields)}") from None
