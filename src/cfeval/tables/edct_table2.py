"""EDCT 2025, Table 2: the same target under several judges and editors; how far the instrument moves the figure."""

from collections.abc import Sequence
from functools import partial

from cfeval.records.edct_tables import ArmRow
from cfeval.tables.arm_rows import arm_rows
from cfeval.tables.arm_sheet import arm_sheet
from cfeval.tables.formats import Sheet, Table

_ORDER = ("dataset", "vlm", "writer", "judge", "editor", "protocol")
rows = partial(arm_rows, "table2")


def sheet(of: Sequence[ArmRow]) -> Sheet:
    """The table for readers; the judge stands before the editor, as in the paper."""
    return arm_sheet("edct_table2", "EDCT, Table 2: robustness to judge and editor", of, _ORDER, always="judge")


TABLE = Table(row=ArmRow, rows=rows, sheet=sheet)
