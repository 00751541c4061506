"""Tables, one file each: `STUDY_NAME.py` makes the rows of a table from scores and shows them.

Such a file offers a `Table`: the record of a row, `rows(…)` and `sheet(rows)`; `cfeval STUDY table NAME` writes it as
CSV, Markdown and LaTeX.
"""
