"""The tables and figures of cvqa by name, in the order of the report."""

from collections.abc import Mapping

from cfeval.report.tables import Drawing, Listed

TABLES: Mapping[str, Listed] = {
    "statistics": Listed("cfeval.cvqa.tables.sets:STATISTICS"),
    "answers": Listed("cfeval.cvqa.tables.sets:ANSWERS"),
    "table3": Listed("cfeval.cvqa.tables.accuracy:TABLE3"),
    "table4": Listed("cfeval.cvqa.tables.comparisons:CHAIN_OF_THOUGHT"),
    "table5": Listed("cfeval.cvqa.tables.accuracy:TABLE5"),
    "table6": Listed("cfeval.cvqa.tables.accuracy:TABLE6"),
    "table7": Listed("cfeval.cvqa.tables.accuracy:TABLE7"),
    "bias": Listed("cfeval.cvqa.tables.comparisons:BIAS"),
    "readers": Listed("cfeval.cvqa.tables.readers:READERS_TABLE"),
    "reply_readers": Listed("cfeval.cvqa.tables.reply_readers:REPLY_READERS"),
    "open_answers": Listed("cfeval.cvqa.tables.reply_readers:OPEN_ANSWERS"),
    "positions": Listed("cfeval.cvqa.tables.readers:POSITIONS"),
    "contamination": Listed("cfeval.cvqa.tables.comparisons:CONTAMINATION"),
    "programs": Listed("cfeval.cvqa.tables.programs:PROGRAMS"),
    "builds": Listed("cfeval.cvqa.tables.sets:BUILDS"),
}
FIGURES: Mapping[str, Drawing] = {
    "answers": Drawing("cfeval.cvqa.figures:draw_answers", "answers"),
    "accuracy": Drawing("cfeval.cvqa.figures:draw_accuracy", "table3"),
    "puzzles": Drawing("cfeval.cvqa.figures:draw_puzzles", "table7"),
    "bias": Drawing("cfeval.cvqa.figures:draw_bias", "bias"),
}
