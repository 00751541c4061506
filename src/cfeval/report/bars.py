"""The project's colors, and small drawings in the cells of a page's first table, as SVG in the page's own colors."""

from collections.abc import Sequence

from markupsafe import Markup

INK, MUTED, GRID, PAPER = "#1b2430", "#6b7684", "#d9dee5", "#fefefe"
"""Text, secondary text, lines and background; the report swaps them for its own in dark mode."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Okabe and Ito's palette, which color-blind readers can tell apart."""
LEFT = 6.0
"""In pixels: the margin at both ends of a bar."""
Estimated = tuple[float, float, float]
"""A figure, and its interval from low to high."""


def interval_bar(
    found: Estimated | None,
    bound: float,
    shaded: tuple[float, float] | None,
    label: str,
    width: float,
    span: tuple[float, float] = (0.0, 1.0),
) -> Markup:
    """A figure with its interval on a line, the bound that it is held against, and where a claim holds.

    Args:
        found: None: there is no figure, and the line stays empty.
        bound: where the dashed line is.
        shaded: from where to where the claim holds; None: that is not marked.
        label: the accessible name.
        width: in pixels.
        span: what the ends of the line stand for; what lies outside is drawn at the end.
    """

    def x(value: float) -> float:
        share = (value - span[0]) / (span[1] - span[0])
        return round(LEFT + min(1.0, max(0.0, share)) * (width - 2 * LEFT), 1)

    mark = area = Markup("")
    if shaded:
        area = _rect("good", x(shaded[0]), 3, round(x(shaded[1]) - x(shaded[0]), 1), 18)
    if found:
        value, low, high = found
        mark = _rect("span", round(x(low) - 1, 1), 7, round(x(high) - x(low) + 2, 1), 10)
        mark += Markup('<circle class="dot" cx="{}" cy="12" r="3.6"/>').format(x(value))
    dashed = Markup('<line class="bound" x1="{0}" x2="{0}" y1="1" y2="23"/>').format(x(bound))
    return _drawing(area + dashed + mark, label, width)


def change_bar(before: float, after: float, label: str, width: float) -> Markup:
    """A share before (hollow) and after (filled) a change, on the line from 0 to 1."""
    start, end = (round(LEFT + share * (width - 2 * LEFT), 1) for share in (before, after))
    drawn = Markup('<line class="way" x1="{}" x2="{}" y1="12" y2="12"/>').format(start, end)
    drawn += Markup('<circle class="was" cx="{}" cy="12" r="4.4"/>').format(start)
    return _drawing(drawn + Markup('<circle class="dot" cx="{}" cy="12" r="3.6"/>').format(end), label, width)


def _drawing(content: Markup, label: str, width: float) -> Markup:
    return Markup(
        '<svg class="bar" viewBox="0 0 {0} 24" width="{0}" height="24" role="img" aria-label="{1}">'
        '<line class="axis" x1="{2}" x2="{3}" y1="12" y2="12"/>{4}</svg>'
    ).format(f"{width:g}", label, LEFT, width - LEFT, content)


def _rect(name: str, left: float, top: int, width: float, height: int) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="2"/>').format(
        name, left, top, width, height
    )


def counts_bar(counts: Sequence[tuple[str, int]], label: str, width: float) -> Markup:
    """Counts as parts of one bar, side by side.

    Args:
        counts: of each part the class in the style sheet, and how many; all together at least one.
        label: the accessible name.
        width: in pixels.
    """
    total, left, parts = sum(count for _, count in counts), 0.0, Markup("")
    for name, count in counts:
        part = width * count / total
        if count:
            parts += Markup('<rect class="{}" x="{}" y="0" width="{}" height="12"/>').format(
                name, round(left, 1), round(max(part - 1, 0.6), 1)
            )
        left += part
    return Markup(
        '<svg class="counts" viewBox="0 0 {0} 12" width="{0}" height="12" preserveAspectRatio="none" role="img" '
        'aria-label="{1}">{2}</svg>'
    ).format(f"{width:g}", label, parts)
