"""Targets compared two at a time on the same items: paired, clustered by image, adjusted over the whole table.

Neither paper compares its targets so; both print intervals of each alone, which answer another question.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.edct.protocols.rules import EDCT_BENCH_2026
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import (
    Metric,
    Row,
    TableData,
    extremes,
    missing,
    n_items,
    nobody_looked,
    strict_ccs,
    values,
)
from cfeval.report.columns import Bounded, Heading, TableRow, laid_out
from cfeval.report.tables import (
    TEST_WORLD_NOTE,
    Figure,
    Figures,
    RenderedTable,
    Table,
    figures_of,
    intervals,
    p_cell,
    scored_cell,
    varying,
)
from cfeval.stats.intervals import Interval, ItemScore, mean_of, rounded
from cfeval.stats.paired import compare, holm


class ComparisonRow(TableRow):
    """Two targets on the same items."""

    dataset: str
    """The dataset."""
    writer: str
    """The instruction writer."""
    protocol: str
    """The protocol."""
    editor: str
    """The editor."""
    judge: str
    """The judge."""
    vlm: Annotated[str, Heading("Target", lambda row: row.vlm + " †" * row.test_world)]
    """The target."""
    other: Annotated[str, Heading("Other", lambda row: row.other + " †" * row.other_test_world)]
    """The target that it is compared with."""
    n: int
    """Items that both were asked about."""
    n_scored: Annotated[int, Heading("Scored", lambda row: f"{scored_cell(row)} ({row.images} images)")]
    """Those that both have a score for; all figures but the bounds rest on them."""
    images: int
    """Different images of the scored items."""
    ccs: Annotated[Figure, Heading("CCS", optional=True)] = None
    """Of edct-2025."""
    other_ccs: Annotated[Figure, Heading("Other CCS", optional=True)] = None
    """The other target's."""
    strict_ccs: Annotated[Figure, Heading("Strict CCS", optional=True)] = None
    """The same, under either protocol, an edit of what is absent counting 0: of the items for which both have it."""
    other_strict_ccs: Annotated[Figure, Heading("Other strict CCS", optional=True)] = None
    """The other target's."""
    citation_rate: Annotated[Figure, Heading("Citation rate", optional=True)] = None
    """Share of the target's edits whose cited thing is in the image: of the items for which that is known of both."""
    other_citation_rate: Annotated[Figure, Heading("Other citation rate", optional=True)] = None
    """The other target's."""
    bench_ccs: Annotated[Figure, Heading("2026: CCS", optional=True)] = None
    """Of edct-bench-2026."""
    bench_other_ccs: Annotated[Figure, Heading("2026: other CCS", optional=True)] = None
    """The other target's."""
    difference: Annotated[Bounded, Heading("Difference")] = None
    """The target's CCS − the other's on these items."""
    p_bootstrap: Annotated[Figure, Heading("p, bootstrap", lambda row: p_cell(row.p_bootstrap))] = None
    """Two-sided, of the paired bootstrap; no smaller than 2 / (resamples + 1)."""
    p_mcnemar: Annotated[Figure, Heading("p, McNemar", lambda row: p_cell(row.p_mcnemar))] = None
    """Exact McNemar test, where every item has one score."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """p_mcnemar, or else p_bootstrap, adjusted by Holm over the table."""
    detectable: Annotated[Figure, Heading("Detectable")] = None
    """Smallest difference that these items would show with 80 % power after Holm's adjustment over the table."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why edits of either have no score, with counts."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""
    other_test_world: Binary = 0
    """1: the other target is one."""


POWER = 0.8
NO_CONDITION_NOTE = "Empty: no two targets stand beside each other in a table (edct.tables)."
_SETTING = ("dataset", "writer", "protocol", "editor", "judge")
_TITLE = "Targets compared on the same items"
_READING = (
    "On the items that both have a score for, resampled by image. McNemar: the exact test, where every item has one "
    "score (with several items an image, the randomization test over images). Holm: McNemar's p, or else the "
    "bootstrap's, adjusted over this whole table. Detectable: the smallest difference that as many items would show "
    f"with {POWER * 100:g} % power after this adjustment, were the targets to differ on as many as here. Strict CCS "
    "and citation rate are of all items for which both have them."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[ComparisonRow]:
    """A row for each two targets of one setting, in the order of `conditions`; InputError where a condition has no
    scores.
    """
    pairs = _pairs(conditions)
    tests = sum(bool(_both(*_common(material.of(one), material.of(other)))) for one, other in pairs)
    found = [_compared(one, other, material, tests) for one, other in pairs]
    adjusted = holm([p for _, p in found])
    return [
        ComparisonRow.model_validate(figures | {"p_holm": rounded(p)})
        for (figures, _), p in zip(found, adjusted, strict=True)
    ]


def render(of: Sequence[ComparisonRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, _SETTING, ("protocol",))
    columns = laid_out(ComparisonRow, of, {"": name_columns(names)})
    if not of:
        return RenderedTable("edct_comparisons", _TITLE, *columns, (NO_CONDITION_NOTE,))
    said = [shared(of[0], names, _SETTING), intervals(of) + _READING]
    said += [TEST_WORLD_NOTE] if any(row.test_world or row.other_test_world for row in of) else []
    return RenderedTable("edct_comparisons", _TITLE, *columns, tuple(note for note in said if note))


def _pairs(conditions: Sequence[Condition]) -> list[tuple[Condition, Condition]]:
    beside: dict[Condition, list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        beside[condition.model_copy(update={"vlm": ""})].append(condition)
    return [pair for some in beside.values() for pair in combinations(some, 2)]


def _compared(one: Condition, other: Condition, material: TableData, tests: int) -> tuple[Figures, float | None]:
    """The figures of two conditions, one of so many tests, and the p-value that is adjusted over the table."""
    mine, theirs = _common(material.of(one), material.of(other))
    both = _both(mine, theirs)
    figures: Figures = {name: getattr(one, name) for name in _SETTING}
    figures |= {"vlm": one.vlm, "other": other.vlm, "n": n_items(mine), "n_scored": len(both)}
    figures |= {"images": len({value.cluster for value, _ in both}), "missing": missing([*mine, *theirs])}
    figures |= {"test_world": material.is_test(one.vlm), "other_test_world": material.is_test(other.vlm)}
    figures |= _bounds(mine, theirs) | _cited(mine, theirs)
    if not both:
        return figures, None
    more, p = _paired(one.protocol, both, material.how, tests)
    return figures | more, p


def _common(first: Sequence[Row], second: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The scores of the items that both were asked about."""
    ids = {score.id for score in first} & {score.id for score in second}
    return [score for score in first if score.id in ids], [score for score in second if score.id in ids]


def _both(mine: Sequence[Row], theirs: Sequence[Row], metric: Metric = "ccs") -> list[tuple[ItemScore, ItemScore]]:
    """The items that both have a score for."""
    second = {value.item: value for value in values(theirs, metric)}
    return [(value, second[value.item]) for value in values(mine, metric) if value.item in second]


def _cited(mine: Sequence[Row], theirs: Sequence[Row]) -> Figures:
    """Strict CCS and citation rate of the two; none where nobody looked."""
    if nobody_looked(mine) or nobody_looked(theirs):
        return {}
    metrics: dict[str, Metric] = {"strict_ccs": strict_ccs, "citation_rate": "present"}
    found: Figures = {}
    for name, metric in metrics.items():
        both = _both(mine, theirs, metric)
        found |= {name: mean_of(one for one, _ in both), f"other_{name}": mean_of(other for _, other in both)}
    return found


def _bounds(mine: Sequence[Row], theirs: Sequence[Row]) -> Figures:
    """What the difference over all items could be, whatever the missing scores were."""
    if not mine:
        return {}
    (least, most), (others_least, others_most) = extremes(mine, "ccs"), extremes(theirs, "ccs")
    return {"difference_min": rounded(least - others_most), "difference_max": rounded(most - others_least)}


def _paired(
    protocol: str, both: Sequence[tuple[ItemScore, ItemScore]], how: Interval, tests: int
) -> tuple[Figures, float | None]:
    """Two targets on the same items."""
    first, second = zip(*both, strict=True)
    scores, others = [value.value for value in first], [value.value for value in second]
    groups = [value.cluster for value in first]
    found = compare(scores, others, how.level, how.resamples, how.seed, groups, POWER, tests)
    exact = found.mcnemar.exact if found.mcnemar else None
    of = "bench_" if protocol == EDCT_BENCH_2026 else ""
    figures = figures_of({"difference": found.difference}) | {
        f"{of}ccs": mean_of(first),
        f"{of}other_ccs": mean_of(second),
        "p_bootstrap": rounded(found.p),
        "p_mcnemar": rounded(exact),
        "detectable": rounded(found.detectable),
    }
    return figures, found.p if exact is None else exact


TABLE = Table(row=ComparisonRow, rows=rows, render=render)
