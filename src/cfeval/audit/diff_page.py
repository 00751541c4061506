"""A comparison of two runs as one HTML page, which needs nothing beside it."""

from cfeval.audit.causes import shown
from cfeval.audit.differences import Difference
from cfeval.report.html import rendered


def page(of: Difference) -> str:
    """The page; the same comparison gives the same text, and what models said is escaped."""
    return rendered(
        "diff.html.j2", ["report.css", "print.css"], [], of=of, finding=finding(of), shown=shown, signed=signed
    )


def finding(of: Difference) -> str:
    """What moved, in two sentences made from the numbers."""
    studies = of.studies.values()
    cells = [cell for study in studies for row in study.rows for cell in row.cells]
    beyond = sum(cell.beyond is True for cell in cells)
    conditions = [one for study in studies for one in study.conditions]
    flipped, both = sum(one.flipped for one in conditions), sum(one.both for one in conditions)
    if not cells and not conditions and not any(study.rows for study in studies):
        return "No figure and no item differs."
    alone = [row for study in studies for row in study.rows if row.what != "changed"]
    more = f", and {len(alone):,} rows are on one side only" if alone else ""
    told = f"{len(cells):,} figures differ, {beyond:,} of them beyond both intervals{more}."
    return f"{told} {flipped:,} of {both:,} items flipped in the {len(conditions):,} conditions that differ."


def signed(number: float) -> str:
    """`+0.25`, `−0.25`."""
    return f"{number:+g}".replace("-", "−")
