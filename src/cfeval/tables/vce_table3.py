"""DBVCE, Table 3: the minimal set of figures of the base setup."""

from collections.abc import Sequence

from cfeval.records.vce_tables import SummaryRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_material import GroupMaterial
from cfeval.tables.group_minimal import is_minimal
from cfeval.tables.group_summary import summary_rows, summary_sheet
from cfeval.tables.vce_table2 import EMPTY


def rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    roles = material.roles
    return summary_rows(material, roles.base, "table3", lambda metric: is_minimal(metric, roles))


def sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    return summary_sheet("vce_table3", "DBVCE, Table 3: counterfactuals in the base setup", of, EMPTY)


TABLE = Table(row=SummaryRow, rows=rows, sheet=sheet)
