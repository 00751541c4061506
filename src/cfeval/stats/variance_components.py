"""How much of the scores' variance comes from what: item, writer, editor, judge, re-sampling.

Variance components of a crossed design, complete or not, by MIVQUE(0): squares of the sums at each factor's levels are
set equal to their expectations (Rao 1972; Hartley, Rao and LaMotte 1978; the default of SAS PROC VARCOMP). In a full
design these are the estimates of the analysis of variance. They are unbiased whatever the scores' distribution, so
zeros and ones are fine: the components are then those of the linear scale.

A component from few levels is as uncertain as any variance of few values: with two judges it is half the squared
difference of their means, less what is noise. It describes these two, and is a poor guide to others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
RESAMPLING = "re-sampling"
RESIDUAL = "residual"
# Below that many levels a component is called rough: its chi-squared interval spans a factor of more than 40.
FEW = 5


@dataclass(frozen=True)
class Component:
    """Where variance comes from, and how much."""

    source: str
    levels: int
    """Different values of the factor; of `residual`: cells, combinations of levels; of `re-sampling`: observations."""
    variance: float | None = None
    share: float | None = None
    """Of the sum of all components, in [0, 1]."""
    note: str = ""


def variance_split(scores: Sequence[float], factors: Mapping[str, Sequence[str]]) -> list[Component]:
    """A component for each factor, then `residual` and `re-sampling`.

    Observations with equal levels of every factor are repeats of one cell, and what differs between them is
    `re-sampling`. `residual` is what the factors do only together (a judge who dislikes one writer's edits of one
    item); where no cell was repeated it holds re-sampling as well, which then has no component of its own. Factors
    whose levels always come together (one model as writer and judge) share one component: `writer and judge`.

    Args:
        scores: N observations.
        factors: by name, the level that each observation has.

    Raises:
        ValueError: there are no scores, or a factor has not one level for each.
    """
    uneven = [name for name, levels in factors.items() if len(levels) != len(scores)]
    if uneven or not scores:
        raise ValueError(
            f"there must be a level of {' and '.join(uneven) or 'each factor'} for each of {len(scores)} scores"
        )
    parts, silent = _parts(factors, len(scores))
    variances = _mivque0(np.asarray(scores, dtype=np.float64), list(parts.values())) if parts else None
    if variances is None:
        note = "the design cannot tell the sources apart"
        return [Component(name, _levels(codes), note=note) for name, codes in parts.items()] + silent
    total = float(np.maximum(variances, 0).sum())
    named = zip(parts.items(), variances, strict=True)
    return [_component(name, _levels(codes), float(variance), total) for (name, codes), variance in named] + silent


def _parts(factors: Mapping[str, Sequence[str]], n: int) -> tuple[dict[str, Codes], list[Component]]:
    """The different ways in which sources part the observations, by name; and the sources without a component."""
    codes_by_factor = {name: _codes(np.asarray(levels)) for name, levels in factors.items()}
    cells = _codes(np.stack(list(codes_by_factor.values()), axis=1))
    parts: dict[str, Codes] = {}
    silent = []
    for name, codes in {**codes_by_factor, RESIDUAL: cells, RESAMPLING: np.arange(n)}.items():
        same = next((other for other, same_codes in parts.items() if _same(codes, same_codes)), None)
        why = _silence(name, _levels(codes), n, same)
        if why:
            silent.append(Component(name, _levels(codes), note=why))
        elif same:
            parts = {
                f"{other} and {name}" if other == same else other: same_codes for other, same_codes in parts.items()
            }
        else:
            parts[name] = codes
    return parts, silent


def _silence(name: str, levels: int, n: int, same: str | None) -> str:
    """Why a source has no component; empty where it has one."""
    if levels == 1:
        return "a single level"
    if name == RESAMPLING:
        return f"no cell of the design was repeated: it is in `{same}`" if same else ""
    if name == RESIDUAL:
        return f"there is nothing beside {same}" if same else ""
    return "one score a level: not to be told from re-sampling" if levels == n else ""


def _mivque0(scores: Floats, parts: Sequence[Codes]) -> Floats | None:
    """The variance of each source, below 0 where chance has it so; None where they cannot be told apart.

    Solves E‖Zₖ'My‖² = Σₗ σₗ² ‖Zₖ'MZₗ‖², with Z the indicators of a source's levels and M the centering.
    """
    centered = scores - np.sort(scores).mean()
    squares = np.array([(np.bincount(codes, centered) ** 2).sum() for codes in parts])
    expected_squares = np.array([[_overlap(first, second) for second in parts] for first in parts])
    scale = np.sqrt(np.diag(expected_squares))
    even = expected_squares / np.outer(scale, scale)
    if np.linalg.matrix_rank(even, tol=1e-9) < len(parts):
        return None
    variances: Floats = np.linalg.solve(even, squares / scale) / scale
    return variances


def _overlap(first: Codes, second: Codes) -> float:
    """‖Z'MZ̃‖²: squared counts of the cross table, each less what its margins lead to expect."""
    n, (ones, others) = len(first), (np.bincount(codes) for codes in (first, second))
    both = np.unique(first * len(others) + second, return_counts=True)[1].astype(np.float64)
    margins = (ones[first] * others[second]).sum() / n
    return float((both**2).sum() - 2 * margins + (ones**2).sum() * ((others**2).sum() / n) / n)


def _component(source: str, levels: int, variance: float, total: float) -> Component:
    note = "an estimate below 0 is set to 0" if variance < 0 else "few levels: a rough figure" if levels < FEW else ""
    if total < 1e-12:
        return Component(source, levels, 0.0, None, "the scores do not vary")
    return Component(source, levels, max(0.0, variance), max(0.0, variance) / total, note)


def _codes(levels: npt.NDArray[Any]) -> Codes:
    """The levels, or rows of levels, numbered from 0."""
    return np.unique(levels, axis=0, return_inverse=True)[1].reshape(-1)


def _levels(codes: Codes) -> int:
    return int(codes.max()) + 1


def _same(first: Codes, second: Codes) -> bool:
    """Whether two sources part the observations alike."""
    return _levels(first) == _levels(second) == len(np.unique(first * (_levels(second)) + second))
