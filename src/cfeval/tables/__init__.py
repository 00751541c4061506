"""Tables, one file each: `STUDY_NAME.py` makes the rows of a table from scores and shows them.

Such a file offers `ROW`, the record of a row, `rows(…)` and `sheet(rows)`; `cfeval STUDY table NAME` writes it as CSV,
Markdown and LaTeX.
"""

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "edct": (
        *("table1", "table2", "bench", "controls", "calibration", "instrument"),
        *("agreement", "comparisons", "variance", "repeats"),
    ),
    "vce": ("table2", "table3", "table4", "table5", "table6", "methods", "unguided", "hypotheses"),
    "cvqa": (
        *("statistics", "answers", "table3", "table4", "table5", "table6", "table7"),
        *("bias", "readers", "positions", "programs", "builds"),
    ),
}
"""The tables of each study, in the order of the report."""
