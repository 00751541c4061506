"""DBVCE, Table 2: every figure of the base setup (ideal targets, cone projection, x0-prediction)."""

from collections.abc import Sequence

from cfeval.records.vce_tables import SummaryRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_material import GroupMaterial
from cfeval.tables.group_summary import summary_rows, summary_sheet

EMPTY = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."


def rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    return summary_rows(material, material.roles.base, "table2")


def sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    return summary_sheet("vce_table2", "DBVCE, Table 2: counterfactuals in the base setup, all figures", of, EMPTY)


TABLE = Table(row=SummaryRow, rows=rows, sheet=sheet)
