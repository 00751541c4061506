"""How conditions are called in figures."""

from collections.abc import Sequence
from typing import Any

from cfeval.edct.tables.scores import short_labels
from cfeval.report.figures import plain


def condition_labels(rows: Sequence[Any]) -> list[str]:
    """What tells each condition from the others, targets of the test world marked; rows have `test_world`."""
    return [
        plain(label.replace(row.vlm, f"{row.vlm} †", 1) if row.test_world else label)
        for row, label in zip(rows, short_labels(rows), strict=True)
    ]
