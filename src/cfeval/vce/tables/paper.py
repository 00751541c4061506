"""DBVCE, Table 2: every figure of the base setup (ideal targets, cone projection, x0-prediction).

DBVCE, Table 3: the minimal set of figures of the base setup.

DBVCE, Table 4: how the figures of Table 3 change without cone projection.

DBVCE, Table 5: how the figures of Table 3 change without x0-prediction.

DBVCE, Table 6: how the figures of Table 3 change when the target is not the one that suits the source.

The unguided baseline: how often noising and denoising alone keep the source class, or hit the target.

What counterfactuals are worth stands only against this: a start at too much noise changes the class by itself.
"""

from collections.abc import Sequence

from cfeval.report.tables import Sheet, Table
from cfeval.vce.tables.difference import DifferenceRow, difference_rows, difference_sheet
from cfeval.vce.tables.group_scores import GroupMaterial, is_minimal
from cfeval.vce.tables.summary import SummaryRow, summary_rows, summary_sheet

TABLE2_EMPTY = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."


def table2_rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    return summary_rows(material, material.roles.base, "table2")


def table2_sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    return summary_sheet(
        "vce_table2", "DBVCE, Table 2: counterfactuals in the base setup, all figures", of, TABLE2_EMPTY
    )


TABLE2 = Table(row=SummaryRow, rows=table2_rows, sheet=table2_sheet)


def table3_rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    roles = material.roles
    return summary_rows(material, roles.base, "table3", lambda metric: is_minimal(metric, roles))


def table3_sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    return summary_sheet("vce_table3", "DBVCE, Table 3: counterfactuals in the base setup", of, TABLE2_EMPTY)


TABLE3 = Table(row=SummaryRow, rows=table3_rows, sheet=table3_sheet)


TABLE4_EMPTY = "Empty: no groups of the method without cone projection (vce.roles.no_cone)."


def table4_rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.no_cone, "ideal", "table4")


def table4_sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet("vce_table4", "DBVCE, Table 4: no cone projection, change to Table 3", of, TABLE4_EMPTY)


TABLE4 = Table(row=DifferenceRow, rows=table4_rows, sheet=table4_sheet)


TABLE5_EMPTY = "Empty: no groups of the method without x0-prediction (vce.roles.no_x0)."


def table5_rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.no_x0, "ideal", "table5")


def table5_sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet("vce_table5", "DBVCE, Table 5: no x0-prediction, change to Table 3", of, TABLE5_EMPTY)


TABLE5 = Table(row=DifferenceRow, rows=table5_rows, sheet=table5_sheet)


TABLE6_EMPTY = "Empty: no groups of the base method with other targets (vce.roles.base)."


def table6_rows(material: GroupMaterial) -> list[DifferenceRow]:
    """A row a classifier and figure: differences of mean and of sample sd over groups."""
    return difference_rows(material, material.roles.base, "other", "table6")


def table6_sheet(of: Sequence[DifferenceRow]) -> Sheet:
    """The table for readers."""
    return difference_sheet(
        "vce_table6", "DBVCE, Table 6: targets that are not ideal, change to Table 3", of, TABLE6_EMPTY
    )


TABLE6 = Table(row=DifferenceRow, rows=table6_rows, sheet=table6_sheet)


UNGUIDED_EMPTY = "Empty: no groups of the unguided method, or params.yaml names none (vce.roles.unguided)."
_TITLE = "Without guidance: what noising and denoising alone do"
_READING = "OA is the share that keeps its class without guidance, TA the share that hits the target by chance."


def unguided_rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    roles = material.roles
    wanted = ("oa", "fr")
    return summary_rows(material, roles.unguided, "", lambda name: name in wanted or is_minimal(name, roles))


def unguided_sheet(of: Sequence[SummaryRow]) -> Sheet:
    """The table for readers."""
    found = summary_sheet("vce_unguided", _TITLE, of, UNGUIDED_EMPTY)
    return Sheet(found.name, found.title, found.headings, found.body, (_READING, *found.notes) if of else found.notes)


UNGUIDED = Table(row=SummaryRow, rows=unguided_rows, sheet=unguided_sheet)
