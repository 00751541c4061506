"""The figures, one file each: `figure_STUDY_NAME.py` draws it with `draw(rows)` from the rows of one table."""

from collections.abc import Mapping

TABLE_OF: Mapping[str, Mapping[str, str]] = {
    "edct": {"forest": "table1", "axes": "controls", "calibration": "calibration"},
    "vce": {"validity": "methods"},
    "cvqa": {"answers": "answers", "accuracy": "table3", "puzzles": "table7", "bias": "bias"},
}
"""The figures of each study, and the table that each shows."""
