"""The tables and figures of vce by name, in the order of the report."""

from collections.abc import Mapping

from cfeval.report.tables import Drawing, Listed

TABLES: Mapping[str, Listed] = {
    "answer": Listed("cfeval.vce.tables.answer:ANSWER"),
    "checks": Listed("cfeval.vce.tables.classifiers:CHECKS"),
    "concepts": Listed("cfeval.vce.tables.answer:CONCEPTS"),
    "table1": Listed("cfeval.vce.tables.classifiers:TABLE1"),
    "table2": Listed("cfeval.vce.tables.paper:TABLE2"),
    "table3": Listed("cfeval.vce.tables.paper:TABLE3"),
    "table4": Listed("cfeval.vce.tables.paper:TABLE4"),
    "table5": Listed("cfeval.vce.tables.paper:TABLE5"),
    "table6": Listed("cfeval.vce.tables.paper:TABLE6"),
    "methods": Listed("cfeval.vce.tables.methods:METHODS"),
    "field": Listed("cfeval.vce.tables.methods:FIELD"),
    "cost": Listed("cfeval.vce.tables.methods:COST"),
    "unguided": Listed("cfeval.vce.tables.paper:UNGUIDED"),
    "hypotheses": Listed("cfeval.vce.tables.hypotheses:HYPOTHESES"),
}
FIGURES: Mapping[str, Drawing] = {
    "validity": Drawing("cfeval.vce.figures:draw_validity", "methods"),
    "cost": Drawing("cfeval.vce.figures:draw_cost", "cost"),
}
