"""The tables of vce by name, in the order of the report, and the figures that `dvc metrics` shows."""

from collections.abc import Mapping

from cfeval.tables.formats import Listed

TABLES: Mapping[str, Listed] = {
    "table2": Listed("cfeval.tables.vce_table2:TABLE", "cfeval.records.vce_tables:SummaryRow"),
    "table3": Listed("cfeval.tables.vce_table3:TABLE", "cfeval.records.vce_tables:SummaryRow"),
    "table4": Listed("cfeval.tables.vce_table4:TABLE", "cfeval.records.vce_tables:DifferenceRow"),
    "table5": Listed("cfeval.tables.vce_table5:TABLE", "cfeval.records.vce_tables:DifferenceRow"),
    "table6": Listed("cfeval.tables.vce_table6:TABLE", "cfeval.records.vce_tables:DifferenceRow"),
    "methods": Listed("cfeval.tables.vce_methods:TABLE", "cfeval.records.vce_tables:SummaryRow"),
    "unguided": Listed("cfeval.tables.vce_unguided:TABLE", "cfeval.records.vce_tables:SummaryRow"),
    "hypotheses": Listed("cfeval.tables.vce_hypotheses:TABLE", "cfeval.records.vce_tables:HypothesisRow"),
}
