"""Tables, one file each: `STUDY_NAME.py` makes the rows of a table from scores and shows them.

Such a file offers a `Table`: the record of a row, `rows(…)` and `sheet(rows)`; `cfeval STUDY table NAME` writes it as
CSV, Markdown and LaTeX.
"""

from collections.abc import Mapping
from typing import Any

from cfeval.names import load
from cfeval.records.common import Record
from cfeval.tables.formats import Table

NAMES: Mapping[str, Mapping[str, str]] = {
    "edct": {
        "table1": "cfeval.tables.edct_table1:TABLE",
        "table2": "cfeval.tables.edct_table2:TABLE",
        "bench": "cfeval.tables.edct_bench:TABLE",
        "controls": "cfeval.tables.edct_controls:TABLE",
        "calibration": "cfeval.tables.edct_calibration:TABLE",
        "instrument": "cfeval.tables.edct_instrument:TABLE",
        "agreement": "cfeval.tables.edct_agreement:TABLE",
        "comparisons": "cfeval.tables.edct_comparisons:TABLE",
        "variance": "cfeval.tables.edct_variance:TABLE",
        "repeats": "cfeval.tables.edct_repeats:TABLE",
    },
    "vce": {
        "table2": "cfeval.tables.vce_table2:TABLE",
        "table3": "cfeval.tables.vce_table3:TABLE",
        "table4": "cfeval.tables.vce_table4:TABLE",
        "table5": "cfeval.tables.vce_table5:TABLE",
        "table6": "cfeval.tables.vce_table6:TABLE",
        "methods": "cfeval.tables.vce_methods:TABLE",
        "unguided": "cfeval.tables.vce_unguided:TABLE",
        "hypotheses": "cfeval.tables.vce_hypotheses:TABLE",
    },
    "cvqa": {
        "statistics": "cfeval.tables.cvqa_statistics:TABLE",
        "answers": "cfeval.tables.cvqa_answers:TABLE",
        "table3": "cfeval.tables.cvqa_table3:TABLE",
        "table4": "cfeval.tables.cvqa_table4:TABLE",
        "table5": "cfeval.tables.cvqa_table5:TABLE",
        "table6": "cfeval.tables.cvqa_table6:TABLE",
        "table7": "cfeval.tables.cvqa_table7:TABLE",
        "bias": "cfeval.tables.cvqa_bias:TABLE",
        "readers": "cfeval.tables.cvqa_readers:TABLE",
        "positions": "cfeval.tables.cvqa_positions:TABLE",
        "programs": "cfeval.tables.cvqa_programs:TABLE",
        "builds": "cfeval.tables.cvqa_builds:TABLE",
    },
}
"""The tables of each study by name, in the order of the report."""
ROWS: Mapping[str, Mapping[str, str]] = {
    "edct": {
        "table1": "cfeval.records.edct_tables:ArmRow",
        "table2": "cfeval.records.edct_tables:ArmRow",
        "bench": "cfeval.records.edct_tables:BenchRow",
        "controls": "cfeval.records.edct_tables:ControlRow",
        "calibration": "cfeval.records.edct_tables:CalibrationRow",
        "instrument": "cfeval.records.edct_tables:InstrumentRow",
        "agreement": "cfeval.records.edct_tables:AgreementRow",
        "comparisons": "cfeval.records.edct_tables:ComparisonRow",
        "variance": "cfeval.records.edct_tables:VarianceRow",
        "repeats": "cfeval.records.repeats:RepeatRow",
    },
    "vce": {
        "table2": "cfeval.records.vce_tables:SummaryRow",
        "table3": "cfeval.records.vce_tables:SummaryRow",
        "table4": "cfeval.records.vce_tables:DifferenceRow",
        "table5": "cfeval.records.vce_tables:DifferenceRow",
        "table6": "cfeval.records.vce_tables:DifferenceRow",
        "methods": "cfeval.records.vce_tables:SummaryRow",
        "unguided": "cfeval.records.vce_tables:SummaryRow",
        "hypotheses": "cfeval.records.vce_tables:HypothesisRow",
    },
    "cvqa": {
        "statistics": "cfeval.records.cvqa_tables:StatisticsRow",
        "answers": "cfeval.records.cvqa_tables:AnswersRow",
        "table3": "cfeval.records.cvqa_tables:AccuracyRow",
        "table4": "cfeval.records.cvqa_tables:CotRow",
        "table5": "cfeval.records.cvqa_tables:AccuracyRow",
        "table6": "cfeval.records.cvqa_tables:AccuracyRow",
        "table7": "cfeval.records.cvqa_tables:AccuracyRow",
        "bias": "cfeval.records.cvqa_tables:BiasRow",
        "readers": "cfeval.records.cvqa_tables:ReadersRow",
        "positions": "cfeval.records.cvqa_tables:PositionsRow",
        "programs": "cfeval.records.cvqa_tables:ProgramsRow",
        "builds": "cfeval.records.cvqa_tables:BuildsRow",
    },
}
"""The record of a table's rows: all that a reader of its CSV needs, so that no figure rests on how rows are made."""


def table_of(study: str, name: str) -> Table[..., Any]:
    """A table of a study; the code of no other is imported."""
    found: Table[..., Any] = load(NAMES[study][name])
    return found


def row_of(study: str, name: str) -> type[Record]:
    """The record of a table's rows."""
    found: type[Record] = load(ROWS[study][name])
    return found
