"""The tables of vce by name, in the order of the report, and the figures that `dvc metrics` shows."""

from collections.abc import Mapping

from cfeval.report.tables import Listed

TABLES: Mapping[str, Listed] = {
    "answer": Listed("cfeval.vce.tables.answer:TABLE", "cfeval.vce.tables.answer:AnswerRow"),
    "checks": Listed("cfeval.vce.tables.checks:TABLE", "cfeval.vce.tables.checks:CheckRow"),
    "concepts": Listed("cfeval.vce.tables.concepts:TABLE", "cfeval.vce.tables.concepts:ConceptRow"),
    "table1": Listed("cfeval.vce.tables.networks:TABLE", "cfeval.vce.tables.networks:NetworkRow"),
    "table2": Listed("cfeval.vce.tables.paper:TABLE2", "cfeval.vce.tables.summary:SummaryRow"),
    "table3": Listed("cfeval.vce.tables.paper:TABLE3", "cfeval.vce.tables.summary:SummaryRow"),
    "table4": Listed("cfeval.vce.tables.paper:TABLE4", "cfeval.vce.tables.difference:DifferenceRow"),
    "table5": Listed("cfeval.vce.tables.paper:TABLE5", "cfeval.vce.tables.difference:DifferenceRow"),
    "table6": Listed("cfeval.vce.tables.paper:TABLE6", "cfeval.vce.tables.difference:DifferenceRow"),
    "methods": Listed("cfeval.vce.tables.methods:TABLE", "cfeval.vce.tables.summary:SummaryRow"),
    "field": Listed("cfeval.vce.tables.field:TABLE", "cfeval.vce.tables.field:FieldRow"),
    "cost": Listed("cfeval.vce.tables.cost:TABLE", "cfeval.vce.tables.cost:CostRow"),
    "unguided": Listed("cfeval.vce.tables.paper:UNGUIDED", "cfeval.vce.tables.summary:SummaryRow"),
    "hypotheses": Listed("cfeval.vce.tables.hypotheses:TABLE", "cfeval.vce.tables.hypotheses:HypothesisRow"),
}
