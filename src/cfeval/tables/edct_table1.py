"""EDCT 2025, Table 1: targets side by side; mean PCS, NCC and CCS with intervals."""

from collections.abc import Sequence
from functools import partial

from cfeval.records.edct_tables import ArmRow
from cfeval.tables.arm_rows import arm_rows
from cfeval.tables.arm_sheet import arm_sheet
from cfeval.tables.formats import Sheet, Table

rows = partial(arm_rows, "table1")


def sheet(of: Sequence[ArmRow]) -> Sheet:
    """The table for readers."""
    return arm_sheet("edct_table1", "EDCT, Table 1: faithfulness of explanations by target", of)


TABLE = Table(row=ArmRow, rows=rows, sheet=sheet)
