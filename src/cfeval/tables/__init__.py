"""Tables, one file each: `edct_NAME.py` makes the rows of a table from scores and shows them.

Such a file offers `ROW`, the record of a row, `rows(arms, material)` and `sheet(rows)`; `cfeval edct table NAME` writes
it as CSV, Markdown and LaTeX.
"""

NAMES = (
    *("table1", "table2", "bench", "controls", "calibration", "instrument"),
    *("agreement", "comparisons", "variance", "repeats"),
)
"""The edct study's tables, in the order of the report."""
