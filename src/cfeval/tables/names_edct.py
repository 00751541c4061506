"""The tables of edct by name, in the order of the report, and the figures that `dvc metrics` shows."""

from collections.abc import Mapping

from cfeval.tables.formats import Listed

TABLES: Mapping[str, Listed] = {
    "table1": Listed("cfeval.tables.edct_table1:TABLE", "cfeval.records.edct_tables:ArmRow"),
    "table2": Listed("cfeval.tables.edct_table2:TABLE", "cfeval.records.edct_tables:ArmRow"),
    "bench": Listed("cfeval.tables.edct_bench:TABLE", "cfeval.records.edct_tables:BenchRow"),
    "controls": Listed("cfeval.tables.edct_controls:TABLE", "cfeval.records.edct_tables:ControlRow"),
    "calibration": Listed("cfeval.tables.edct_calibration:TABLE", "cfeval.records.edct_tables:CalibrationRow"),
    "instrument": Listed("cfeval.tables.edct_instrument:TABLE", "cfeval.records.edct_tables:InstrumentRow"),
    "agreement": Listed("cfeval.tables.edct_agreement:TABLE", "cfeval.records.edct_tables:AgreementRow"),
    "comparisons": Listed("cfeval.tables.edct_comparisons:TABLE", "cfeval.records.edct_tables:ComparisonRow"),
    "variance": Listed("cfeval.tables.edct_variance:TABLE", "cfeval.records.edct_tables:VarianceRow"),
    "repeats": Listed("cfeval.tables.edct_repeats:TABLE", "cfeval.records.repeats:RepeatRow"),
}
