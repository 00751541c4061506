"""The tables of cvqa by name, in the order of the report, and the figures that `dvc metrics` shows."""

from collections.abc import Mapping

from cfeval.tables.formats import Listed

TABLES: Mapping[str, Listed] = {
    "statistics": Listed("cfeval.tables.cvqa_statistics:TABLE", "cfeval.records.cvqa_tables:StatisticsRow"),
    "answers": Listed("cfeval.tables.cvqa_answers:TABLE", "cfeval.records.cvqa_tables:AnswersRow"),
    "table3": Listed("cfeval.tables.cvqa_table3:TABLE", "cfeval.records.cvqa_tables:AccuracyRow"),
    "table4": Listed("cfeval.tables.cvqa_table4:TABLE", "cfeval.records.cvqa_tables:CotRow"),
    "table5": Listed("cfeval.tables.cvqa_table5:TABLE", "cfeval.records.cvqa_tables:AccuracyRow"),
    "table6": Listed("cfeval.tables.cvqa_table6:TABLE", "cfeval.records.cvqa_tables:AccuracyRow"),
    "table7": Listed("cfeval.tables.cvqa_table7:TABLE", "cfeval.records.cvqa_tables:AccuracyRow"),
    "bias": Listed("cfeval.tables.cvqa_bias:TABLE", "cfeval.records.cvqa_tables:BiasRow"),
    "readers": Listed("cfeval.tables.cvqa_readers:TABLE", "cfeval.records.cvqa_tables:ReadersRow"),
    "positions": Listed("cfeval.tables.cvqa_positions:TABLE", "cfeval.records.cvqa_tables:PositionsRow"),
    "programs": Listed("cfeval.tables.cvqa_programs:TABLE", "cfeval.records.cvqa_tables:ProgramsRow"),
    "builds": Listed("cfeval.tables.cvqa_builds:TABLE", "cfeval.records.cvqa_tables:BuildsRow"),
}
