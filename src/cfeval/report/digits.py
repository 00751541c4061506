"""Figures as a page shows them: two decimals where they rest on fewer than 1,000 items. Tables keep what they have."""

import re

FEW = 1000
"""Items: with fewer, the third decimal of a share says nothing."""
_FIGURE = re.compile(r"(?<![\w.-])-?\d+\.\d{4}(?!\d)")


def two(value: float) -> str:
    """A figure with two decimals; 0.00 and 1.00 only where it is exactly that, else `<0.01` and `>0.99`."""
    text = f"{value:.2f}"
    if text in ("0.00", "-0.00") and value != 0:
        return "<0.01" if value > 0 else ">−0.01"
    if text == "1.00" and value < 1:
        return ">0.99"
    return text.replace("-", "−")


def percent(value: float) -> str:
    """A share as a whole percentage, by the same rule: `99 %`, `>99 %`."""
    text = f"{100 * value:.0f}"
    if (text == "0" and value > 0) or (text == "100" and value < 1):
        return "<1 %" if text == "0" else ">99 %"
    return f"{text} %"


def shortened(cell: str, n: int) -> str:
    """A table's cell with two decimals, where it rests on fewer than `FEW` items."""
    return _FIGURE.sub(lambda found: two(float(found[0])), cell) if n < FEW else cell
