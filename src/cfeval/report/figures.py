"""The figures, one file each: `figure_NAME.py` draws it with `draw(rows)` from the rows of one table."""

TABLE_OF = {"forest": "table1", "axes": "controls", "calibration": "calibration"}
"""The table that each shows."""
NAMES = tuple(TABLE_OF)
