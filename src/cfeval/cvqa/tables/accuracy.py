"""Accuracy on original and counterfactual questions (C-VQA, Tables 3, 5, 6 and 7): the rows, and how they look."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from cfeval.cvqa.records import AS_PUBLISHED, READERS, SYNTHETIC, CvqaCondition, ExtractorName, PairType
from cfeval.cvqa.tables.baselines import baselines
from cfeval.cvqa.tables.cells import arrow, mark_llm, range_columns, world
from cfeval.cvqa.tables.items import accuracies, in_short, items, kinds, missing, of_kind
from cfeval.cvqa.tables.replies import AccuracyRow, CvqaTableData, ReadRow
from cfeval.report.columns import Column, laid_out
from cfeval.report.tables import Figures, RenderedTable, Table, cell, intervals
from cfeval.stats.intervals import rounded
from cfeval.stats.paired import holm

OPEN = (
    " Open answers are right where they say an accepted answer, and wrong where they say none: another name for the "
    "same thing counts as wrong unless the set accepts it. The released rules read none."
)
"""What is said where answers are open."""
ALONE = " Not asked: the set has the counterfactual question alone, so that there is an accuracy and no drop."
READING = (
    "Accuracy rests on the replies with a score, as the robust reader reads them; one that it cannot read has none. "
    "Range: the figure over all pairs, whatever the missing scores are. Difference: counterfactual − original; p: "
    "McNemar's exact test on the pairs with a score on both sides (images with several count as one), adjusted by Holm "
    "over the table. "
)
PUBLISHED = (
    "As published: original → counterfactual by C-VQA's released rules, which take the first number of a reply, any "
    "“not” as a no and else a mere “is” as a yes, and count what they cannot read as wrong."
)
"""How the released rules differ, in one sentence."""
UNREAD = " Unread: replies that the robust reader / the released rules cannot read, of both sides together."
SIDES_AND_DIFFERENCE = {
    "original": "Original range",
    "counterfactual": "Counterfactual range",
    "difference": "Difference range",
}
"""The figures whose ranges readers see where scores are missing, with the headings."""
Row = TypeVar("Row", bound=AccuracyRow)


def rows_of(
    material: CvqaTableData, table: str, conditions: Iterable[CvqaCondition], whole: bool = True
) -> list[AccuracyRow]:
    """A row for each condition, type and reader, then a set's baselines."""
    of_set: dict[str, list[CvqaCondition]] = {}
    for condition in conditions:
        of_set.setdefault(condition.set, []).append(condition)
    found: list[AccuracyRow] = []
    for name, some in of_set.items():
        replies = [reply for condition in some for reply in material.scores[condition]]
        found += [row for condition in some for row in _condition_rows(material, table, condition, whole)]
        found += [row for kind in kinds(replies, whole) for row in baselines(name, kind, replies, material.interval)]
    return adjusted(found)


def row_figures(
    material: CvqaTableData, table: str, condition: CvqaCondition, kind: str, reader: ExtractorName
) -> Figures:
    """The fields of an `AccuracyRow`; p is not rounded yet, for Holm."""
    replies = of_kind(material.scores[condition], kind)
    of = items(replies, reader)
    figures = named(material, condition) | {"type": kind, "reader": reader} | accuracies(of, material.interval)
    figures |= {"missing": missing(replies, reader), "n_unread_original": sum(item.unread[0] for item in of)}
    figures |= {"n_unread_counterfactual": sum(item.unread[1] for item in of)}
    line = material.paper(table, condition.solver, kind)
    if line is not None:
        figures |= {f"paper_{name}": getattr(line, name) for name in ("original", "counterfactual", "difference")}
    return figures


def named(material: CvqaTableData, condition: CvqaCondition) -> Figures:
    """Who answered what."""
    facts = material.facts(condition.solver)
    figures: Figures = {"set": condition.set, "solver": condition.solver, "kind": facts.kind, "llm": facts.llm}
    return figures | {"test_world": int(facts.test_world)}


def adjusted(rows: Sequence[Row]) -> list[Row]:
    """With `p_holm`, over the rows of each reader, and p rounded."""
    holms = {reader: iter(holm([row.p for row in rows if row.reader == reader])) for reader in (*READERS, "")}
    return [row.model_copy(update={"p_holm": rounded(next(holms[row.reader])), "p": rounded(row.p)}) for row in rows]


def render_accuracy(
    name: str,
    title: str,
    rows: Sequence[AccuracyRow],
    empty: str,
    by_llm: bool = False,
    more: Sequence[str] = (),
    kind: type[AccuracyRow] = AccuracyRow,
    ranges: Mapping[str, str] = SIDES_AND_DIFFERENCE,
) -> RenderedTable:
    """The table for readers: a row a solver and type by the robust reader, the released rules in a column beside.

    Args:
        by_llm: whether solvers are named by the language model that writes their programs.
        more: further notes.
        kind: the record of the rows.
        ranges: headings of the figures whose ranges are shown where scores are missing.
    """
    shown = [row for row in rows if row.reader != AS_PUBLISHED]
    published = {key(row): row for row in rows if row.reader == AS_PUBLISHED}
    added: dict[str, list[Column]] = {
        "difference": range_columns(shown, ranges),
        "p_holm": [("As published", partial(_published, published)), ("Unread", partial(_unread, published))],
    }
    added |= {"set": [("LLM", mark_llm)]} if by_llm else {}
    without = (*(() if len({row.set for row in rows}) > 1 else ("set",)), *(("solver",) if by_llm else ()))
    note = intervals(rows) + READING + PUBLISHED + UNREAD
    note += ALONE if any(row.alone for row in rows) else ""
    note += OPEN if any(_is_open(row, published) for row in shown) else ""
    notes = (note, *more, *world(rows)) if rows else (empty,)
    return RenderedTable(name, title, *laid_out(kind, shown, added, without), notes)


def key(row: ReadRow) -> tuple[str, str, str]:
    """What a row of either reader is about."""
    return row.set, row.solver, row.type


def _condition_rows(material: CvqaTableData, table: str, condition: CvqaCondition, whole: bool) -> list[AccuracyRow]:
    return [
        AccuracyRow.model_validate(row_figures(material, table, condition, kind, reader))
        for kind in kinds(material.scores[condition], whole)
        for reader in READERS
    ]


def _is_open(row: AccuracyRow, published: Mapping[tuple[str, str, str], AccuracyRow]) -> bool:
    """Whether a row is about open answers, which the released rules do not read."""
    other = published.get(key(row))
    return other is not None and row.counterfactual is not None and other.counterfactual is None


def _published(published: Mapping[tuple[str, str, str], AccuracyRow], row: AccuracyRow) -> str:
    """Both accuracies by the released rules."""
    other = published.get(key(row)) if row.reader else None
    if other and other.alone:
        return cell(other.counterfactual)
    return arrow(other.original, other.counterfactual) if other else ""


def _unread(published: Mapping[tuple[str, str, str], AccuracyRow], row: AccuracyRow) -> str:
    """How many replies either reader could not read, of both sides together."""
    both = [one for one in (row, published.get(key(row))) if one is not None]
    counts = (one.n_unread_original + one.n_unread_counterfactual for one in both)
    return " / ".join(map(str, counts)) if row.reader else ""


def _table(
    name: str,
    title: str,
    empty: str,
    wanted: Callable[[CvqaTableData, CvqaCondition, PairType], bool],
    shown: Callable[[Sequence[AccuracyRow]], Sequence[AccuracyRow]] = list,
    of_sets: bool = True,
    by_llm: bool = False,
    more: Sequence[str] = (),
) -> Table[[CvqaTableData], AccuracyRow]:
    """A table of the paper.

    Args:
        name: such as `table3`.
        title: what stands behind `Table 3:`.
        empty: what is said where there is no row.
        wanted: which conditions, by the type of their first reply.
        shown: the rows that readers see.
        of_sets: whether baselines stand below the solvers of their set.
        by_llm: see `render_accuracy`.
        more: see there.
    """

    def rows(material: CvqaTableData) -> list[AccuracyRow]:
        conditions = [
            condition for condition, of in material.scores.items() if of and wanted(material, condition, of[0].type)
        ]
        return [row for row in rows_of(material, name, conditions) if of_sets or row.kind != "baseline"]

    def render(of: Sequence[AccuracyRow]) -> RenderedTable:
        heading = f"C-VQA, Table {name.removeprefix('table')}: {title}"
        return render_accuracy(f"cvqa_{name}", heading, shown(of), empty, by_llm, more)

    return Table(row=AccuracyRow, rows=rows, render=render)


def _direct(material: CvqaTableData, condition: CvqaCondition) -> bool:
    """Whether it answers without chain of thought."""
    return not material.facts(condition.solver).cot


TABLE3_EMPTY = "Empty: nobody answered a whole set of questions of these types without chain of thought."
TABLE3 = _table(
    "table3",
    "original and counterfactual questions, by group",
    TABLE3_EMPTY,
    lambda material, condition, kind: (
        kind not in SYNTHETIC and not material.is_subset(condition.set) and _direct(material, condition)
    ),
)
"""Whole sets of real questions, by group; and sets of other types."""
TABLE5 = _table(
    "table5",
    "on a drawn part of the questions",
    "Empty: nobody answered a set that is a drawn part of another.",
    lambda material, condition, kind: (
        kind not in SYNTHETIC and material.is_subset(condition.set) and _direct(material, condition)
    ),
    more=["A drawn part of the set: not to be compared with figures of the whole (C-VQA, Table 5)."],
)
"""Drawn parts of sets, which stand in no column with whole ones."""
TABLE6 = _table(
    "table6",
    "programs by the language model that writes them",
    "Empty: no solver writes programs.",
    lambda material, condition, _: (
        material.facts(condition.solver).kind == "program" and not material.is_subset(condition.set)
    ),
    shown=in_short,
    of_sets=False,
    by_llm=True,
)
"""The same programs' surface and vision, written for by other language models."""
TABLE7_EMPTY = "Empty: nobody answered synthetic puzzles without chain of thought."
TABLE7_NOTE = (
    "The paper has no rule that reads letters; here the released rules take the first letter that stands alone, else "
    "the only option whose value is named."
)
TABLE7 = _table(
    "table7",
    "synthetic puzzles",
    TABLE7_EMPTY,
    lambda material, condition, kind: kind in SYNTHETIC and _direct(material, condition),
    shown=lambda of: [row for row in of if row.kind != "baseline" or row in in_short(of)],
    more=[TABLE7_NOTE],
)
"""Synthetic puzzles, by template and over all; of baselines readers see the latter."""
