"""The report: one static HTML page without external resources, which works from the file system."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cfeval.report.cards import Card
from cfeval.report.colors import GRID, INK, MUTED, PAPER
from cfeval.report.payload import payload
from cfeval.report.showcase import showcase
from cfeval.report.templating import rendered
from cfeval.tables.formats import Sheet

_THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "none"}


@dataclass(frozen=True)
class Section:
    """A table and the figure beside it (SVG as cfeval draws it), either of them optional."""

    sheet: Sheet | None = None
    figure: str = ""


def page(sections: Sequence[Section], cards: Sequence[Card], left_out: int, test_targets: Collection[str]) -> str:
    """The whole page; the same arguments give the same text.

    Args:
        sections: tables and figures, in order.
        cards: what the gallery shows.
        left_out: how many further items the gallery does not show.
        test_targets: targets that are built-in test models, to be said on the page.
    """
    return rendered(
        "report.html.j2",
        styles=["palette.css", "report.css"],
        scripts=["gallery.js"],
        sections=[(section.sheet, themed(section.figure)) for section in sections],
        showcase=showcase(cards),
        data=payload(cards),
        shown=len(cards),
        left_out=left_out,
        test_targets=test_targets,
    )


def themed(svg: str) -> Markup:
    """A figure to stand in the page, in the page's own colors, light or dark."""
    body = svg[svg.find("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    for color, own in _THEMED.items():
        body = body.replace(color, own)
    return Markup(body)
