"""The verbs of human labels: draw edits and write the sheet, bring people's labels together, make their table."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, TableOut, writable
from cfeval.core.errors import InputError
from cfeval.core.files import write_text
from cfeval.core.images import load
from cfeval.core.jsonl import read_csv, stream_csv, write_csv
from cfeval.core.records import ImageRef
from cfeval.edct.files import ConditionFiles
from cfeval.edct.labelling.agreement import open_items
from cfeval.edct.labelling.records import Judged, KeyRow, Label, PairScore, edited_of, read_key, read_labels
from cfeval.edct.labelling.sheet import (
    Candidate,
    ConditionRecords,
    Drawn,
    SheetItem,
    candidates,
    draw,
    gates,
    is_pairs,
    pair_scores,
    pair_sheets,
    scored,
    sheet_csv,
    sheet_hash,
    sheet_item,
    sheet_page,
)
from cfeval.edct.labelling.table import LabelAgreementRow, render, rows
from cfeval.edct.options import IntervalOption, Results, ScoreFiles, Shards, interval_of
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.scores import Published, condition_of
from cfeval.report.files import write_table

Place = tuple[Path, ImageRef]


def run_sheet(
    scores: ScoreFiles,
    results: Results = Path("results/edct"),
    items: Annotated[int, typer.Option(min=1, max=2000, help="How many edits to draw at most.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 1,
    by_verdict: Annotated[
        bool,
        typer.Option("--by-verdict", help="Within a condition, draw as many rejected, faithful and unfaithful edits."),
    ] = False,
    shards: Shards = 1,
    out: Annotated[
        Path, typer.Option(callback=writable, help="Sheet to write: OUT.html, OUT.csv and OUT.key.csv.")
    ] = Path("labels/sheet"),
) -> None:
    """Draw edits for people to label, and write the labelling sheet: an HTML page that works offline, and a CSV.

    Both are blind: they tell neither which condition an edit comes from nor what the tool made of it. OUT.key.csv does:
    keep it from those who label, and give it to `cfeval edct labels`.
    """
    drawn = draw(_candidates(scores, partial(ConditionFiles, results, shards=shards)), items, seed, by_verdict)
    if not drawn:
        raise InputError("no edit to label: no item of these score files was scored or rejected by a gate")
    items_of: dict[Condition, set[str]] = defaultdict(set)
    for edit in drawn:
        if isinstance(edit.score, Score):
            items_of[condition_of(edit.score)].add(edit.score.id)
    files = {condition: ConditionFiles(results, condition, shards, names) for condition, names in items_of.items()}
    conditions = {condition: _records(some) for condition, some in files.items()}
    pairs = pair_sheets(results, [edit.score for edit in drawn if isinstance(edit.score, PairScore)], shards)
    shown = [
        pairs.item(edit.score)
        if isinstance(edit.score, PairScore)
        else sheet_item(conditions[condition_of(edit.score)], edit.score)
        for edit in drawn
    ]
    places = {ref.sha256: (folder, ref) for some in files.values() for folder, ref in _images(some)}
    places |= pairs.places
    page = sheet_page(shown, lambda sha256: load(*places[sha256]))
    write_csv(Path(f"{out}.key.csv"), KeyRow, _key(drawn, shown))
    write_text(Path(f"{out}.csv"), sheet_csv(shown))
    write_text(Path(f"{out}.html"), page)
    print(f"{len(drawn)} edits: give {out}.html to those who label, and keep {out}.key.csv to yourself")


def _candidates(scores: list[Path], files_of: Callable[[Condition], ConditionFiles]) -> Iterator[Candidate]:
    """All edits of some score files that people can label, as they stand there; of other files what gates said."""
    gate = lru_cache(maxsize=1)(lambda condition: gates(made for made, _ in files_of(condition).counterfactuals()))
    for file in scores:
        if is_pairs(file):
            yield from (Candidate(score) for score in pair_scores(file) if scored(score))
            continue
        for condition, scores_of_condition in groupby(stream_csv(file, Score), key=condition_of):
            yield from candidates(scores_of_condition, gate(condition.model_copy(update={"judge": ""})))


def _records(files: ConditionFiles) -> ConditionRecords:
    return ConditionRecords(
        samples={sample.id: sample for sample, _ in files.samples()},
        baselines=files.baselines(),
        instructions=files.instructions(),
        counterfactuals={(made.id, made.edit): made for made, _ in files.counterfactuals()},
        requeries=files.requeries(),
    )


def _images(files: ConditionFiles) -> Iterator[Place]:
    for sample, folder in files.samples():
        yield folder, sample.image
    for made, folder in files.counterfactuals():
        yield from (
            (folder, ref) for ref in (made.image, *(attempt.image for attempt in made.attempts)) if ref is not None
        )


def _key(drawn: list[Drawn], shown: list[SheetItem]) -> Iterator[KeyRow]:
    sheet = sheet_hash(shown)
    for number, (place, item) in enumerate(zip(drawn, shown, strict=True), start=1):
        yield KeyRow(
            **edited_of(place.score).model_dump(),
            sheet=sheet,
            item=number,
            asks=" ".join(item.asks),
            cluster=place.score.cluster,
            weight=place.weight,
            gate=place.gate,
        )


def run_labels(
    files: Annotated[
        list[Path], typer.Argument(help="What the page of the sheet saved (.json), or its CSV filled in.")
    ],
    key: Annotated[Path, typer.Option(help="The key of the sheet: NAME.key.csv.")],
    out: Out,
    adjudication: Annotated[
        list[Path] | None,
        typer.Option(help="The same, of somebody who decides where people disagree; may be repeated."),
    ] = None,
) -> None:
    """Bring the labels of several people together: a row per edit and person.

    What somebody did not answer, or could not assess, is an empty cell or says so: missing, never a 0. Items about
    which people disagree are named: let a further person decide, on the same sheet; give that file as --adjudication.
    """
    items = read_key(key)
    labels = read_labels(files, items, adjudication or ())
    write_csv(out, Label, labels)
    for (decides, rater), count in sorted(Counter((label.adjudication, label.rater) for label in labels).items()):
        print(f"{rater}: " + (f"decides about {count}" if decides else f"{count} of {len(items)} edits"))
    if waiting := open_items(labels):
        print(f"people disagree about {len(waiting)} edits, not adjudicated yet: items {', '.join(map(str, waiting))}")


def run_agreement(
    scores: ScoreFiles,
    labels: Annotated[list[Path], typer.Option(help="Labels, as `cfeval edct labels` wrote them; may be repeated.")],
    out: TableOut,
    interval: IntervalOption = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published figures (CSV); may be repeated.")
    ] = None,
) -> None:
    """Make the agreement table: how far people agree about edits and scores, and the tool with them.

    Labels count for every judge whose scores of the same edits are given. Where these are of one condition, its CCS
    over the items that nobody labelled is corrected for the judge's error.
    """
    answers = [label for file in labels for label in read_csv(file, Label)]
    judged: list[Judged] = []
    for file in scores:
        judged += pair_scores(file) if is_pairs(file) else read_csv(file, Score)
    published = [line for file in reference or () for line in read_csv(file, Published)]
    table = rows(answers, judged, interval_of(interval), published)
    write_table(out, LabelAgreementRow, table, render(table, published))
