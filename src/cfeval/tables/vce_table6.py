"""DBVCE, Table 6: how the figures of Table 3 change when the target is not the one that suits the source."""

from collections.abc import Sequence

from cfeval.records.vce_tables import DifferenceRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_difference import difference_rows, difference_sheet
from cfeval.tables.group_material import GroupMaterial

EMPTY = "Empty: no groups of the base method with other targets (vce.roles.base)."


def rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.base, "other", "table6")


def sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet("vce_table6", "DBVCE, Table 6: targets that are not ideal, change to Table 3", of, EMPTY)


TABLE = Table(row=DifferenceRow, rows=rows, sheet=sheet)
