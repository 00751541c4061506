"""What the verbs of the study share: options, opening the pictures that the stages pass on."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cfeval.io import pictures
from cfeval.io.pictures import Picture
from cfeval.records.common import ImageRef

QuestionsFile = Annotated[
    Path, typer.Option("--questions", help="Pairs of questions (JSONL); their pictures lie in the folder beside.")
]
AnswersFile = Annotated[Path, typer.Option("--answers", help="Answers (JSONL).")]
DraftsFile = Annotated[
    Path, typer.Option("--drafts", help="Drafted questions (JSONL); their pictures lie in the folder beside.")
]
DraftsFiles = Annotated[
    list[Path], typer.Option("--drafts", help="Drafted questions (JSONL); once for each shard, pictures beside.")
]
ReviewsFiles = Annotated[
    list[Path] | None, typer.Option("--reviews", help="Reviews of the drafts (JSONL); once for each shard.")
]


def opener(records: Path) -> Callable[[ImageRef], Picture]:
    """How to open the pictures of a record file."""
    folder = pictures.folder_of(records)
    return lambda ref: pictures.load(folder, ref)
