"""The tables of DBVCE: figures of the base setup (2 and 3), and how they change without one of its parts (4 to 6).

Beside them the unguided baseline: how often noising and denoising alone keep the source class, or hit the target. What
counterfactuals are worth stands only against this: a start at too much noise changes the class by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from cfeval.report.tables import RenderedTable, Table
from cfeval.vce.config import Roles
from cfeval.vce.records import Pair
from cfeval.vce.tables.difference import DifferenceRow, difference_rows, render_difference
from cfeval.vce.tables.group_scores import GroupMaterial, is_minimal
from cfeval.vce.tables.summary import SummaryRow, render_summary, summary_rows

_NO_BASE = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."
_NO_UNGUIDED = "Empty: no groups of the unguided method, or params.yaml names none (vce.roles.unguided)."
_READING = "OA is the share that keeps its class without guidance, TA the share that hits the target by chance."


def _base(number: int, title: str, wanted: Callable[[str, Roles], bool]) -> Table[[GroupMaterial], SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""

    def rows(material: GroupMaterial) -> list[SummaryRow]:
        roles = material.roles
        return summary_rows(material, roles.base, f"table{number}", lambda metric: wanted(metric, roles))

    def render(of: Sequence[SummaryRow]) -> RenderedTable:
        return render_summary(f"vce_table{number}", f"DBVCE, Table {number}: {title}", of, _NO_BASE)

    return Table(row=SummaryRow, rows=rows, render=render)


def _change(
    number: int, title: str, role: Literal["base", "no_cone", "no_x0"], pair: Pair, groups: str
) -> Table[[GroupMaterial], DifferenceRow]:
    """A row a classifier and figure of Table 3: differences of mean and of sample sd over groups.

    Args:
        role: what the method stands for whose groups are compared with the base's.
        pair: of these groups.
        groups: what they are called where there are none.
    """

    def rows(material: GroupMaterial) -> list[DifferenceRow]:
        return difference_rows(material, getattr(material.roles, role), pair, f"table{number}")

    def render(of: Sequence[DifferenceRow]) -> RenderedTable:
        named = f"DBVCE, Table {number}: {title}, change to Table 3"
        return render_difference(f"vce_table{number}", named, of, f"Empty: no groups of {groups} (vce.roles.{role}).")

    return Table(row=DifferenceRow, rows=rows, render=render)


TABLE2 = _base(2, "counterfactuals in the base setup, all figures", lambda *_: True)
TABLE3 = _base(3, "counterfactuals in the base setup", is_minimal)
TABLE4 = _change(4, "no cone projection", "no_cone", "ideal", "the method without cone projection")
TABLE5 = _change(5, "no x0-prediction", "no_x0", "ideal", "the method without x0-prediction")
TABLE6 = _change(6, "targets that are not ideal", "base", "other", "the base method with other targets")


def _unguided_rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""
    roles = material.roles
    return summary_rows(
        material, roles.unguided, "", lambda metric: metric in ("oa", "fr") or is_minimal(metric, roles)
    )


def _render_unguided(of: Sequence[SummaryRow]) -> RenderedTable:
    found = render_summary("vce_unguided", "Without guidance: what noising and denoising alone do", of, _NO_UNGUIDED)
    return replace(found, notes=(_READING, *found.notes)) if of else found


UNGUIDED = Table(row=SummaryRow, rows=_unguided_rows, render=_render_unguided)
