"""Names of the figures of groups, their order, and where they are better."""

from collections.abc import Iterable, Sequence

from cfeval.vce.config import Roles
from cfeval.vce.tables.group_scores import split

_LABELS = {
    **{"ta": "TA", "oa": "OA", "fr": "FR", "os": "OS", "ota": "OTA"},
    **{"misread": "Misread before", "cv": "P(oracles | valid)"},
    **{"kid_64": "KID (64)", "kid_2048": "KID (2048)"},
    **{"d1": "D1", "d1_5": "D1.5", "d2": "D2", "lpips": "LPIPS", "st_lpips": "ST-LPIPS"},
    **{"fid_64": "FID (64)", "fid_2048": "FID (2048)", "sfid_64": "sFID (64)", "sfid_2048": "sFID (2048)"},
    **{f"{kind.lower()}_enl0_{width}": f"{kind}-ENL0 ({width})" for kind in ("FD", "sFD", "KD") for width in (24, 40)},
    **{"p_target": "P(target)", "p_source": "P(source)"},
    **{
        "cout": "COUT",
        "s3": "S3",
        "fs": "FS",
        "fva": "FVA",
        "mnac": "MNAC",
        "cd": "CD",
        "attempts": "Attempts",
        "denoiser_calls": "Denoiser calls each",
    },
}
_RISING = ("ta", "fr", "cv", "os", "ota", "diversity", "cout", "s3", "fs", "fva", "p_target")
_FALLING = (
    *("oa", "d1", "d2", "lpips", "st_lpips", "fid", "sfid", "fd", "sfd", "kid", "kd", "misread"),
    "p_source",
    *("mnac", "cd", "attempts", "denoiser_calls", "seconds"),
)
_FAMILIES = (
    ("ta",),
    ("oa",),
    ("fr", "misread"),
    ("cv",),
    ("p_target", "p_source"),
    ("os", "ota"),
    ("d1", "d1_batch"),
    ("d1_5", "d1_5_batch"),
    ("d2", "d2_batch"),
    ("lpips", "st_lpips"),
    ("fid", "sfid", "fd", "sfd", "kid", "kd"),
    ("diversity",),
    ("fva", "fs", "mnac", "cd"),
    (),
    ("attempts", "denoiser_calls", "seconds"),
)
_UNSORTED = 13
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


def _family(metric: str) -> int:
    names = [metric.removesuffix("_floor"), split(metric)[0], metric.split("_")[0]]
    places = (place for name in names for place, family in enumerate(_FAMILIES) if name in family)
    return next(places, _UNSORTED)


def label(metric: str, random: Sequence[str] = ()) -> str:
    """A figure's name with an arrow to where it is better: `OTA vit ↑`. Agreement with a random oracle is no good."""
    kind, oracle = split(metric)
    ends = ("_floor", "_batch", "_both", "_target")
    plain = next((kind.removesuffix(end) for end in ends if kind.endswith(end)), kind).removeprefix("diversity_")
    plain = kind if kind in _LABELS else plain
    text = _LABELS.get(plain, plain)
    text = f"Diversity, {text}" if kind.startswith("diversity_") else text
    text += " of the batch" if kind.endswith("_batch") else ""
    text += " of both directions" if kind.endswith("_both") else ""
    if kind.endswith("_se"):
        return f"{label(kind.removesuffix('_se'))[:-2]}, standard error"
    text += " to the target class" if kind.endswith("_target") and kind not in _LABELS else ""
    if kind.endswith("_floor"):
        return f"{text}, floor"
    word, _, rest = kind.partition("_")
    if word in ("mnac", "cd") and rest:
        text = f"{_LABELS[word]} {rest}"
    return f"{text} {oracle}".strip() + _arrow(kind, oracle in random)


def _arrow(kind: str, of_random: bool) -> str:
    """Where a figure is better; nothing for one that is not known."""
    names = {kind, kind.split("_")[0]}
    if names & {*_RISING}:
        return " ↓" if of_random else " ↑"
    return " ↓" if names & {*_FALLING} else ""


def is_minimal(metric: str, roles: Roles) -> bool:
    """Whether Table 3 shows a figure: TA and OTA, a perceptual and a Fréchet distance (DBVCE, Section 5.1).

    Not every classifier is an oracle.
    """
    kind, oracle = split(metric)
    if oracle:
        return kind == "ota" and roles.is_oracle(oracle)
    return kind.removesuffix("_floor") in ("ta", "cv", *roles.closeness, *roles.realism)
