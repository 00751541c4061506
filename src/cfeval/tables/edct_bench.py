"""EDCT-Bench 2026: targets, editors and judges under its protocol; AC, EF, binary and graded CCS, means over chains."""

from collections.abc import Sequence

from cfeval.protocols.rules import EDCT_BENCH_2026
from cfeval.records.edct import Arm
from cfeval.records.edct_tables import BenchRow
from cfeval.tables.arm_rows import beside, summary
from cfeval.tables.arm_sheet import figure_cells, named, notes
from cfeval.tables.arms import HEADINGS, NAMES, arms_under
from cfeval.tables.formats import Sheet, Table, varying
from cfeval.tables.items import values
from cfeval.tables.material import Material

METRICS = {"ac": "AC", "ef": "EF", "ccs": "CCS", "ccs_graded": "Graded CCS"}


def rows(arms: Sequence[Arm], material: Material) -> list[BenchRow]:
    """A row for each arm, in the order of `arms`; InputError where one has no scores, or another protocol's."""
    return [_row(arm, material) for arm in arms_under(arms, "bench", EDCT_BENCH_2026)]


def sheet(of: Sequence[BenchRow]) -> Sheet:
    """The table for readers."""
    names = varying(of, NAMES)
    paper = [metric for metric in ("ccs", "ccs_graded") if any(getattr(r, f"paper_{metric}") is not None for r in of)]
    headings = [*(HEADINGS[name] for name in names), "Scored", "Edits scored", *METRICS.values(), "CCS range"]
    headings += [*(f"Paper {METRICS[metric]}" for metric in paper), "Accuracy", "Edits right (checked)", "Missing"]
    body = tuple(
        (
            *named(row, names, row.test_world),
            f"{row.n_scored} of {row.n}",
            f"{row.n_edits_scored} of {row.n_edits}",
            *figure_cells(row, METRICS, paper),
        )
        for row in of
    )
    title = "EDCT-Bench 2026: faithfulness under a chain of edits"
    return Sheet("edct_bench", title, tuple(headings), body, notes(of, names))


def _row(arm: Arm, material: Material) -> BenchRow:
    scores = material.of(arm)
    edits = {"n_edits": len(scores), "n_edits_scored": sum(score.told.ccs is not None for score in scores)}
    edits |= {"n_graded": len(values(scores, "ccs_graded"))}
    return BenchRow.model_validate(summary(arm, scores, material.how) | beside("bench", arm, material) | edits)


TABLE = Table(row=BenchRow, rows=rows, sheet=sheet)
