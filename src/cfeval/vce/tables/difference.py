"""Tables of differences to the base (DBVCE, Tables 4 to 6): a row a classifier and figure.

As in the paper: the difference of the means over groups, and the difference of the standard deviations of samples (ddof
1; Tables 2 and 3 have the population's). Where the groups are the same, only those count that both sides have.
"""

from collections.abc import Iterator, Sequence

from cfeval.report.tables import Figure, RenderedTable
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore, Pair
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames, is_minimal, split
from cfeval.vce.tables.summary import (
    PAPER_NOTE,
    difference,
    known,
    label,
    mean,
    ordered,
    printed,
    reasons,
    sample_spread,
    shown,
    told,
)

READING = (
    "Differences to Table 3: mean over these groups − mean over the base's, and after ± the difference of the standard "
    "deviations over groups (of samples, ddof 1), which may be negative. Blank: there is no such figure."
)


class DifferenceRow(Setting):
    """One figure of one classifier, as a difference to the base. Readers see figures down and classifiers across."""

    method: str
    """The method of the groups that are compared with the base's."""
    classifier: str
    """The classifier that is explained."""
    kind: str = ""
    """What the classifier is: `robust`, `noise-trained`, `random`, or nothing of these."""
    metric: str
    """The figure's name."""
    mean: Figure = None
    """Difference of the means over groups, these − base."""
    sd: Figure = None
    """Difference of the standard deviations over groups, of samples (ddof 1), as the paper's are."""
    base_mean: Figure = None
    """Mean over the base's groups."""
    other_mean: Figure = None
    """Mean over the groups that are compared with these."""
    n_groups: int = 0
    """Groups that `other_mean` rests on."""
    n_base_groups: int = 0
    """Groups that `base_mean` rests on."""
    n_groups_missing: int = 0
    """Groups of the setting, of either side, that the row leaves out for want of the figure."""
    n: int = 0
    """Counterfactuals that were asked for, in the groups compared with the base's."""
    n_scored: int = 0
    """Those of them that have a result."""
    n_base: int = 0
    """Counterfactuals that were asked for, in the base's groups."""
    n_base_scored: int = 0
    """Those of them that have a result."""
    missing: str = ""
    """Why counterfactuals of either side have no result, with counts."""
    paper_mean: Figure = None
    """What DBVCE prints in this very cell, for the classifier that `roles.paper` sets beside."""
    paper_sd: Figure = None
    """What it prints after ±."""


def difference_rows(material: GroupMaterial, method: str | None, pair: Pair, table: str) -> list[DifferenceRow]:
    """A row for each setting, classifier of the base and figure of the minimal set.

    Args:
        method: whose groups are compared with those of the base; None: there is none, and no row either.
        pair: of these groups; the base's have ideal targets.
        table: whose cells of the paper may stand beside.
    """
    base = material.roles.base
    found: list[DifferenceRow] = []
    for setting in material.settings() if base and method else ():
        classifiers = material.classifiers(setting, base)
        both = {
            name: (material.groups(setting, name, base, "ideal"), material.groups(setting, name, method, pair))
            for name in classifiers
        }
        metrics = ordered(known(score for sides in both.values() for of in sides for score in of), classifiers)
        found += [
            _row(material, setting, name, method or "", metric, both[name], pair, table)
            for name in classifiers
            if both[name][1]
            for metric in metrics
            if is_minimal(metric, material.roles) and split(metric)[1] != name and not metric.endswith("_floor")
        ]
    return found


def render_difference(name: str, title: str, rows: Sequence[DifferenceRow], empty: str) -> RenderedTable:
    """Figures down, classifiers across, one block a setting."""
    classifiers = list(dict.fromkeys(row.classifier for row in rows))
    several = len({(row.image_set, row.denoiser) for row in rows}) > 1
    kinds = {row.classifier: f" ({row.kind})" if row.kind else "" for row in rows}
    headings = (*(("Image set", "Denoiser") if several else ()), "Metric", *(c + kinds[c] for c in classifiers))
    body = tuple(line if several else line[2:] for line in _lines(rows, classifiers))
    if not rows:
        return RenderedTable(name, title, headings, body, (empty,))
    notes = [f"Method: {rows[0].method}.", READING]
    notes += [PAPER_NOTE] if any(row.paper_mean is not None for row in rows) else []
    return RenderedTable(name, title, headings, body, tuple(notes))


def _row(
    material: GroupMaterial,
    setting: SettingNames,
    classifier: str,
    method: str,
    metric: str,
    sides: tuple[Sequence[GroupScore], Sequence[GroupScore]],
    pair: Pair,
    table: str,
) -> DifferenceRow:
    base, other = _alike(metric, *sides) if pair == "ideal" else sides
    before, after = told(base, metric), told(other, metric)
    paper_mean, paper_sd = material.paper(table, classifier, metric)
    expected = len(material.expected(setting, "ideal")) + len(material.expected(setting, pair))
    return DifferenceRow(
        image_set=setting[0],
        denoiser=setting[1],
        method=method,
        classifier=classifier,
        kind=material.roles.of_classifier(classifier),
        metric=metric,
        mean=difference(mean(after), mean(before)),
        sd=difference(sample_spread(after), sample_spread(before)),
        base_mean=rounded(mean(before)),
        other_mean=rounded(mean(after)),
        n_groups=len(after),
        n_base_groups=len(before),
        n_groups_missing=expected - len(after) - len(before),
        n=sum(score.n for score in sides[1]),
        n_scored=sum(score.n_scored for score in sides[1]),
        n_base=sum(score.n for score in sides[0]),
        n_base_scored=sum(score.n_scored for score in sides[0]),
        missing=reasons([*sides[0], *sides[1]]),
        paper_mean=paper_mean,
        paper_sd=paper_sd,
    )


def _alike(
    metric: str, base: Sequence[GroupScore], other: Sequence[GroupScore]
) -> tuple[list[GroupScore], list[GroupScore]]:
    """Those groups that have the figure on both sides."""
    here, there = ({s.group for s in of if metric in s.figures and s.n_scored} for of in (base, other))
    return [s for s in base if s.group in there], [s for s in other if s.group in here]


def _lines(rows: Sequence[DifferenceRow], classifiers: Sequence[str]) -> Iterator[tuple[str, ...]]:
    random = [row.classifier for row in rows if row.kind == "random"]
    for setting in dict.fromkeys((row.image_set, row.denoiser) for row in rows):
        of = [row for row in rows if (row.image_set, row.denoiser) == setting]
        for metric in ordered({row.metric for row in of}, classifiers):
            cells = {row.classifier: row for row in of if row.metric == metric}
            found = [cells.get(name) for name in classifiers]
            yield (*setting, label(metric, random), *(shown(row.mean, row.sd) if row else "" for row in found))
            if any(row.paper_mean is not None for row in cells.values()):
                yield (*setting, "paper", *(printed(row.paper_mean, row.paper_sd) if row else "" for row in found))
        yield from _counted(setting, {row.classifier: row for row in of}, classifiers)


def _counted(
    setting: SettingNames, one: dict[str, DifferenceRow], classifiers: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    of = [one.get(name) for name in classifiers]
    yield (*setting, "Scored", *(f"{row.n_scored} of {row.n}" if row else "" for row in of))
    yield (*setting, "Scored, base", *(f"{row.n_base_scored} of {row.n_base}" if row else "" for row in of))
    if any(row.missing for row in one.values()):
        yield (*setting, "Missing", *(row.missing if row else "" for row in of))
