"""DBVCE, Table 5: how the figures of Table 3 change without x0-prediction."""

from collections.abc import Sequence

from cfeval.records.vce_tables import DifferenceRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_difference import difference_rows, difference_sheet
from cfeval.tables.group_material import GroupMaterial

EMPTY = "Empty: no groups of the method without x0-prediction (vce.roles.no_x0)."


def rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.no_x0, "ideal", "table5")


def sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet("vce_table5", "DBVCE, Table 5: no x0-prediction, change to Table 3", of, EMPTY)


TABLE = Table(row=DifferenceRow, rows=rows, sheet=sheet)
