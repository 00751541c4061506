"""Tables of means over groups: a row a classifier and figure; for readers figures down, classifiers across.

Also what other tables of groups share: names and order of figures, means and spreads over groups, what is missing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from statistics import fmean, pstdev, stdev

from cfeval.report.tables import Figure, RenderedTable
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames, split

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
READING = (
    "Mean ± standard deviation over groups (source and target class); the standard deviation is the population's "
    "(ddof 0), as in the paper. A counterfactual without a result counts neither way. Blank: there is no such figure; "
    "a classifier is no oracle of itself. ↑ higher is better, ↓ lower."
)
PAPER_NOTE = "paper: what DBVCE prints for the classifier that params.yaml sets beside; other images, other networks."
FLOOR_NOTE = (
    "Floor: the same distance between two halves of the originals, what equal distributions show with so few images. "
    "Distances below it say that the images still resemble their own originals."
)


class SummaryRow(Setting):
    """One figure of one condition, over its groups. Readers see figures down and classifiers across."""

    method: str
    """Whose counterfactuals."""
    role: str = ""
    """What the method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`."""
    classifier: str
    """The classifier that is explained."""
    kind: str = ""
    """What the classifier is: `robust`, `noise-trained`, `random`, `flawed`, or nothing of these."""
    defect: str = ""
    """The known defect of a flawed classifier, as `roles.defects` has it."""
    metric: str
    """The figure's name."""
    mean: Figure = None
    """Over the groups that have the figure."""
    sd: Figure = None
    """Standard deviation over these groups, of the population (ddof 0)."""
    n_groups: int = 0
    """Groups that mean and sd rest on."""
    n_groups_missing: int = 0
    """Groups of the setting without this figure."""
    n: int = 0
    """Counterfactuals that were asked for, in all groups."""
    n_scored: int = 0
    """Those of them that have a result."""
    missing: str = ""
    """Why others have none, with counts."""
    paper_mean: Figure = None
    """What DBVCE prints in this very cell, for the classifier that `roles.paper` sets beside."""
    paper_sd: Figure = None
    """What it prints after ±."""


def summary_rows(
    material: GroupMaterial, method: str | None, table: str, wanted: Callable[[str], bool] = lambda _: True
) -> list[SummaryRow]:
    """A row for each setting, classifier and figure of a method's groups with ideal targets.

    Args:
        table: whose cells of the paper may stand beside; empty: none.
        wanted: which figures, by name.
    """
    found: list[SummaryRow] = []
    for setting in material.settings() if method else ():
        classifiers = material.classifiers(setting, method)
        groups = {name: material.groups(setting, name, method, "ideal") for name in classifiers}
        metrics = ordered(filter(wanted, known(score for of in groups.values() for score in of)), classifiers)
        found += [
            summary_row(material, setting, name, method or "", metric, of, table)
            for name, of in groups.items()
            for metric in metrics
            if split(metric)[1] != name
        ]
    return found


def summary_row(
    material: GroupMaterial,
    setting: SettingNames,
    classifier: str,
    method: str,
    metric: str,
    groups: Sequence[GroupScore],
    table: str = "",
    values: Sequence[float] | None = None,
) -> SummaryRow:
    """One figure over some groups of a condition.

    Args:
        values: the figure of each group that has it, where it follows from others; None: as the groups have it.
    """
    of = told(groups, metric) if values is None else values
    paper_mean, paper_sd = material.paper(table, classifier, metric)
    return SummaryRow(
        image_set=setting[0],
        denoiser=setting[1],
        method=method,
        role=material.roles.of_method(method),
        classifier=classifier,
        kind=material.roles.of_classifier(classifier),
        defect=material.roles.defects.get(classifier, ""),
        metric=metric,
        mean=rounded(mean(of)),
        sd=rounded(spread(of)),
        n_groups=len(of),
        n_groups_missing=len(material.expected(setting, "ideal")) - len(of),
        n=sum(score.n for score in groups),
        n_scored=sum(score.n_scored for score in groups),
        missing=reasons(groups),
        paper_mean=paper_mean,
        paper_sd=paper_sd,
    )


def render_summary(name: str, title: str, rows: Sequence[SummaryRow], empty: str) -> RenderedTable:
    """Figures down, classifiers across, one block a setting; the paper's cells in a line below, where it has any."""
    classifiers = list(dict.fromkeys(row.classifier for row in rows))
    several = len({(row.image_set, row.denoiser) for row in rows}) > 1
    headings = (*(("Image set", "Denoiser") if several else ()), "Metric", *map(headed(rows).__getitem__, classifiers))
    body = tuple(line if several else line[2:] for line in _lines(rows, classifiers))
    return RenderedTable(name, title, headings, body, notes(rows) if rows else (empty,))


def headed(rows: Sequence[SummaryRow]) -> dict[str, str]:
    """Classifiers as headings, with what they are: `adv (robust)`."""
    return {row.classifier: f"{row.classifier} ({row.kind})" if row.kind else row.classifier for row in rows}


def notes(rows: Sequence[SummaryRow]) -> tuple[str, ...]:
    """What all rows share, how to read them, why results are missing."""
    shared = {"Image set": {r.image_set for r in rows}, "Denoiser": {r.denoiser for r in rows}}
    shared["Method"] = {r.method for r in rows}
    said = " · ".join(f"{what}: {next(iter(names))}" for what, names in shared.items() if len(names) == 1)
    found = [f"{said}." if said else "", READING]
    found += [PAPER_NOTE] if any(row.paper_mean is not None for row in rows) else []
    found += [FLOOR_NOTE] if any(row.metric.endswith("_floor") for row in rows) else []
    return tuple(note for note in found if note)


def _lines(rows: Sequence[SummaryRow], classifiers: Sequence[str]) -> Iterator[tuple[str, ...]]:
    random = [row.classifier for row in rows if row.kind == "random"]
    for setting in dict.fromkeys((row.image_set, row.denoiser) for row in rows):
        of = [row for row in rows if (row.image_set, row.denoiser) == setting]
        for metric in ordered({row.metric for row in of}, classifiers):
            cells = {row.classifier: row for row in of if row.metric == metric}
            yield (*setting, label(metric, random), *(_cell(cells, name) for name in classifiers))
            if any(row.paper_mean is not None for row in cells.values()):
                yield (*setting, "paper", *(_cell(cells, name, paper=True) for name in classifiers))
        yield from counted(setting, of, classifiers)


def counted(
    setting: SettingNames, rows: Sequence[SummaryRow], classifiers: Collection[str]
) -> Iterator[tuple[str, ...]]:
    """The last lines of a block: how many groups and counterfactuals it rests on, and why others have no result."""
    one = {row.classifier: row for row in rows}
    least = {name: [row for row in rows if row.classifier == name] for name in classifiers}
    yield (*setting, "Groups", *(_span([row.n_groups for row in least[name]]) for name in classifiers))
    scored = (f"{one[name].n_scored} of {one[name].n}" if name in one else "" for name in classifiers)
    yield (*setting, "Scored", *scored)
    if any(row.missing for row in one.values()):
        yield (*setting, "Missing", *(one[name].missing if name in one else "" for name in classifiers))


def _span(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _cell(cells: dict[str, SummaryRow], name: str, paper: bool = False) -> str:
    if name not in cells:
        return ""
    row = cells[name]
    return printed(row.paper_mean, row.paper_sd) if paper else shown(row.mean, row.sd)


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
    words = {kind, kind.split("_")[0]}
    if words & {*_RISING}:
        return " ↓" if of_random else " ↑"
    return " ↓" if words & {*_FALLING} else ""


def known(groups: Iterable[GroupScore]) -> set[str]:
    """The figures that some group has, but for what a classifier as its own oracle says."""
    return {name for score in groups for name in score.figures if split(name)[1] != score.condition.classifier}


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
