"""The tables and figures of edct by name, in the order of the report."""

from collections.abc import Mapping

from cfeval.core import registry
from cfeval.report.tables import Drawing, Listed

_OWN: Mapping[str, Listed] = {
    "table1": Listed("cfeval.edct.tables.conditions:TABLE1"),
    "table2": Listed("cfeval.edct.tables.conditions:TABLE2"),
    "bench": Listed("cfeval.edct.tables.conditions:BENCH"),
    "card": Listed("cfeval.edct.tables.card:CARD"),
    "bounds": Listed("cfeval.edct.tables.card:CARD_BOUNDS"),
    "faithfulness": Listed("cfeval.edct.tables.faithfulness:FAITHFULNESS"),
    "controls": Listed("cfeval.edct.tables.faithfulness:CONTROLS_TABLE"),
    "calibration": Listed("cfeval.edct.tables.calibration:CALIBRATION"),
    "test_models": Listed("cfeval.edct.tables.test_models:TEST_MODELS"),
    "instrument": Listed("cfeval.edct.tables.calibration:INSTRUMENT"),
    "gate": Listed("cfeval.edct.tables.reliability:GATE", "counterfactuals"),
    "pairs": Listed("cfeval.edct.pairs.table:TABLE", "pair_verdicts"),
    "agreement": Listed("cfeval.edct.tables.reliability:AGREEMENT"),
    "comparisons": Listed("cfeval.edct.tables.comparisons:COMPARISONS"),
    "variance": Listed("cfeval.edct.tables.reliability:VARIANCE"),
    "repeats": Listed("cfeval.edct.tables.reliability:REPEATS"),
}
TABLES: Mapping[str, Listed] = {**{name: Listed(place) for name, place in registry.places("tables").items()}, **_OWN}
"""Ours, and before them those that other packages offer in the group `cfeval.tables` (`edct.tables.more`)."""
FIGURES: Mapping[str, Drawing] = {
    "forest": Drawing("cfeval.edct.figures:draw_forest", "table1"),
    "axes": Drawing("cfeval.edct.figures:draw_axes", "controls"),
    "test_models": Drawing("cfeval.edct.figures:draw_test_models", "test_models"),
    "calibration": Drawing("cfeval.edct.figures:draw_calibration", "calibration"),
    "pairs": Drawing("cfeval.edct.figures:draw_pairs", "pairs"),
}
