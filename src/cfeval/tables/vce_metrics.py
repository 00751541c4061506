"""The vce study's headline figures as `dvc metrics` reads them: table → row → figure. Few: what a reader compares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cfeval.records.common import Record

Figures = dict[str, dict[str, dict[str, float]]]
_SUMMARIES = ("table3", "methods", "unguided")
_TABLES = (*_SUMMARIES, "hypotheses")


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """Means by classifier (and method), effects and adjusted p-values by hypothesis; tables of differences follow
    from these and are left out. What does not exist is left out too.
    """
    return {name: _figures(name, of) for name, of in tables.items() if name in _TABLES}


def _figures(name: str, rows: Sequence[Record]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    told: Callable[[Any], dict[str, float | None]] = _mean if name in _SUMMARIES else _effect
    for row in rows:
        values = {key: value for key, value in told(row).items() if value is not None}
        found.setdefault(_label(name, row), {}).update(values)
    return found


def _label(name: str, row: Any) -> str:
    last = f"{row.hypothesis}: {row.part}" if name == "hypotheses" else f"{row.classifier}/{row.method}"
    return f"{row.image_set}/{row.denoiser}/{last}"


def _mean(row: Any) -> dict[str, float | None]:
    return {row.metric: row.mean, "n": row.n, "n_scored": row.n_scored}


def _effect(row: Any) -> dict[str, float | None]:
    return {"effect": row.effect, "p_holm": row.p_holm, "n_scored": row.n_scored}
