"""Have every question of a set answered, original and counterfactual, each in a fresh turn."""

from typing import Annotated

import typer

from cfeval.cli.common import Offline, Out, Seed, build, heed
from cfeval.cli.cvqa.common import QuestionsFile, opener
from cfeval.io.progress import track
from cfeval.io.records import count_records, read_jsonl, write_jsonl
from cfeval.records.cvqa import SIDES, Pair
from cfeval.studies.cvqa.answers import answers, asked_in_all


def run(
    questions: QuestionsFile,
    answerer: Annotated[str, typer.Option(help="Who answers, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    orders: Annotated[
        int, typer.Option(min=1, max=4, help="In how many orders of its options a question is asked.")
    ] = 1,
    offline: Offline = False,
) -> None:
    """Have every question of a set answered, original and counterfactual, each in a fresh turn."""
    heed(offline)
    open_picture = opener(questions)
    total = asked_in_all(read_jsonl(questions, Pair), orders) if orders > 1 else len(SIDES) * count_records(questions)
    pairs = read_jsonl(questions, Pair)
    who = build("answerers", answerer, "--answerer")
    said = answers(pairs, lambda pair: open_picture(pair.image), who, orders, seed)
    write_jsonl(out, track(said, total, "answers"))
