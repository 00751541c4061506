"""The tables and figures of edct by name, in the order of the report."""

from collections.abc import Mapping

from cfeval.core import registry
from cfeval.report.tables import Drawing, Listed

_OWN: Mapping[str, Listed] = {
    "table1": Listed("cfeval.edct.tables.conditions:TABLE1"),
    "table2": Listed("cfeval.edct.tables.conditions:TABLE2"),
    "bench": Listed("cfeval.edct.tables.conditions:BENCH"),
    "card": Listed("cfeval.edct.tables.card:TABLE"),
    "bounds": Listed("cfeval.edct.tables.bounds:TABLE"),
    "faithfulness": Listed("cfeval.edct.tables.faithfulness:TABLE"),
    "controls": Listed("cfeval.edct.tables.controls:TABLE"),
    "calibration": Listed("cfeval.edct.tables.calibration:TABLE"),
    "test_models": Listed("cfeval.edct.tables.test_models:TABLE"),
    "instrument": Listed("cfeval.edct.tables.instrument:TABLE"),
    "gate": Listed("cfeval.edct.tables.gate:TABLE", "counterfactuals"),
    "pairs": Listed("cfeval.edct.pairs.table:TABLE", "pair_verdicts"),
    "agreement": Listed("cfeval.edct.tables.agreement:TABLE"),
    "comparisons": Listed("cfeval.edct.tables.comparisons:TABLE"),
    "variance": Listed("cfeval.edct.tables.variance:VARIANCE"),
    "repeats": Listed("cfeval.edct.tables.variance:REPEATS"),
}
TABLES: Mapping[str, Listed] = {**{name: Listed(place) for name, place in registry.places("tables").items()}, **_OWN}
"""Ours, and before them those that other packages offer in the group `cfeval.tables` (`edct.tables.more`)."""
FIGURES: Mapping[str, Drawing] = {
    "forest": Drawing("cfeval.edct.figures.forest:draw", "table1"),
    "axes": Drawing("cfeval.edct.figures.axes:draw", "controls"),
    "test_models": Drawing("cfeval.edct.figures.test_models:draw", "test_models"),
    "calibration": Drawing("cfeval.edct.figures.calibration:draw", "calibration"),
    "pairs": Drawing("cfeval.edct.figures.pairs:draw", "pairs"),
}
