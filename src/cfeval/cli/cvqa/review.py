"""Have drafts checked by a second model: is the question about the image, and is its answer right?"""

from typing import Annotated

import typer

from cfeval.cli.common import Offline, Out, Seed, build, heed
from cfeval.cli.cvqa.common import DraftsFile, opener
from cfeval.io.progress import track
from cfeval.io.records import count_records, read_jsonl, write_jsonl
from cfeval.records.cvqa import Draft
from cfeval.studies.cvqa.reviews import reviews


def run(
    drafts: DraftsFile,
    checker: Annotated[str, typer.Option(help="Who checks, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    offline: Offline = False,
) -> None:
    """Have drafts checked by a second model: is the question about the image, and is its answer right?"""
    heed(offline)
    who, open_picture = build("checkers", checker, "--checker"), opener(drafts)
    made = reviews(read_jsonl(drafts, Draft), lambda draft: open_picture(draft.image), who, seed)
    write_jsonl(out, track(made, count_records(drafts), "reviews"))
