"""The tables of cvqa by name, in the order of the report, and the figures that `dvc metrics` shows."""

from collections.abc import Mapping

from cfeval.report.tables import Listed

TABLES: Mapping[str, Listed] = {
    "statistics": Listed(
        "cfeval.cvqa.tables.question_statistics:STATISTICS", "cfeval.cvqa.tables.question_statistics:StatisticsRow"
    ),
    "answers": Listed(
        "cfeval.cvqa.tables.question_statistics:ANSWERS", "cfeval.cvqa.tables.question_statistics:AnswersRow"
    ),
    "table3": Listed("cfeval.cvqa.tables.accuracy:TABLE3", "cfeval.cvqa.tables.replies:AccuracyRow"),
    "table4": Listed("cfeval.cvqa.tables.chain_of_thought:TABLE", "cfeval.cvqa.tables.chain_of_thought:CotRow"),
    "table5": Listed("cfeval.cvqa.tables.accuracy:TABLE5", "cfeval.cvqa.tables.replies:AccuracyRow"),
    "table6": Listed("cfeval.cvqa.tables.accuracy:TABLE6", "cfeval.cvqa.tables.replies:AccuracyRow"),
    "table7": Listed("cfeval.cvqa.tables.accuracy:TABLE7", "cfeval.cvqa.tables.replies:AccuracyRow"),
    "bias": Listed("cfeval.cvqa.tables.bias:TABLE", "cfeval.cvqa.tables.bias:BiasRow"),
    "readers": Listed("cfeval.cvqa.tables.extraction:TABLE", "cfeval.cvqa.tables.extraction:ReadersRow"),
    "reply_readers": Listed(
        "cfeval.cvqa.tables.reply_readers:TABLE", "cfeval.cvqa.tables.reply_readers:ReplyReadersRow"
    ),
    "open_answers": Listed("cfeval.cvqa.tables.open_answers:TABLE", "cfeval.cvqa.tables.open_answers:OpenAnswersRow"),
    "positions": Listed("cfeval.cvqa.tables.positions:TABLE", "cfeval.cvqa.tables.positions:PositionsRow"),
    "contamination": Listed(
        "cfeval.cvqa.tables.contamination:TABLE", "cfeval.cvqa.tables.contamination:ContaminationRow"
    ),
    "programs": Listed("cfeval.cvqa.tables.programs:TABLE", "cfeval.cvqa.tables.programs:ProgramsRow"),
    "builds": Listed("cfeval.cvqa.tables.builds:TABLE", "cfeval.cvqa.tables.builds:BuildsRow"),
}
