"""The tables of edct by name, in the order of the report. An empty cell: there is no such figure."""

from collections.abc import Mapping

from cfeval.core import registry
from cfeval.report.tables import Listed

_OWN: Mapping[str, Listed] = {
    "table1": Listed("cfeval.edct.tables.conditions:TABLE1", "cfeval.edct.tables.conditions:ConditionRow"),
    "table2": Listed("cfeval.edct.tables.conditions:TABLE2", "cfeval.edct.tables.conditions:ConditionRow"),
    "bench": Listed("cfeval.edct.tables.conditions:BENCH", "cfeval.edct.tables.conditions:BenchRow"),
    "card": Listed("cfeval.edct.tables.card:TABLE", "cfeval.edct.tables.card:CardRow"),
    "bounds": Listed("cfeval.edct.tables.bounds:TABLE", "cfeval.edct.tables.bounds:BoundRow"),
    "faithfulness": Listed("cfeval.edct.tables.faithfulness:TABLE", "cfeval.edct.tables.faithfulness:FaithfulnessRow"),
    "controls": Listed("cfeval.edct.tables.controls:TABLE", "cfeval.edct.tables.controls:ControlRow"),
    "calibration": Listed("cfeval.edct.tables.calibration:TABLE", "cfeval.edct.tables.calibration:CalibrationRow"),
    "test_models": Listed("cfeval.edct.tables.test_models:TABLE", "cfeval.edct.tables.test_models:TestModelRow"),
    "instrument": Listed("cfeval.edct.tables.instrument:TABLE", "cfeval.edct.tables.instrument:InstrumentRow"),
    "gate": Listed("cfeval.edct.tables.gate:TABLE", "cfeval.edct.tables.gate:GateRow", "counterfactuals"),
    "pairs": Listed("cfeval.edct.pairs.table:TABLE", "cfeval.edct.pairs.table:PairRow", "pair_verdicts"),
    "agreement": Listed("cfeval.edct.tables.agreement:TABLE", "cfeval.edct.tables.agreement:AgreementRow"),
    "comparisons": Listed("cfeval.edct.tables.comparisons:TABLE", "cfeval.edct.tables.comparisons:ComparisonRow"),
    "variance": Listed("cfeval.edct.tables.variance:VARIANCE", "cfeval.edct.tables.variance:VarianceRow"),
    "repeats": Listed("cfeval.edct.tables.variance:REPEATS", "cfeval.edct.tables.variance:RepeatRow"),
}
TABLES: Mapping[str, Listed] = {**{name: Listed(place) for name, place in registry.places("tables").items()}, **_OWN}
"""Ours, and before them those that other packages offer in the group `cfeval.tables` (`edct.tables.more`)."""
