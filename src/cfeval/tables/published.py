"""Published figures beside one's own: only where the paper has that very cell."""

import re
from collections.abc import Iterable

from cfeval.records.edct import Arm
from cfeval.records.edct_tables import Published

_JOINED = ("dataset", "vlm", "writer", "editor", "judge")


def published_figures(arm: Arm, table: str, published: Iterable[Published]) -> dict[str, float]:
    """The figures, by metric, that a paper printed for this arm in this table.

    Names are compared without letter case, `-`, `_`, `.` and spaces. Where two lines match, the first counts.
    """
    found: dict[str, float] = {}
    for line in published:
        if line.table == table and _same_cell(line, arm):
            found.setdefault(line.metric, line.value)
    return found


def _same_cell(line: Published, arm: Arm) -> bool:
    named = [name for name in _JOINED if getattr(line, name)]
    return line.protocol == arm.protocol and all(_plain(getattr(line, n)) == _plain(getattr(arm, n)) for n in named)


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.casefold())
