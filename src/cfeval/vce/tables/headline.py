"""The headline figures as `dvc metrics` reads them: table → row → figure. About thirty: what a reader compares."""

from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.core.records import Record
from cfeval.report.tables import varying

Figures = dict[str, dict[str, Any]]
SUMMARY = ("ta", "ota_mean", "cv")
"""Of every classifier: in how many counterfactuals it sees the target, in how many the oracles do, and in how many of
those in which it does."""


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """Means by classifier under the base method, effects by hypothesis; what does not exist is left out."""
    found: Figures = {}
    if "table3" in tables:
        found["table3"] = _summaries(tables["table3"])
    if "hypotheses" in tables:
        found["hypotheses"] = _effects(tables["hypotheses"])
    return found


def _summaries(rows: Sequence[Any]) -> dict[str, dict[str, float]]:
    names = varying(rows, ("image_set", "denoiser", "method", "classifier"), ("classifier",))
    told: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.metric in SUMMARY and row.mean is not None:
            told.setdefault("/".join(getattr(row, name) for name in names), {})[row.metric] = row.mean
    return told


def _effects(rows: Sequence[Any]) -> dict[str, float]:
    names = varying(rows, ("image_set", "denoiser"), ())
    told = {"/".join([*(getattr(r, n) for n in names), f"{r.hypothesis}: {r.part}"]): r.effect for r in rows}
    return {label: effect for label, effect in told.items() if effect is not None}
