"""Where a study's results lie: those of params.yaml in `results`, those of other parameters in a folder of their own.

So a quick look with fewer items never overwrites what is sealed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cfeval.core.errors import ParamsError

RESULTS = "results"
PARAMS = Path("params.yaml")
"""The parameter file where none is named; that of a named study is in its folder of results."""
_TAKEN = ("edct", "vce", "cvqa", "try", "tables", "figures", "report", "default", "workspace")
"""Names of folders below `results`, or once there, and words that `cfeval diff` has for others."""
_NO_MATTER = ("name", "calls", "limits", "container")
"""Sections on which no result depends."""


def root_of(base: Any, merged: Any, overlays: Sequence[Path]) -> str:
    """The folder of results of some parameters.

    Args:
        base: what params.yaml says, unchecked.
        merged: the same with overlays and `--config` laid over.
        overlays: the files that were laid over; the last gives the name where they give none of their own.

    Raises:
        ParamsError: the parameters are not those of params.yaml, and nobody gave them a name; or the name is taken.
    """
    own = base.get("name") if isinstance(base, Mapping) else None
    named = merged.get("name")
    same = _matter(base) == _matter(merged)
    name = named if same or named != own else _stem(overlays)
    if name in _TAKEN:
        raise ParamsError(f"name: '{name}' is the name of a folder in {RESULTS}; take another")
    return f"{RESULTS}/{name}" if name else RESULTS


def _stem(overlays: Sequence[Path]) -> str:
    if not overlays:
        raise ParamsError(
            "these are not the parameters of params.yaml, whose results would be overwritten; give them a name: "
            "snakemake --config name=NAME …, and they lie in results/NAME"
        )
    return overlays[-1].stem


def _matter(content: Any) -> dict[str, Any]:
    its = content if isinstance(content, Mapping) else {}
    return {key: value for key, value in its.items() if key not in _NO_MATTER}
