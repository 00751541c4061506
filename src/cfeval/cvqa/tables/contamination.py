"""Does a model know the published questions? Its accuracy on them beside that on a fresh draw that nobody has seen."""

from collections.abc import Sequence
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.cvqa.records import HEADLINE, READERS, SIDES, CvqaCondition, ExtractorName
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import mark, range_columns, world
from cfeval.cvqa.tables.items import (
    Item,
    both_sides,
    bounds,
    difference_of,
    in_short,
    items,
    kinds,
    of_kind,
    side_values,
)
from cfeval.cvqa.tables.replies import CvqaTableData
from cfeval.report.columns import Bounded, Heading, TableRow, laid_out
from cfeval.report.tables import Figure, Figures, RenderedTable, Table, figures_of, interval_methods, intervals, p_cell
from cfeval.stats import means
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, ItemScore, estimate, rounded
from cfeval.stats.paired import holm

MEASURES = ("original", "counterfactual", "counterfactual - original")


class ContaminationRow(TableRow):
    """A measure on published questions and on a fresh draw of the same kind."""

    set: Annotated[str, Heading("Published")]
    """The set that models may have seen."""
    fresh: Annotated[str, Heading("Fresh")]
    """The set that is a fresh draw of the same kind."""
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`."""
    llm: str = ""
    """The language model that writes the programs."""
    type: Annotated[str, Heading("Type")]
    """The group of questions, or `all`."""
    measure: Annotated[str, Heading("Measure")]
    """Accuracy on `original` or `counterfactual` questions, or what the counterfactual changes in a pair."""
    reader: str
    """Who read the replies: `reference` or `robust`."""
    n: Annotated[int, Heading("Pairs", lambda row: f"{row.n} / {row.n_fresh}", after="p_holm")]
    """Published pairs with a score on both sides."""
    n_fresh: int
    """The same of fresh pairs."""
    published: Annotated[Bounded, Heading("On published")] = None
    """The measure on published pairs."""
    on_fresh: Annotated[Bounded, Heading("On fresh")] = None
    """The measure on fresh pairs."""
    difference: Annotated[Bounded, Heading("Published - fresh")] = None
    """published - on_fresh: over 0, the published questions are easier for this solver than fresh ones."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    p: Figure = None
    """Two-sided, that the difference is 0; the samples are independent (bootstrap)."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader."""
    test_world: Binary = 0
    """1: a built-in solver, which stands for no real model."""


EMPTY = "Empty: no solver answered both a set and a fresh draw of it (`fresh_of` of a set)."
NOTE = (
    "By the robust reader, on the replies with a score; ranges say what the missing scores could change. "
    "Published - fresh: over 0, the published "
    "questions are easier for the solver than new ones of the same kind, as they would be if it had seen them. The "
    "counterfactual's change is within a pair; the samples are independent, images drawn as a whole."
)


def rows(material: CvqaTableData) -> list[ContaminationRow]:
    """Rows for each solver that answered a set and its fresh draw: types, measures, readers."""
    found = [
        ContaminationRow.model_validate(
            named(material, condition)
            | {"fresh": fresh.set, "type": kind, "measure": measure, "reader": reader}
            | _figures(material, condition, fresh, kind, measure, reader)
        )
        for condition, fresh in _both(material)
        for kind in kinds(material.scores[condition])
        for measure in MEASURES
        for reader in READERS
    ]
    holms = {reader: iter(holm([row.p for row in found if row.reader == reader])) for reader in READERS}
    return [
        row.model_copy(update={"p_holm": rounded(next(holms[reader])), "p": rounded(row.p)})
        for row in found
        for reader in READERS
        if row.reader == reader
    ]


def render(of: Sequence[ContaminationRow]) -> RenderedTable:
    """The table for readers: the robust reader's rows."""
    shown = [row for row in in_short(of) if row.reader == HEADLINE]
    headings = {"published": "Published range", "on_fresh": "Fresh range", "difference": "Difference range"}
    ranges = {"difference": range_columns(shown, headings)}
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    return RenderedTable(
        "cvqa_contamination", "Published and fresh questions", *laid_out(ContaminationRow, shown, ranges), notes
    )


def _both(material: CvqaTableData) -> list[tuple[CvqaCondition, CvqaCondition]]:
    """Conditions of published sets, with those of the same solver on a fresh draw."""
    return [
        (condition, fresh)
        for fresh in material.scores
        for condition in material.scores
        if condition.solver == fresh.solver and condition.set == material.fresh_of(fresh.set)
    ]


def _figures(
    material: CvqaTableData,
    condition: CvqaCondition,
    fresh: CvqaCondition,
    kind: str,
    measure: str,
    reader: ExtractorName,
) -> Figures:
    how = material.interval
    of_seen, of_new = (items(of_kind(material.scores[one], kind), reader) for one in (condition, fresh))
    seen, new = (_values(of, measure) for of in (of_seen, of_new))
    n, n_fresh = (len(both_sides(of)) for of in (of_seen, of_new))
    figures: Figures = {"n": n, "n_fresh": n_fresh} | _ranges(of_seen, of_new, measure)
    if not seen or not new:
        return figures
    groups = [value.cluster for value in seen], [value.cluster for value in new]
    values = [value.value for value in seen], [value.value for value in new]
    gap = means.gap(*values, how.level, how.resamples, how.seed, groups)
    figures |= figures_of({"published": _mean(seen, measure, how), "on_fresh": _mean(new, measure, how)})
    figures |= difference_of("difference", gap.difference) | {"p": gap.p}
    return figures | {"ci": interval_methods(figures["ci"], gap.difference.method)}


def _ranges(seen: Sequence[Item], new: Sequence[Item], measure: str) -> Figures:
    """What the figures could be over all pairs, whatever the missing scores were."""
    field = measure if measure in ("original", "counterfactual") else "difference"
    ends = {(name, end): bounds(of).get(f"{field}_{end}") for name, of in (("published", seen), ("on_fresh", new))
            for end in ("min", "max")}  # fmt: skip
    found: Figures = {f"{name}_{end}": value for (name, end), value in ends.items()}
    for end, other in (("min", "max"), ("max", "min")):
        first, then = ends["published", end], ends["on_fresh", other]
        if isinstance(first, float) and isinstance(then, float):
            found[f"difference_{end}"] = rounded(first - then)
    return found


def _values(of: Sequence[Item], measure: str) -> list[ItemScore]:
    """The scores of a side, or of each pair with both what the counterfactual changes."""
    for side in SIDES:
        if measure == side:
            return side_values(of, side)
    return [
        ItemScore(item.id, item.image, item.counterfactual - item.original)
        for item in of
        if item.original is not None and item.counterfactual is not None
    ]


def _mean(of: Sequence[ItemScore], measure: str, how: Interval) -> Estimate:
    """The mean; a change within pairs is between -1 and 1."""
    return estimate(of, how, (0.0, 1.0) if measure in ("original", "counterfactual") else (-1.0, 1.0))


TABLE = Table(row=ContaminationRow, rows=rows, render=render)
