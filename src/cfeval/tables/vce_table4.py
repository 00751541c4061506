"""DBVCE, Table 4: how the figures of Table 3 change without cone projection."""

from collections.abc import Sequence

from cfeval.records.vce_tables import DifferenceRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_difference import difference_rows, difference_sheet
from cfeval.tables.group_material import GroupMaterial

EMPTY = "Empty: no groups of the method without cone projection (vce.roles.no_cone)."


def rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.no_cone, "ideal", "table4")


def sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet("vce_table4", "DBVCE, Table 4: no cone projection, change to Table 3", of, EMPTY)


TABLE = Table(row=DifferenceRow, rows=rows, sheet=sheet)
