"""The figures of groups: their names and order in tables, means and spreads over groups, what is missing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev, stdev

from cfeval.records.vce import GroupScore
from cfeval.tables.group_material import split
from cfeval.tables.items import rounded

_LABELS = {
    **{"ta": "TA", "oa": "OA", "fr": "FR", "os": "OS", "ota": "OTA"},
    **{"d1": "D1", "d1_5": "D1.5", "d2": "D2", "lpips": "LPIPS", "st_lpips": "ST-LPIPS"},
    **{"fid_64": "FID (64)", "fid_2048": "FID (2048)", "sfid_64": "sFID (64)", "sfid_2048": "sFID (2048)"},
    **{"fd_enl0_40": "FD-ENL0 (40)", "sfd_enl0_40": "sFD-ENL0 (40)"},
    **{"p_target": "P(target)", "p_source": "P(source)"},
    **{"cout": "COUT", "s3": "S3", "attempts": "Attempts", "denoiser_calls": "Denoiser calls each"},
}
_RISING = ("ta", "fr", "os", "ota", "diversity", "cout", "s3", "p_target")
_FALLING = (
    *("oa", "d1", "d2", "lpips", "st_lpips", "fid", "sfid", "fd", "sfd", "p_source"),
    *("attempts", "denoiser_calls", "seconds"),
)
_FAMILIES = (
    ("ta",),
    ("oa",),
    ("fr",),
    ("p_target", "p_source"),
    ("os", "ota"),
    ("d1", "d1_batch"),
    ("d1_5", "d1_5_batch"),
    ("d2", "d2_batch"),
    ("lpips", "st_lpips"),
    ("fid", "sfid", "fd", "sfd"),
    ("diversity",),
    (),
    ("attempts", "denoiser_calls", "seconds"),
)
_UNSORTED = 11
"""The place of what no family knows."""


def ordered(metrics: Iterable[str], oracles: Sequence[str] = ()) -> list[str]:
    """Figures as in the paper's Table 2: validity, oracles one after the other, closeness, realism, what else there is.

    Args:
        oracles: their order; the others follow by name.
    """
    places = {oracle: place for place, oracle in enumerate(oracles)}

    def place(metric: str) -> tuple[int, int, str]:
        kind, oracle = split(metric)
        return _family(metric), places.get(oracle, len(places)) if oracle else 0, f"{oracle} {kind}"

    return sorted(set(metrics), key=place)


def label(metric: str, random: Sequence[str] = ()) -> str:
    """A figure's name with an arrow to where it is better: `OTA vit ↑`. Agreement with a random oracle is no good."""
    kind, oracle = split(metric)
    plain = kind.removesuffix("_floor").removesuffix("_batch").removesuffix("_target").removeprefix("diversity_")
    plain = kind if kind in _LABELS else plain
    text = _LABELS.get(plain, plain)
    text = f"Diversity, {text}" if kind.startswith("diversity_") else text
    text += " of the batch" if kind.endswith("_batch") else ""
    text += " to the target class" if kind.endswith("_target") and kind not in _LABELS else ""
    if kind.endswith("_floor"):
        return f"{text}, floor"
    return f"{text} {oracle}".strip() + _arrow(kind, oracle in random)


def _arrow(kind: str, of_random: bool) -> str:
    """Where a figure is better; nothing for one that is not known."""
    words = {kind, kind.split("_")[0]}
    if words & {*_RISING}:
        return " ↓" if of_random else " ↑"
    return " ↓" if words & {*_FALLING} else ""


def known(groups: Iterable[GroupScore]) -> set[str]:
    """The figures that some group has, but for what a classifier as its own oracle says."""
    return {name for score in groups for name in score.figures if split(name)[1] != score.arm.classifier}


def told(groups: Iterable[GroupScore], metric: str) -> list[float]:
    """A figure of the groups that have it."""
    return [score.figures[metric] for score in groups if metric in score.figures and score.n_scored]


def mean(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return fmean(sorted(values)) if values else None


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation of a population (ddof 0), None of nothing."""
    return pstdev(sorted(values)) if values else None


def sample_spread(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample (ddof 1), None of fewer than two."""
    return stdev(sorted(values)) if len(values) > 1 else None


def difference(one: float | None, other: float | None) -> float | None:
    """One − other, rounded; None where either is not there."""
    return None if one is None or other is None else rounded(one - other)


def reasons(groups: Iterable[GroupScore]) -> str:
    """Why counterfactuals have no result, with counts, the commonest first."""
    found = sum((Counter(score.missing) for score in groups), Counter[str]())
    ranked = sorted(found.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{status} {count}" for status, count in ranked)


def printed(mean: float | None, sd: float | None) -> str:
    """A cell of the paper, with the decimals that it prints."""
    return shown(mean, sd, 2)


def shown(mean: float | None, sd: float | None = None, most: int = 3) -> str:
    """`0.840 ± 0.105`, with fewer decimals than `most` where figures are large; nothing where there is no mean."""
    if mean is None:
        return ""
    size = max(abs(mean), abs(sd or 0))
    decimals = most if size < 10 else 2 if size < 100 else 0
    text = [f"{value + 0.0:,.{decimals}f}" for value in (mean, sd) if value is not None]
    return " ± ".join(f"−{part[1:]}" if part.startswith("-") else part for part in text)


def _family(metric: str) -> int:
    names = [metric.removesuffix("_floor"), split(metric)[0], metric.split("_")[0]]
    places = (place for name in names for place, family in enumerate(_FAMILIES) if name in family)
    return next(places, _UNSORTED)
