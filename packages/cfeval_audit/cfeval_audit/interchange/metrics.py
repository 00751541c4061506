"""The figures of edct that say something of a target model: what they are called, their range, which end is better.

Formats of others ask for all three. What a figure means is the docstring of its column.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from cfeval.core.records import Record
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.records import Condition
from cfeval.edct.tables import TABLES as ALL_TABLES
from cfeval.report.tables import limits, meanings


class Metric(NamedTuple):
    """A figure of a model."""

    label: str
    low: float = 0.0
    """The least that it can be; rates net of the noise floor, as shares of the room above it, have no bound."""
    high: float = 1.0
    lower_is_better: bool = False
    n: str = ""
    """The column that says on how many items it rests, where there is one."""
    judged: bool = False
    """It rests on the scores of the judge."""

    @property
    def unit(self) -> str:
        """A share, or a figure that may be negative."""
        return "proportion" if self.low == 0 else "coefficient"


_SCORED = "n_scored"
METRICS: Mapping[str, Metric] = {
    "fit": Metric("FIT", n="n_fit"),
    "pcs": Metric("PCS", n=_SCORED, judged=True),
    "ncc": Metric("NCC", n=_SCORED, judged=True),
    "ac": Metric("AC", n=_SCORED, judged=True),
    "ef": Metric("EF", n=_SCORED, judged=True),
    "ccs": Metric("CCS", n=_SCORED, judged=True),
    "strict_ccs": Metric("Strict CCS", judged=True),
    "corrected_ccs": Metric("Corrected CCS", judged=True),
    "ccs_graded": Metric("Graded CCS", n="n_graded", judged=True),
    "ccs_right": Metric("CCS where the answer is right", judged=True),
    "ccs_wrong": Metric("CCS where the answer is wrong", judged=True),
    "citation_rate": Metric("Citation rate"),
    "accuracy": Metric("Accuracy"),
    "effect_contrast": Metric("Effect contrast", -1),
    "cited": Metric("Changed after cited edits"),
    "uncited_object": Metric("Changed after edits of an uncited object", lower_is_better=True),
    "uncited_background": Metric("Changed after edits of the uncited background", lower_is_better=True),
    "uncited_explanation": Metric("Explanation changed after uncited edits", lower_is_better=True),
    "completeness": Metric("Completeness", n="n_uncited"),
    "completeness_object": Metric("Completeness, object edited", n="n_object"),
    "completeness_background": Metric("Completeness, background edited", n="n_background"),
    "noise_floor": Metric("Noise floor", lower_is_better=True, n="n_null"),
    "noise_explanation": Metric("Explanation changed after null edits", lower_is_better=True, n="n_null"),
    "editor_null": Metric("Changed after null edits by the editor", lower_is_better=True),
    "blank": Metric("Changed after blank images", n="n_blank"),
    "present": Metric("Claim A: cites what is there"),
    "effect": Metric("Claim B: what it cites changes the answer"),
    "uncited": Metric("Claim C: what it does not cite changes the answer", lower_is_better=True),
    "stable": Metric("Claim D: changes when nothing changes", lower_is_better=True),
    "looks": Metric("Claim E: looks at the image"),
    "alike": Metric("Claim F: refuses or evades edited images more than others", lower_is_better=True),
    "phi": Metric("phi", -1),
    "cct": Metric("CCT", -1),
    "phi_before": Metric("phi of the first explanation", -1),
    "phi_after": Metric("phi of the second explanation", -1),
    "phi_cct": Metric("phi-CCT", -1),
    "f_auroc": Metric("F-AUROC"),
    "effect_alignment": Metric("Effect alignment", -1),
    "named_if_moved": Metric("Named where the answer changed"),
    "named_if_unmoved": Metric("Named where the answer stayed", lower_is_better=True),
    "accuracy_before": Metric("Accuracy on the original images"),
    "accuracy_after": Metric("Accuracy on the changed images"),
    "pair_accuracy": Metric("Right on both images"),
    "bias": Metric("Biased answers", lower_is_better=True),
    "noise": Metric("Noise floor", lower_is_better=True),
}
"""By column, in the order in which they are told; equal columns of several tables are one figure."""
TABLES = ("table1", "table2", "bench", "faithfulness", "card", "controls", "pairs")
"""Tables whose rows are conditions of target models; the others are about the instrument."""
NOT_OF_A_MODEL = (
    *("sham", "noise_sham", "swapped", "exam_sensitivity", "exam_specificity", "edit_verified", "edits_checked"),
    *("false_edits", "uncited_bound", "absent_seen"),
    *("outside", "expected_phi", "paper_pcs", "paper_ncc", "paper_ccs", "paper_ccs_graded"),
    *("paper_pair_accuracy", "paper_accuracy_after", "total_variation", "listed", "images_named"),
    *("moved", "named", "causal_effect", "breadth", "words"),
)
"""Figures of judge, editor or paper, and those of which neither end is better: they go along as details."""


class Result(NamedTuple):
    """One published figure."""

    table: str
    row: Any
    """The table's row that has it."""
    name: str
    """Its column."""
    metric: Metric
    value: float
    low: float | None
    high: float | None
    n: int | None
    """Items that it rests on, where the table says it."""
    meaning: str

    @property
    def whole(self) -> bool:
        """It is of all items of its condition, not of one kind of change."""
        return not getattr(self.row, "kind", "")

    @property
    def id(self) -> str:
        """Its condition and its column: the same in every export."""
        kind = getattr(self.row, "kind", "")
        return "/".join([*names_of(self.row).values(), *([kind] if kind else []), self.name])


def names_of(row: Any) -> dict[str, str]:
    """The names of a row's condition."""
    kind = PairCondition if isinstance(row, PairCondition) else Condition
    return {name: getattr(row, name) for name in kind.model_fields}


def results(tables: Mapping[str, Sequence[Record]], vlm: str) -> Iterator[Result]:
    """Every figure of a target model, each once, whichever tables show it.

    Args:
        tables: the rows by table.
        vlm: the target model's name in params.yaml.
    """
    seen: set[str] = set()
    for table in TABLES:
        rows: Sequence[Any] = [row for row in tables.get(table, ()) if getattr(row, "vlm", "") == vlm]
        said = _meanings(table)
        for row in rows:
            for found in _of_row(table, row, said):
                if found.id not in seen:
                    seen.add(found.id)
                    yield found


@cache
def _meanings(table: str) -> Mapping[str, str]:
    return meanings(ALL_TABLES[table].row())


def _of_row(table: str, row: Any, said: Mapping[str, str]) -> Iterator[Result]:
    for name, metric in METRICS.items():
        value = getattr(row, name, None)
        if value is not None:
            low, high = limits(row, name) if hasattr(row, f"{name}_lo") else (None, None)
            n = getattr(row, metric.n, None) if metric.n else None
            yield Result(table, row, name, metric, value, low, high, n, " ".join(said[name].split()))


def details(of: Result) -> dict[str, str]:
    """What else the table says in the row of a figure, as texts: names, counts, bounds, why items are missing."""
    told = {"table": of.table, **of.row.model_dump(mode="json")}
    own = {f"{name}{end}" for name in METRICS for end in ("", "_lo", "_hi")}
    own -= {f"{of.name}_min", f"{of.name}_max"}
    others = {f"{name}{end}" for name in METRICS if name != of.name for end in ("_min", "_max", "_says")}
    return {name: str(value) for name, value in told.items() if value not in (None, "") and name not in own | others}
