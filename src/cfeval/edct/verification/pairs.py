"""Do the results of given pairs belong together, and do the rows of tables follow from scores and verdicts?

What texts tell of a pair is found anew: whether the answer moved where the texts decide, right answers, and how a pair
ended. Rows are made again, and every column of them compared, for tables with one condition a row. Left aside is only
what scores do not tell: what papers printed, what is a test model and, where nobody says how they were computed,
intervals.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Record, failed, propagated
from cfeval.core.text_files import CsvFile
from cfeval.datasets.answer_scoring import answer_matches
from cfeval.datasets.pair import Pair, Side, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.answers import moved_by_text
from cfeval.edct.files import NAMES as CONDITION_NAMES
from cfeval.edct.pairs.records import (
    NAMES,
    PairBaseline,
    PairCondition,
    PairVerdict,
    baseline_files,
    item_files,
    pair_conditions_in,
    verdict_files,
)
from cfeval.edct.pairs.stages import distance
from cfeval.edct.pairs.table import PairData, PairRow, rows
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables import TABLES
from cfeval.edct.tables.scores import condition_of, label, material
from cfeval.edct.verification.chain import Exchange, Link, conversation_links, links, reading_links
from cfeval.edct.verification.stages import baseline_links, began, in_step
from cfeval.report.tables import csv_text
from cfeval.stats.intervals import Interval
from cfeval.stats.misclassification import JudgeError

STAGES = ("pair_items", "pair_baselines", "pair_verdicts")
# Columns that say what is known of test models, and what others printed.
_NOT_OF_VERDICTS = ("expected_", "within", "test_world", "paper_")


@dataclass(frozen=True)
class PairShelf:
    """The files of a condition of given pairs, or of one shard of it, by stage, and what they hold."""

    condition: PairCondition
    files: Mapping[str, Path]
    records: Mapping[str, Sequence[Any]]


def pair_shelves(results: Path) -> Iterator[PairShelf]:
    """Every condition of given pairs that has verdicts; InputError where a file is missing or broken."""
    kinds: Mapping[str, type[Record]] = dict(zip(STAGES, (Sample, PairBaseline, PairVerdict), strict=True))
    for condition, shards in pair_conditions_in(results).items():
        lists = (item_files(results, condition.pair_set, shards), baseline_files(results, condition, shards))
        for paths in zip(*lists, verdict_files(results, condition, shards), strict=True):
            files = dict(zip(STAGES, paths, strict=True))
            yield PairShelf(
                condition, files, {stage: list(read_jsonl(file, kinds[stage])) for stage, file in files.items()}
            )


def pair_links(stage: str, shelf: PairShelf) -> Iterator[Link]:
    """The links of a stage of given pairs to the stages before."""
    samples: Sequence[Sample] = shelf.records["pair_items"]
    baselines: Sequence[PairBaseline] = shelf.records["pair_baselines"]
    if stage == "pair_items":
        sides: dict[str, list[Side]] = {}
        first_of: dict[str, Pair] = {}
        for sample in samples:
            pair = pair_of(sample)
            sides.setdefault(pair.pair, []).append(pair.side)
            first = first_of.setdefault(pair.pair, pair)
            same = pair.model_copy(update={"side": first.side}) == first
            named = sample.id == f"{pair.pair}.{pair.side}"
            yield from links(
                "items",
                sample,
                "" if named else "its id is not that of its pair and side",
                "" if same else "it says something else of the pair than the item before",
            )
        for name, sides_of_pair in sides.items():
            whole = sides_of_pair in ([*first_of[name].order], [*first_of[name].order, "again"])
            fault = f"its items are {', '.join(sides_of_pair)}, not both images in their order"
            yield Link("items", (name, 0), "" if whole else fault)
    elif stage == "pair_baselines":
        yield from baseline_links(samples, baselines)
    else:
        items, conversations = (
            {sample.id: sample for sample in samples},
            {baseline.id: baseline for baseline in baselines},
        )
        verdicts: Sequence[PairVerdict] = shelf.records["pair_verdicts"]
        wanted = [pair_of(sample).pair for sample in samples if pair_of(sample).side == "before"]
        yield from in_step("pair_verdicts", [(name, 0) for name in wanted], [(verdict.id, 0) for verdict in verdicts])
        for verdict in verdicts:
            images = [f"{verdict.id}.{side}" for side in ("before", "after", "again")]
            if all(image in items and image in conversations for image in images[:2]):
                yield from links("pair_verdicts", verdict, *_faults(verdict, items, conversations, images))


def pair_text_links(stage: str, shelf: PairShelf, stored: Mapping[str, Exchange]) -> Iterator[Link]:
    """A link for each text and image that must be in a call of a conversation or verdict, asked or replied."""
    samples = {sample.id: sample for sample in shelf.records["pair_items"]}
    baselines = {record.id: record for record in shelf.records["pair_baselines"]}
    if stage == "pair_baselines":
        for name in baselines.keys() & samples.keys():
            image = samples[name].image.sha256
            yield from conversation_links(stage, baselines[name], samples[name], image, stored)
    if stage == "pair_verdicts":
        for record in shelf.records[stage]:
            for name in (f"{record.id}.before", f"{record.id}.after"):
                if name in baselines and name in samples:
                    image = samples[name].image.sha256
                    yield from reading_links(stage, record, baselines[name].explanation, image, stored)


def _faults(
    verdict: PairVerdict, items: Mapping[str, Sample], baselines: Mapping[str, PairBaseline], sides: Sequence[str]
) -> Iterator[str]:
    """What is wrong with a verdict, empty texts where nothing is."""
    pair, (first, second) = pair_of(items[sides[0]]), (baselines[side] for side in sides[:2])
    should: dict[str, object] = {name: getattr(pair, name) for name in ("kind", "natural", "first", "outside")}
    should["cluster"] = items[sides[0]].image.sha256[: len(verdict.cluster)]
    ended = next((talk for talk in (first, second) if failed(talk)), None)
    if ended is not None:
        should |= propagated(ended)
        should |= dict.fromkeys(("moved", "named_before", "named_after", "sham_before", "sham_after", "noise"))
    else:
        should |= {"correct_before": _says(first, items[sides[0]].reference)}
        should |= {"correct_after": _says(second, items[sides[1]].reference), "biased": _says(second, pair.biased)}
        should |= distance(first, second)._asdict()
        should |= {"words": len(f"{first.explanation} {second.explanation}".split())}
        asked_first, other = (first, second) if pair.first == "before" else (second, first)
        should |= {"moved": moved_by_text(asked_first.answer, other.answer)}
        again = baselines.get(sides[2])
        if again is not None and not failed(again):
            should |= {"noise": moved_by_text(asked_first.answer, again.answer)}
        yield began(verdict, "pair_verdicts")
        whole = None not in (verdict.moved, verdict.named)
        yield "" if whole != failed(verdict) else "it is ok without a ruling, or failed with all of them"
    for name, value in should.items():
        told_by_texts = value is not None or name not in ("moved", "noise") or ended is not None
        fits = not told_by_texts or getattr(verdict, name) == value
        yield "" if fits else f"{name} is {getattr(verdict, name)!r}, not {value!r}"


def _says(talk: PairBaseline, wanted: str) -> int | None:
    return int(answer_matches(talk.answer, wanted)) if wanted else None


def read_pair_table(file: Path) -> list[dict[str, str]] | None:
    """The rows of the table of given pairs; None where the file, by its columns, is another table."""
    table = CsvFile(file, (), lambda row: dict(row.cells), strict=True)
    if not {*NAMES, "phi", "n"} <= set(table.header) <= set(PairRow.model_fields):
        return None
    return list(table)


def _following(columns: Iterable[str], settings: Interval | None, left_out: tuple[str, ...]) -> set[str]:
    """The columns that follow from what is known: of intervals only where it is known how they were made."""
    follow = {column for column in columns if not column.startswith(left_out)}
    return follow if settings else {name for name in follow if name != "ci" and not name.endswith(("_lo", "_hi"))}


def pair_table_links(
    shown: Sequence[Mapping[str, str]], shelves: Sequence[PairShelf], settings: Interval | None
) -> Iterator[Link]:
    """A link for each cell of the table of given pairs that follows from verdicts.

    Args:
        settings: how intervals were computed; None: they are not compared.
    """
    verdicts: dict[PairCondition, list[PairVerdict]] = {}
    for shelf in shelves:
        verdicts.setdefault(shelf.condition, []).extend(shelf.records["pair_verdicts"])
    made = rows(list(verdicts), PairData(verdicts, settings or Interval(resamples=100)))
    header, *lines = csv.reader(csv_text(PairRow, made).splitlines())
    lines_by_key = {tuple(line[header.index(name)] for name in (*NAMES, "kind")): line for line in lines}
    follows = _following(header, settings, _NOT_OF_VERDICTS)
    for row in shown:
        key = tuple(row[name] for name in (*NAMES, "kind"))
        if key not in lines_by_key:
            yield Link("tables", ("", 0), f"{'/'.join(key)}: no verdicts make such a row")
            continue
        cells = dict(zip(header, lines_by_key[key], strict=True))
        for column, cell in row.items():
            if column in follows:
                fault = f"{'/'.join(key)}: {column} is {cell!r}, not {cells.get(column)!r}"
                yield Link("tables", ("", 0), "" if cell == cells.get(column) else fault)


_NOT_OF_SCORES = ("paper_", "test_world")
# Tables whose rows rest on more than scores, or of which a condition has several.
_OF_MORE = ("test_models", "bounds")


def of_conditions() -> list[str]:
    """The tables with one condition a row that follows from scores."""
    return [name for name, listed in TABLES.items() if issubclass(listed.row(), Condition) and name not in _OF_MORE]


def read_table(file: Path) -> tuple[str, list[dict[str, str]]]:
    """Which table a file holds, by its columns, and its rows; InputError where it has not one condition a row."""
    table = CsvFile(file, (), lambda row: dict(row.cells), strict=True)
    rows, columns = list(table), set(table.header)
    checked = of_conditions()
    names = [name for name in checked if columns <= set(TABLES[name].row().model_fields)]
    if not names or not {*CONDITION_NAMES, "n"} <= columns:
        raise InputError(f"--table: {file} has not one condition a row; {', '.join(checked)} and pairs can be checked")
    return names[0], rows


def table_links(
    name: str,
    rows: Sequence[Mapping[str, str]],
    scores: Sequence[Score],
    interval: Interval | None,
    failed_edits: float = 0.0,
    exams: Mapping[str, JudgeError] | None = None,
) -> Iterator[Link]:
    """A link for each cell that follows from scores.

    Args:
        interval: how intervals were computed; None: they are not compared.
        failed_edits: the share of edits that are known to have failed unseen, in [0, 1).
        exams: the error of judges in their exams, as far as the tables show it.
    """
    by_condition: dict[Condition, list[Score]] = {}
    for score in scores:
        by_condition.setdefault(condition_of(score), []).append(score)
    settings = {"how": interval or Interval(resamples=100), "failed_edits": failed_edits, "exams": exams or {}}
    data = material(by_condition, **settings)
    for row in rows:
        condition = Condition.model_validate({part: row[part] for part in CONDITION_NAMES})
        try:
            table = TABLES[name].load()
            header, *lines = csv.reader(csv_text(table.row, table.rows([condition], data)).splitlines())
            if not lines:
                raise InputError(f"the condition {label(condition)} is not one of the table {name}")
            cells = dict(zip(header, lines[0], strict=True))
        except InputError as error:
            yield Link("tables", ("", 0), str(error))
            continue
        follows = _following(row, interval, _NOT_OF_SCORES)
        for column, cell in row.items():
            if column in follows:
                fault = f"{label(condition)}: {column} is {cell!r}, not {cells[column]!r}"
                yield Link("tables", ("", 0), "" if cell == cells[column] else fault)
