"""The unguided baseline: how often noising and denoising alone keep the source class, or hit the target.

What counterfactuals are worth stands only against this: a start at too much noise changes the class by itself.
"""

from collections.abc import Sequence

from cfeval.records.vce_tables import SummaryRow
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.group_material import GroupMaterial
from cfeval.tables.group_minimal import is_minimal
from cfeval.tables.group_summary import summary_rows, summary_sheet

EMPTY = "Empty: no groups of the unguided method, or params.yaml names none (vce.roles.unguided)."
_TITLE = "Without guidance: what noising and denoising alone do"
_READING = "OA is the share that keeps its class without guidance, TA the share that hits the target by chance."


def rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    roles = material.roles
    wanted = ("oa", "fr")
    return summary_rows(material, roles.unguided, "", lambda name: name in wanted or is_minimal(name, roles))


def sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    found = summary_sheet("vce_unguided", _TITLE, of, EMPTY)
    return Sheet(found.name, found.title, found.headings, found.body, (_READING, *found.notes) if of else found.notes)


TABLE = Table(row=SummaryRow, rows=rows, sheet=sheet)
