"""What a step that sees a whole study is told of it: a JSON file, which the workflow writes; a record holds all of it.

It holds just what the step needs, so that no other parameter makes the step's results stale.
"""

from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from cfeval.core.cli_options import existing
from cfeval.core.errors import InputError


class Told(BaseModel):
    """Parameters of a step; unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def as_json(self) -> str:
        """The text of the file: the same for the same parameters."""
        return self.model_dump_json(exclude_defaults=True)


T = TypeVar("T", bound=Told)
StudyFile = Annotated[
    Path, typer.Option("--study", callback=existing, help="What the step needs of the study's parameters (JSON).")
]


def read_told(file: Path, kind: type[T]) -> T:
    """What a file tells; InputError where it is of another kind."""
    try:
        return kind.model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{file}: {place}: {first['msg']}; the workflow writes this file: snakemake -n -p") from None
