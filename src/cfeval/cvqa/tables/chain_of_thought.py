"""C-VQA, Table 4: chain of thought beside the same solver without."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated

from cfeval.cvqa.records import READERS, SIDES, CvqaCondition, ExtractorName
from cfeval.cvqa.tables.accuracy import SIDES_AND_DIFFERENCE, adjusted, render_accuracy, row_figures
from cfeval.cvqa.tables.cells import arrow
from cfeval.cvqa.tables.items import (
    Item,
    both_sides,
    bounds,
    difference_of,
    in_short,
    items,
    kinds,
    of_kind,
    paired,
    side_values,
    tested,
    unpaired,
)
from cfeval.cvqa.tables.replies import AccuracyRow, CvqaTableData
from cfeval.report.columns import Bounded, Heading
from cfeval.report.tables import Figure, Figures, RenderedTable, Table, interval_methods, p_cell
from cfeval.stats.intervals import mean_of, rounded
from cfeval.stats.paired import holm


class CotRow(AccuracyRow):
    """Chain of thought beside the same solver without."""

    no_cot_baseline: str
    """The same solver without chain of thought."""
    n_both: int = 0
    """Pairs that both have a score for on both sides; the tests rest on them."""
    plain_original: Annotated[
        Figure, Heading("Without", lambda row: arrow(row.plain_original, row.plain_counterfactual))
    ] = None
    """Accuracy without chain of thought, on the pairs that both were asked about."""
    plain_counterfactual: Figure = None
    """The same on counterfactual questions."""
    change_original: Annotated[Bounded, Heading("Change, original")] = None
    """With chain of thought − without."""
    p_original: Figure = None
    """Two-sided, that the change is 0."""
    p_original_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_original_holm))] = None
    """Adjusted by Holm over all changes of one reader in this table, on either side."""
    change_counterfactual: Annotated[Bounded, Heading("Change, counterfactual")] = None
    """The same change on counterfactual questions."""
    p_counterfactual: Figure = None
    """Two-sided, that it is 0."""
    p_counterfactual_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_counterfactual_holm))] = None
    """Adjusted likewise."""
    ci_change: str = ""
    """How the intervals of the changes were computed."""


EMPTY = "Empty: no solver thinks step by step."
NOTE = (
    "Change: with chain of thought − without, each on its own scores; its p-values are adjusted by Holm over "
    "all changes of the table."
)


def rows(material: CvqaTableData) -> list[CotRow]:
    """A row for each solver with chain of thought, type and reader."""
    conditions = [condition for condition, of in material.scores.items() if of and material.facts(condition.solver).cot]
    found = [
        _row(material, condition, kind, reader)
        for condition in conditions
        for kind in kinds(material.scores[condition])
        for reader in READERS
    ]
    return _changes_adjusted(adjusted(found))


def render(of: Sequence[CotRow]) -> RenderedTable:
    """The table for readers: the accuracies, then what chain of thought changes."""
    title = "C-VQA, Table 4: chain of thought"
    ranges = SIDES_AND_DIFFERENCE | {
        "change_original": "Change range, original",
        "change_counterfactual": "Change range, counterfactual",
    }
    return render_accuracy("cvqa_table4", title, in_short(of), EMPTY, more=[NOTE], kind=CotRow, ranges=ranges)


def _row(material: CvqaTableData, condition: CvqaCondition, kind: str, reader: ExtractorName) -> CotRow:
    baseline = material.facts(condition.solver).no_cot_baseline
    figures = row_figures(material, "table4", condition, kind, reader) | {"no_cot_baseline": baseline}
    other = condition.model_copy(update={"solver": baseline})
    return CotRow.model_validate(figures | _changes(material, condition, other, kind, reader))


def _changes(
    material: CvqaTableData, condition: CvqaCondition, baseline: CvqaCondition, kind: str, reader: ExtractorName
) -> Figures:
    """On the pairs that both were asked about: each on its own scores, the tests on the pairs with all four."""
    asked = [
        {item.id: item for item in items(of_kind(material.scores.get(one, ()), kind), reader)}
        for one in (condition, baseline)
    ]
    mine, theirs = ({item.id: item for item in both_sides(of.values())} for of in asked)
    both = [name for name in mine if name in theirs]
    figures: Figures = {"n_both": len(both)} | _ranges(*asked)
    if not both:
        return figures
    methods = []
    shared = [name for name in asked[0] if name in asked[1]]
    for side in SIDES:
        mine_both, theirs_both = (side_values([of[name] for name in both], side) for of in (mine, theirs))
        found = paired(mine_both, theirs_both, material.interval)
        with_, without = (side_values([of[name] for name in shared], side) for of in asked)
        whole = len(with_) == len(without) == len(both)
        change = found.difference if whole else unpaired(with_, without, material.interval)
        figures |= {f"plain_{side}": mean_of(without), f"p_{side}": tested(found)["p"]}
        figures |= difference_of(f"change_{side}", change)
        methods.append(change.method)
    return figures | {"ci_change": interval_methods(*methods)}


def _ranges(mine: Mapping[str, Item], theirs: Mapping[str, Item]) -> Figures:
    """What the changes could be over the pairs that both were asked, whatever the missing scores were."""
    shared = [name for name in mine if name in theirs]
    with_, without = (bounds([of[name] for name in shared]) for of in (mine, theirs))
    found: Figures = {}
    for side, (end, other) in product(SIDES, (("min", "max"), ("max", "min"))):
        first, then = with_.get(f"{side}_{end}"), without.get(f"{side}_{other}")
        if isinstance(first, float) and isinstance(then, float):
            found[f"change_{side}_{end}"] = rounded(first - then)
    return found


def _changes_adjusted(rows: Sequence[CotRow]) -> list[CotRow]:
    """With p-values adjusted over both sides of all rows of a reader."""
    found = list(rows)
    for reader in READERS:
        places = [(i, side) for i, row in enumerate(found) if row.reader == reader for side in SIDES]
        p_values = [getattr(found[i], f"p_{side}") for i, side in places]
        for (i, side), p, adjusted_p in zip(places, p_values, holm(p_values), strict=True):
            new = {f"p_{side}": rounded(p), f"p_{side}_holm": rounded(adjusted_p)}
            found[i] = found[i].model_copy(update=new)
    return found


TABLE = Table(row=CotRow, rows=rows, render=render)
