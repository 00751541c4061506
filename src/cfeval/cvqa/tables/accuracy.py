"""Accuracy on original and counterfactual questions (C-VQA, Tables 3, 5, 6 and 7), and what needs no solver: baselines.

Also the headline figures: the rows that the page and the console begin with, and what `dvc metrics` reads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

from cfeval.core.records import Record
from cfeval.cvqa.records import AS_PUBLISHED, HEADLINE, READERS, SYNTHETIC, CvqaCondition, ExtractorName, PairType
from cfeval.cvqa.tables.items import (
    Item,
    ReadRow,
    TestSolver,
    accuracies,
    adjusted,
    arrow,
    in_short,
    items,
    kinds,
    mark,
    missing,
    noted,
    of_kind,
    range_columns,
    side_cell,
)
from cfeval.cvqa.tables.replies import CvqaTableData, Reply
from cfeval.report.tables import (
    Bounded,
    Column,
    Figure,
    Figures,
    Heading,
    Methods,
    RenderedTable,
    Table,
    cell,
    laid_out,
    p_cell,
    scored_cell,
)
from cfeval.stats.intervals import Interval, mean, rounded


class AccuracyRow(ReadRow):
    """Accuracy on original and counterfactual questions."""

    n: int
    """Pairs."""
    n_scored: Annotated[int, Heading("Scored", scored_cell, after="paper_original")]
    """Those with a score on both sides; the test rests on them."""
    images: int = 0
    """Their different images."""
    missing: Annotated[str, Heading("Missing", after="n_scored")] = ""
    """Why questions have no score, with counts of questions."""
    n_unread_original: int = 0
    """Replies that the reader could not read. `robust`: they have no score; `reference`: they count as wrong."""
    n_unread_counterfactual: int = 0
    """The same on the counterfactual side."""
    original: Annotated[Bounded, Heading("Original", partial(side_cell, name="original"))] = None
    """Accuracy on original questions that have a score, resampled by image. Bounds: over all pairs, missing scores
    wrong, or right.
    """
    counterfactual: Annotated[Bounded, Heading("Counterfactual")] = None
    """Accuracy on counterfactual questions."""
    difference: Annotated[Bounded, Heading("Difference", partial(side_cell, name="difference"))] = None
    """Counterfactual − original."""
    ci: Methods = ""
    test: str = ""
    """What `p` is from: `McNemar`, exact, over images where they have several pairs; or `bootstrap`, where scores are
    means over orders.
    """
    p: Figure = None
    """Two-sided, that the difference is 0."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader in this table."""
    paper_original: Annotated[
        Figure, Heading("Paper", lambda row: arrow(row.paper_original, row.paper_counterfactual), optional=True)
    ] = None
    """What the paper printed in this very cell, for the model that the solver's `paper` names."""
    paper_counterfactual: Figure = None
    """The same on counterfactual questions."""
    paper_difference: Figure = None
    """The same of the difference."""
    test_world: TestSolver = 0

    @property
    def alone(self) -> bool:
        """Whether the counterfactual question alone was asked, so that there is no drop.

        Where both were, the original has a figure, or at least bounds; only the baseline `negate` has none for it.
        """
        figures = (self.original, getattr(self, "original_min"))  # noqa: B009 - a column that the type adds
        return (self.kind, self.solver) != ("baseline", "negate") and figures == (None, None)


PUBLISHED = (
    "As published: original → counterfactual by C-VQA's released rules, which take the first number of a reply, any "
    "“not” as a no and else a mere “is” as a yes, and count what they cannot read as wrong."
)
"""How the released rules differ, in one sentence."""
_READING = (
    "Accuracy rests on the replies with a score, as the robust reader reads them; one that it cannot read has none. "
    "Range: the figure over all pairs, whatever the missing scores are. Difference: counterfactual − original; p: "
    "McNemar's exact test on the pairs with a score on both sides (images with several count as one), adjusted by Holm "
    f"over the table. {PUBLISHED} Unread: replies that the robust reader / the released rules cannot read, of both "
    "sides together."
)
_ALONE = " Not asked: the set has the counterfactual question alone, so that there is an accuracy and no drop."
_OPEN = (
    " Open answers are right where they say an accepted answer, and wrong where they say none: another name for the "
    "same thing counts as wrong unless the set accepts it. The released rules read none."
)
SIDES_AND_DIFFERENCE = {
    "original": "Original range",
    "counterfactual": "Counterfactual range",
    "difference": "Difference range",
}
"""The figures whose ranges readers see where scores are missing, with the headings."""
Key = tuple[str, str, str]
"""What a row of either reader is about: set, solver and type."""


def key(row: ReadRow) -> Key:
    """What a row of either reader is about."""
    return row.set, row.solver, row.type


def rows_of(
    material: CvqaTableData, table: str, conditions: Iterable[CvqaCondition], whole: bool = True
) -> list[AccuracyRow]:
    """A row for each condition, type and reader, then a set's baselines."""
    by_set: dict[str, list[CvqaCondition]] = {}
    for condition in conditions:
        by_set.setdefault(condition.set, []).append(condition)
    rows: list[AccuracyRow] = []
    for name, of_set in by_set.items():
        rows += [
            AccuracyRow.model_validate(row_figures(material, table, condition, kind, reader))
            for condition in of_set
            for kind in kinds(material.scores[condition], whole)
            for reader in READERS
        ]
        replies = [reply for condition in of_set for reply in material.scores[condition]]
        rows += [row for kind in kinds(replies, whole) for row in baselines(name, kind, replies, material.interval)]
    return adjusted(rows)


def row_figures(
    material: CvqaTableData, table: str, condition: CvqaCondition, kind: str, reader: ExtractorName
) -> Figures:
    """The fields of an `AccuracyRow`; p is not rounded yet, for Holm."""
    replies = of_kind(material.scores[condition], kind)
    pairs = items(replies, reader)
    figures = material.named(condition) | {"type": kind, "reader": reader, "missing": missing(replies, reader)}
    figures |= accuracies(pairs, material.interval)
    figures |= {"n_unread_original": sum(item.unread[0] for item in pairs)}
    figures |= {"n_unread_counterfactual": sum(item.unread[1] for item in pairs)}
    line = material.paper(table, condition.solver, kind)
    if line is not None:
        figures |= {f"paper_{name}": getattr(line, name) for name in ("original", "counterfactual", "difference")}
    return figures


class Gold(NamedTuple):
    """The right answers of a pair; `original` is None where it has no original question."""

    id: str
    image: str
    original: str | None
    counterfactual: str
    form: str = "number"
    options: int = 0


def gold(replies: Iterable[Reply]) -> list[Gold]:
    """The right answers of the pairs that any of these replies is about, in the order of ids."""
    sides: dict[str, dict[str, Reply]] = {}
    for reply in replies:
        sides.setdefault(reply.id, {}).setdefault(reply.side, reply)
    return [
        Gold(
            name,
            two.image,
            by_side["original"].gold if "original" in by_side else None,
            two.gold,
            two.form,
            two.options,
        )
        for name, by_side in sorted(sides.items())
        if (two := by_side.get("counterfactual"))
    ]


def baselines(name: str, kind: str, replies: Sequence[Reply], interval: Interval) -> list[AccuracyRow]:
    """The rows of a set and type: always the commonest answer, the opposite of the original's, chance.

    Args:
        replies: of all solvers of the set; the baselines are about the pairs that these were asked about.
    """
    pairs = gold(of_kind(replies, kind))
    if not pairs:
        return []
    forms, paired = {pair.form for pair in pairs}, all(pair.original is not None for pair in pairs)

    def commonest(answers: Iterable[str]) -> str:
        return min(Counter(answers).items(), key=lambda count: (-count[1], count[0]), default=("", 0))[0]

    original = commonest(pair.original for pair in pairs if pair.original is not None)
    counterfactual = commonest(pair.counterfactual for pair in pairs)
    # What always saying the commonest right answer of each side scores.
    majority = accuracies(
        [
            Item(
                pair.id,
                pair.image,
                None if pair.original is None else float(pair.original == original),
                float(pair.counterfactual == counterfactual),
                (False, False),
                pair.original is None,
            )
            for pair in pairs
        ],
        interval,
    )
    figures_by: dict[str, Figures] = {"majority": {k: v for k, v in majority.items() if k not in ("test", "p")}}
    if forms == {"boolean"} and paired:
        opposite = {"yes": "no", "no": "yes"}
        negated = mean(float(opposite.get(pair.original or "") == pair.counterfactual) for pair in pairs)
        figures_by["negate"] = {"counterfactual": negated}
    if forms == {"choice"}:
        chance = rounded(mean(1 / pair.options for pair in pairs))
        figures_by["chance"] = {"original": chance if paired else None, "counterfactual": chance}
    shared = {"set": name, "kind": "baseline", "type": kind, "n": len(pairs), "n_scored": len(pairs)}
    shared["images"] = len({pair.image for pair in pairs})
    return [AccuracyRow.model_validate({**shared, "solver": who, **figures}) for who, figures in figures_by.items()]


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
        "set": [("LLM", _llm_cell)] if by_llm else [],
    }
    without = [*(["set"] if len({row.set for row in rows}) < 2 else []), *(["solver"] if by_llm else [])]
    reading = _READING + (_ALONE if any(row.alone for row in rows) else "")
    reading += _OPEN if any(_is_open(row, published) for row in shown) else ""
    how, world = noted(reading)(rows)
    notes = [note for note in (how, *more, world) if note] if rows else [empty]
    return RenderedTable(name, title, *laid_out(kind, shown, added, without), tuple(notes))


def _llm_cell(row: AccuracyRow) -> str:
    """A solver's language model with the solver's name, marked where it is of the test world."""
    return f"{row.llm} ({row.solver})" + (" †" if row.test_world else "") if row.llm else mark(row)


def _is_open(row: AccuracyRow, published: Mapping[Key, AccuracyRow]) -> bool:
    """Whether a row is about open answers, which the released rules do not read."""
    other = published.get(key(row))
    return other is not None and row.counterfactual is not None and other.counterfactual is None


def _published(published: Mapping[Key, AccuracyRow], row: AccuracyRow) -> str:
    other = published.get(key(row)) if row.reader else None
    if other and other.alone:
        return cell(other.counterfactual)
    return arrow(other.original, other.counterfactual) if other else ""


def _unread(published: Mapping[Key, AccuracyRow], row: AccuracyRow) -> str:
    both = [reading_row for reading_row in (row, published.get(key(row))) if reading_row is not None]
    counts = (reading_row.n_unread_original + reading_row.n_unread_counterfactual for reading_row in both)
    return " / ".join(map(str, counts)) if row.reader else ""


def _paper_table(
    number: int,
    title: str,
    empty: str,
    wanted: Callable[[CvqaTableData, CvqaCondition, PairType], bool],
    shown: Callable[[Sequence[AccuracyRow]], Sequence[AccuracyRow]] = list,
    by_llm: bool = False,
    more: Sequence[str] = (),
) -> Table[[CvqaTableData], AccuracyRow]:
    """A table of the paper.

    Args:
        number: its number in the paper.
        title: what stands behind it.
        empty: what is said where there is no row.
        wanted: which conditions, by the type of their first reply.
        shown: the rows that readers see.
        by_llm: see `render_accuracy`; then no baselines stand below the solvers of their set.
        more: see there.
    """

    def rows(material: CvqaTableData) -> list[AccuracyRow]:
        replies_of = material.scores.items()
        conditions = [one for one, replies in replies_of if replies and wanted(material, one, replies[0].type)]
        return [row for row in rows_of(material, f"table{number}", conditions) if not by_llm or row.kind != "baseline"]

    def render(of: Sequence[AccuracyRow]) -> RenderedTable:
        heading = f"C-VQA, Table {number}: {title}"
        return render_accuracy(f"cvqa_table{number}", heading, shown(of), empty, by_llm, more)

    return Table(AccuracyRow, rows, render)


def _direct(material: CvqaTableData, condition: CvqaCondition) -> bool:
    return not material.facts(condition.solver).cot


TABLE3_EMPTY = "Empty: nobody answered a whole set of questions of these types without chain of thought."
# Whole sets of real questions, by group; and sets of other types.
TABLE3 = _paper_table(
    3,
    "original and counterfactual questions, by group",
    TABLE3_EMPTY,
    lambda material, condition, kind: (
        kind not in SYNTHETIC and not material.is_subset(condition.set) and _direct(material, condition)
    ),
)
# Drawn parts of sets, which stand in no column with whole ones.
TABLE5 = _paper_table(
    5,
    "on a drawn part of the questions",
    "Empty: nobody answered a set that is a drawn part of another.",
    lambda material, condition, kind: (
        kind not in SYNTHETIC and material.is_subset(condition.set) and _direct(material, condition)
    ),
    more=["A drawn part of the set: not to be compared with figures of the whole (C-VQA, Table 5)."],
)
# The same programs' surface and vision, written for by other language models.
TABLE6 = _paper_table(
    6,
    "programs by the language model that writes them",
    "Empty: no solver writes programs.",
    lambda material, condition, _: (
        material.facts(condition.solver).kind == "program" and not material.is_subset(condition.set)
    ),
    shown=in_short,
    by_llm=True,
)
TABLE7_EMPTY = "Empty: nobody answered synthetic puzzles without chain of thought."
TABLE7_NOTE = (
    "The paper has no rule that reads letters; here the released rules take the first letter that stands alone, else "
    "the only option whose value is named."
)
# Synthetic puzzles, by template and over all; of baselines readers see the latter.
TABLE7 = _paper_table(
    7,
    "synthetic puzzles",
    TABLE7_EMPTY,
    lambda material, condition, kind: kind in SYNTHETIC and _direct(material, condition),
    shown=lambda rows: [row for row in rows if row.kind != "baseline" or row in in_short(rows)],
    more=[TABLE7_NOTE],
)
SHOWN = ("table3", "table7", "table5")
"""The tables whose rows a page and a run's last lines show."""


class Shown(NamedTuple):
    """The row of a set, solver and type, and the same by the released rules."""

    row: AccuracyRow
    published: AccuracyRow | None


def shown(tables: Mapping[str, Sequence[AccuracyRow]]) -> list[Shown]:
    """Each set and solver by the robust reader: all types together where a table has that, else each type.

    Baselines are left out, and a drawn part of a set where the solver answered whole ones. Solvers that a user named
    come before built-in ones.

    Args:
        tables: rows by the name of the table, as far as there are any.
    """
    rows = [row for name in SHOWN[:2] for row in tables.get(name, ())]
    of_whole_sets = {row.solver for row in rows if row.kind != "baseline"}
    rows += [row for row in tables.get(SHOWN[2], ()) if row.solver not in of_whole_sets]
    published = {key(row): row for row in rows if row.reader == AS_PUBLISHED}
    solver_rows = [row for row in rows if row.kind != "baseline" and row.reader == HEADLINE]
    together = {(row.set, row.solver) for row in solver_rows if row.type == "all"}
    chosen = [row for row in solver_rows if (row.type == "all") == ((row.set, row.solver) in together)]
    return [Shown(row, published.get(key(row))) for row in sorted(chosen, key=lambda row: row.test_world)]


def metrics(tables: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, float]]:
    """Accuracy on counterfactual questions by set, solver and type, and how many drafts built sets accepted.

    Of puzzles all types together; baselines are left out.
    """
    figures: dict[str, dict[str, float]] = {}
    for name, names in (("table3", ("set", "solver", "type")), ("table7", ("set", "solver"))):
        rows: Sequence[Any] = tables.get(name, ())
        if name in tables:
            figures[name] = {
                "/".join(getattr(row, field) for field in names): row.counterfactual
                for row in rows
                if row.kind != "baseline" and row.reader == HEADLINE and row.counterfactual is not None
                if (row.type == "all") == (name == "table7")
            }
    if "builds" in tables:
        builds: Sequence[Any] = tables["builds"]
        figures["builds"] = {row.set: row.n_accepted for row in builds if row.type == "all"}
    return figures
