"""Scores of a made-up study."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from cfeval.core.jsonl import write_csv
from cfeval.core.records import Status
from cfeval.core.shards import shard_of
from cfeval.edct.asked import AskedTable, AskedTables
from cfeval.edct.cli import run_tables
from cfeval.edct.files import stage_files
from cfeval.edct.protocols.rules import CONTROLS, EDITOR_NULL, NULL_EDIT, RULES
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.scores import Row, TableData, condition_of, material
from cfeval.stats.intervals import Interval

HOW = Interval(resamples=200)
_names = attrgetter(*Condition.model_fields)
GROUNDED = Condition(
    dataset="world", vlm="grounded", writer="grammar", protocol="edct-2025", editor="scene", judge="grammar"
)


def condition(**names: str) -> Condition:
    """The grounded condition with other names."""
    return GROUNDED.model_copy(update=names)


SAID = {"by_text": 1, "implied": 1, "implied_blank": 1, "sham_edit": 0}
"""Of cited edits: what the texts, the writer and the verifier say where all is well."""


def score(of: Condition, item: str, pcs: int = 1, ncc: int = 1, **fields: object) -> Score:
    """A scored edit; `pcs` and `ncc` are the two scores of the condition's protocol, whatever they are called there."""
    bits: dict[str, object] = dict(zip(RULES[of.protocol].scores, (pcs, ncc), strict=True))
    bits |= {"by_text": 1} if of.protocol in CONTROLS else {"ccs": pcs * ncc, **SAID}
    return Score.model_validate({**of.model_dump(), "id": item, **bits, **fields})


def failed(of: Condition, item: str, status: Status, **fields: object) -> Score:
    """An edit that ended in a failure."""
    return Score.model_validate({**of.model_dump(), "id": item, "status": status, "reason": "why", **fields})


def scores(of: Condition, ones: int, zeros: int) -> list[Score]:
    """So many faithful and unfaithful items."""
    return [score(of, f"i{i:03d}", pcs=int(i < ones)) for i in range(ones + zeros)]


def chain(of: Condition, item: str, *firsts: int | Status, **fields: object) -> list[Score]:
    """The edits of an item: the first score of each (the second is 1), or why it has none."""
    return [
        failed(of, item, first, edit=edit, **fields)
        if isinstance(first, Status)
        else score(of, item, first, edit=edit, **fields)
        for edit, first in enumerate(firsts, 1)
    ]


def by_condition(given: Iterable[Score]) -> dict[Condition, list[Score]]:
    """Scores by their conditions."""
    found: dict[tuple[str, ...], list[Score]] = {}
    for one in given:
        found.setdefault(_names(one), []).append(one)
    return {condition_of(rows[0]): rows for rows in found.values()}


def made_of(given: Iterable[Score], how: Interval = HOW, **settings: object) -> TableData:
    """What a table is made from; null edits by the editor are as the others where none is given."""
    found = by_condition(given)
    for one, rows in list(found.items()):
        by_editor = one.model_copy(update={"protocol": EDITOR_NULL})
        if one.protocol == NULL_EDIT and by_editor not in found:
            same = {"protocol": EDITOR_NULL, "sham": None, "swapped": None, "reworded": None}
            found[by_editor] = [row.model_copy(update=same) for row in rows]
    return material(found, how=how, **settings)


def write_scores(results: Path, given: Iterable[Score], shards: int = 1) -> None:
    """Scores where the workflow puts them, each condition's cut into so many files."""
    for one, rows in by_condition(given).items():
        for number, file in enumerate(stage_files(results, "scores", one, shards)):
            write_csv(file, Score, [row for row in rows if shard_of(row.id, shards) == number])


def write_tables(out: Path, results: Path, tables: Mapping[str, AskedTable], **settings: object) -> None:
    """Have tables made into a folder, as the workflow asks for them."""
    asked = AskedTables(tables=tables, **{"interval": Interval(resamples=100), **settings})
    with TemporaryDirectory() as folder:
        study = Path(folder, "study.json")
        study.write_text(asked.as_json())
        run_tables(study, out, results)


def rows_of(given: Iterable[Score]) -> list[Row]:
    """The scores of one condition as tables take them."""
    [found] = made_of(given).scores.values()
    return list(found)
