"""The figures, one file each: `figure_STUDY_NAME.py` draws it with `draw(rows)` from the rows of one table."""

from typing import NamedTuple


class Drawing(NamedTuple):
    """How a figure comes about."""

    draw: str
    """The function that draws it."""
    table: str
    """The table from whose rows."""
