"""Targets compared two at a time on the same items: paired, clustered by image, adjusted over the whole table.

Neither paper compares its targets so; both print intervals of each alone, which answer another question.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import comb, lcm
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cfeval.core.records import Binary, Status
from cfeval.edct.protocols.rules import EDCT_BENCH_2026
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import Dataset, Editor, Judge, Protocol, TestTarget, Writer, edct_table
from cfeval.edct.tables.scores import (
    Metric,
    Row,
    TableData,
    by_item,
    compared_pairs,
    reasons,
    settings_of,
    strict_ccs,
    values,
)
from cfeval.report.tables import (
    TEST_WORLD_NOTE,
    Bounded,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    figures_of,
    intervals,
    p_cell,
    scored_cell,
)
from cfeval.stats.estimates import Floats
from cfeval.stats.intervals import rounded
from cfeval.stats.paired import compare_all, holm


class ComparisonRow(TableRow):
    """Two targets on the same items."""

    dataset: Dataset
    writer: Writer
    protocol: Protocol
    editor: Editor
    judge: Judge
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
    ci: Methods = ""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why edits of either have no score, with counts."""
    test_world: TestTarget = 0
    other_test_world: Binary = 0
    """1: the other target is one."""


POWER = 0.8
_SETTING = ("dataset", "writer", "protocol", "editor", "judge")


def comparison_rows(conditions: Sequence[Condition], material: TableData) -> list[ComparisonRow]:
    """A row for each two targets of one setting that are compared, in the order of `conditions`; InputError where a
    condition has no scores.
    """
    settings = [_Outcomes(some, material) for some in settings_of(conditions)]
    pairs = [compared_pairs(outcomes.conditions, material.compared_with, material.all_pairs) for outcomes in settings]
    tests = sum(outcomes.n_scored(*pair) > 0 for outcomes, some in zip(settings, pairs, strict=True) for pair in some)
    compared: list[tuple[Figures, float | None]] = []
    for outcomes, some in zip(settings, pairs, strict=True):
        compared += _compared(outcomes, some, material, tests)
    adjusted = zip(compared, holm([p for _, p in compared]), strict=True)
    return [ComparisonRow.model_validate(figures | {"p_holm": rounded(p)}) for (figures, _), p in adjusted]


def _left_out(rows: Sequence[ComparisonRow]) -> str:
    """That not every two targets of a setting are compared, where it is so."""
    pairs: dict[tuple[str, ...], int] = defaultdict(int)
    targets: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in rows:
        setting = tuple(getattr(row, name) for name in _SETTING)
        pairs[setting] += 1
        targets[setting] |= {row.vlm, row.other}
    if all(pairs[setting_names] == comb(len(targets[setting_names]), 2) for setting_names in pairs):
        return ""
    references = ", ".join(dict.fromkeys(row.vlm for row in rows))
    return (
        f"Not every two targets are compared, but each with {references}; edct.all_pairs in params.yaml compares all."
    )


class _Outcomes:
    """What the targets of one setting scored: matrices, a row a target and a column an item.

    Figures of two targets are of the items that both were asked about.
    """

    def __init__(self, conditions: Sequence[Condition], material: TableData) -> None:
        self.conditions = conditions
        rows_of = [material.of(condition) for condition in conditions]
        clusters = {row.id: row.cluster for rows in rows_of for row in rows}
        self._place = {item: place for place, item in enumerate(clusters)}
        self.clusters = list(clusters.values())
        self._shape = len(conditions), len(clusters)
        edits = max((count for rows in rows_of for count in Counter(row.id for row in rows).values()), default=1)
        self._unit = lcm(*range(1, edits + 1))  # as multiples of 1 / unit all means of edits are whole: sums are exact
        self.scores = self._means(rows_of, "ccs")
        self._asked = self._counts((row.id for row in rows) for rows in rows_of) > 0
        self._items = _sums(self._asked)
        self._scored = _sums(~np.isnan(self.scores))
        why = {row.told.status for rows in rows_of for row in rows} - {Status.OK}
        self._missing = {
            status: self._of_edits(rows_of, partial(_has_status, status))
            for status in sorted(why, key=lambda status: status.value)
        }
        self._seen = self._of_edits(rows_of, lambda row: row.told.status == Status.OK)
        self._looked = self._of_edits(
            rows_of, lambda row: row.told.status == Status.OK and row.told.present is not None
        )
        self._ccs = self._means_of_both(self.scores)
        self._strict = self._means_of_both(self._means(rows_of, strict_ccs))
        self._citation = self._means_of_both(self._means(rows_of, "present"))
        self._least, self._most = (self._bounds(rows_of, value) for value in (0.0, 1.0))

    def n_scored(self, target: int, other: int) -> int:
        """Items that two targets have a score for."""
        return int(self._scored[target, other])

    def figures(self, target: int, other: int) -> Figures:
        """What is known of two targets without a test."""
        n = int(self._items[target, other])
        missing = {why: int(matrix[target, other] + matrix[other, target]) for why, matrix in self._missing.items()}
        figures: Figures = {"n": n, "n_scored": self.n_scored(target, other), "missing": reasons(+Counter(missing))}
        if n:
            least = float(self._least[target, other] - self._most[other, target])
            most = float(self._most[target, other] - self._least[other, target])
            unit = self._unit * n
            figures |= {"difference_min": rounded(least / unit), "difference_max": rounded(most / unit)}
        if any(self._seen[a, b] and not self._looked[a, b] for a, b in ((target, other), (other, target))):
            return figures
        for name, matrix in (("strict_ccs", self._strict), ("citation_rate", self._citation)):
            figures |= {name: _figure(matrix[target, other]), f"other_{name}": _figure(matrix[other, target])}
        return figures

    def ccs(self, target: int, other: int) -> float | None:
        """CCS of a target on the items that another has a score for too."""
        return _figure(self._ccs[target, other])

    def _means(self, rows_of: Sequence[Sequence[Row]], metric: Metric) -> Floats:
        """The mean of a metric over an item's edits that have one; NaN where none has."""
        means = np.full(self._shape, np.nan)
        for place, rows in enumerate(rows_of):
            some = values(rows, metric)
            means[place, [self._place[value.item] for value in some]] = [value.value for value in some]
        return means

    def _means_of_both(self, metric: Floats) -> Floats:
        """(M, M): the mean of a target's metric over the items for which another has it too; NaN: there is none."""
        there = ~np.isnan(metric)
        whole = np.where(there, np.rint(metric * self._unit), 0.0)
        with np.errstate(invalid="ignore"):
            means: Floats = (whole @ there.T.astype(np.float64)) / (self._unit * _sums(there))
        return means

    def _counts(self, items_of: Iterable[Iterable[str]]) -> Floats:
        """How often each item is named for each target."""
        places = [np.fromiter((self._place[item] for item in items), dtype=np.int64) for items in items_of]
        return np.stack([np.bincount(some, minlength=self._shape[1]) for some in places]).astype(np.float64)

    def _of_edits(self, rows_of: Sequence[Sequence[Row]], wanted: Callable[[Row], bool]) -> Floats:
        """(M, M): how many edits of a target are so, of the items that another one was asked about."""
        counts = self._counts((row.id for row in rows if wanted(row)) for rows in rows_of)
        return counts @ self._asked.T.astype(np.float64)

    def _bounds(self, rows_of: Sequence[Sequence[Row]], unscored: float) -> Floats:
        """(M, M): the sum over the items of both of the least or greatest mean of an item's edits, in units."""
        means = np.zeros(self._shape)
        for place, rows in enumerate(rows_of):
            for edits in by_item(rows):
                scores = [unscored if row.told.ccs is None else row.told.ccs for row in edits]
                means[place, self._place[edits[0].id]] = sum(scores) * (self._unit // len(scores))
        return means @ self._asked.T.astype(np.float64)


def _has_status(status: Status, row: Row) -> bool:
    return row.told.status == status


def _sums(there: npt.NDArray[np.bool_]) -> Floats:
    """(M, M): how many items two targets have in common."""
    numbers = there.astype(np.float64)
    return numbers @ numbers.T


def _figure(mean: float) -> float | None:
    return None if np.isnan(mean) else rounded(float(mean))


def _compared(
    outcomes: _Outcomes, pairs: Sequence[tuple[int, int]], material: TableData, tests: int
) -> Iterator[tuple[Figures, float | None]]:
    """The figures of each two targets, of so many tests, and the p-value that is adjusted over the table."""
    tested = [pair for pair in pairs if outcomes.n_scored(*pair)]
    interval = material.how
    tests_of_pairs = compare_all(
        outcomes.scores, tested, interval.level, interval.resamples, interval.seed, outcomes.clusters, POWER, tests
    )
    comparisons = dict(zip(tested, tests_of_pairs, strict=True))
    for target, other in pairs:
        mine, theirs = outcomes.conditions[target], outcomes.conditions[other]
        figures: Figures = {name: getattr(mine, name) for name in _SETTING}
        figures |= {"vlm": mine.vlm, "other": theirs.vlm, "images": 0}
        figures |= {"test_world": material.is_test(mine.vlm), "other_test_world": material.is_test(theirs.vlm)}
        figures |= outcomes.figures(target, other)
        comparison = comparisons.get((target, other))
        if comparison is None:
            yield figures, None
            continue
        exact = comparison.mcnemar.exact if comparison.mcnemar else None
        of_bench = "bench_" if mine.protocol == EDCT_BENCH_2026 else ""
        figures |= figures_of({"difference": comparison.difference}) | {
            f"{of_bench}ccs": outcomes.ccs(target, other),
            f"{of_bench}other_ccs": outcomes.ccs(other, target),
            "images": comparison.clusters,
            "p_bootstrap": rounded(comparison.p),
            "p_mcnemar": rounded(exact),
            "detectable": rounded(comparison.detectable),
        }
        yield figures, comparison.p if exact is None else exact


COMPARISONS = edct_table(
    "comparisons",
    "Targets compared on the same items",
    ComparisonRow,
    comparison_rows,
    lambda rows: (
        intervals(rows)
        + "On the items that both have a score for, resampled by image. McNemar: the exact test, where every item "
        "has one score (with several items an image, the randomization test over images). Holm: McNemar's p, or "
        "else the bootstrap's, adjusted over this whole table. Detectable: the smallest difference that as many "
        f"items would show with {POWER * 100:g} % power after this adjustment, were the targets to differ on as "
        "many as here. Strict CCS and citation rate are of all items for which both have them.",
        _left_out(rows),
        TEST_WORLD_NOTE if any(row.test_world or row.other_test_world for row in rows) else "",
    ),
    names=_SETTING,
    always=("protocol",),
    empty="Empty: no two targets stand beside each other in a table (edct.tables).",
)
