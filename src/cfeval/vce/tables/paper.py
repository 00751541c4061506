"""The tables of DBVCE: figures of the base setup (2 and 3), and how they change without one of its parts (4 to 6).

Beside them the unguided baseline: how often noising and denoising alone keep the source class, or hit the target. What
counterfactuals are worth stands only against this: a start at too much noise changes the class by itself. A row is a
classifier and figure; readers see figures down and classifiers across.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import pstdev, stdev
from typing import Any, Literal

from cfeval.core.records import Record
from cfeval.report.tables import Figure, Lines, Table, table, varying
from cfeval.stats.intervals import rounded
from cfeval.vce.config import Roles
from cfeval.vce.records import GroupScore, Pair
from cfeval.vce.tables.group_scores import (
    Defect,
    GroupMaterial,
    Kind,
    Setting,
    SettingNames,
    figures_named,
    mean,
    setting_fields,
    setting_of,
    several_settings,
    shown,
    split,
)
from cfeval.vce.tables.metrics import is_minimal, label, ordered

_NO_BASE = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."
_READING = (
    "Mean ± standard deviation over groups (source and target class); the standard deviation is the population's "
    "(ddof 0), as in the paper. A counterfactual without a result counts neither way. Blank: there is no such figure; "
    "a classifier is no oracle of itself. ↑ higher is better, ↓ lower."
)
_READING_CHANGE = (
    "Differences to Table 3: mean over these groups − mean over the base's, and after ± the difference of the standard "
    "deviations over groups (of samples, ddof 1), which may be negative. Blank: there is no such figure."
)
_PAPER = "paper: what DBVCE prints for the classifier that params.yaml sets beside; other images, other networks."
_FLOOR = (
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
    kind: Kind = ""
    defect: Defect = ""
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


class DifferenceRow(Setting):
    """One figure of one classifier, as a difference to the base. Readers see figures down and classifiers across.

    As in the paper: the difference of the means over groups, and of the standard deviations of samples. Where the
    groups are the same, only those count that both sides have.
    """

    method: str
    """The method of the groups that are compared with the base's."""
    classifier: str
    """The classifier that is explained."""
    kind: Kind = ""
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


def known(groups: Iterable[GroupScore]) -> set[str]:
    """The figures that some group has, but for what a classifier as its own oracle says."""
    return {name for score in groups for name in score.figures if split(name)[1] != score.condition.classifier}


def summary_rows(
    material: GroupMaterial, method: str | None, table: str, wanted: Callable[[str], bool] = lambda _: True
) -> list[SummaryRow]:
    """A row for each setting, classifier and figure of a method's groups with ideal targets.

    Args:
        table: whose cells of the paper may stand beside; empty: none.
        wanted: which figures, by name.
    """
    rows: list[SummaryRow] = []
    for setting in material.settings() if method else ():
        classifiers = material.classifiers(setting, method)
        groups = {name: material.groups(setting, name, method, "ideal") for name in classifiers}
        metrics = ordered(filter(wanted, known(score for scores in groups.values() for score in scores)), classifiers)
        rows += [
            summary_row(material, setting, name, method or "", metric, scores, table)
            for name, scores in groups.items()
            for metric in metrics
            if split(metric)[1] != name
        ]
    return rows


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
    group_values = figures_named(groups, metric) if values is None else values
    paper_mean, paper_sd = material.paper(table, classifier, metric)
    return SummaryRow(
        **setting_fields(setting),
        method=method,
        role=material.roles.of_method(method),
        classifier=classifier,
        kind=material.roles.of_classifier(classifier),
        defect=material.roles.defects.get(classifier, ""),
        metric=metric,
        mean=rounded(mean(group_values)),
        sd=rounded(pstdev(sorted(group_values)) if group_values else None),
        n_groups=len(group_values),
        n_groups_missing=len(material.expected(setting, "ideal")) - len(group_values),
        n=sum(score.n for score in groups),
        n_scored=sum(score.n_scored for score in groups),
        missing=_reasons(groups),
        paper_mean=paper_mean,
        paper_sd=paper_sd,
    )


def _reasons(groups: Iterable[GroupScore]) -> str:
    """Why counterfactuals have no result, with counts, the commonest first."""
    counts = sum((Counter(score.missing) for score in groups), Counter[str]())
    ranked = sorted(counts.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{status} {count}" for status, count in ranked)


def difference_rows(material: GroupMaterial, method: str | None, pair: Pair, table: str) -> list[DifferenceRow]:
    """A row for each setting, classifier of the base and figure of the minimal set.

    Args:
        method: whose groups are compared with those of the base; None: there is none, and no row either.
        pair: of these groups; the base's have ideal targets.
        table: whose cells of the paper may stand beside.
    """
    base = material.roles.base
    rows: list[DifferenceRow] = []
    for setting in material.settings() if base and method else ():
        classifiers = material.classifiers(setting, base)
        both = {
            name: (material.groups(setting, name, base, "ideal"), material.groups(setting, name, method, pair))
            for name in classifiers
        }
        metrics = ordered(known(score for sides in both.values() for scores in sides for score in scores), classifiers)
        rows += [
            _difference_row(material, setting, name, method or "", metric, both[name], pair, table)
            for name in classifiers
            if both[name][1]
            for metric in metrics
            if is_minimal(metric, material.roles) and split(metric)[1] != name and not metric.endswith("_floor")
        ]
    return rows


def _difference_row(
    material: GroupMaterial,
    setting: SettingNames,
    classifier: str,
    method: str,
    metric: str,
    sides: tuple[Sequence[GroupScore], Sequence[GroupScore]],
    pair: Pair,
    table: str,
) -> DifferenceRow:
    base, other = sides
    if pair == "ideal":  # the same groups: those that have the figure on both sides
        ours, theirs = ({s.group for s in some if metric in s.figures and s.n_scored} for some in sides)
        base, other = [s for s in base if s.group in theirs], [s for s in other if s.group in ours]
    before, after = figures_named(base, metric), figures_named(other, metric)
    paper_mean, paper_sd = material.paper(table, classifier, metric)
    n_expected = len(material.expected(setting, "ideal")) + len(material.expected(setting, pair))
    return DifferenceRow(
        **setting_fields(setting),
        method=method,
        classifier=classifier,
        kind=material.roles.of_classifier(classifier),
        metric=metric,
        mean=_difference(mean(after), mean(before)),
        sd=_difference(*(stdev(sorted(some)) if len(some) > 1 else None for some in (after, before))),
        base_mean=rounded(mean(before)),
        other_mean=rounded(mean(after)),
        n_groups=len(after),
        n_base_groups=len(before),
        n_groups_missing=n_expected - len(after) - len(before),
        n=sum(score.n for score in sides[1]),
        n_scored=sum(score.n_scored for score in sides[1]),
        n_base=sum(score.n for score in sides[0]),
        n_base_scored=sum(score.n_scored for score in sides[0]),
        missing=_reasons([*sides[0], *sides[1]]),
        paper_mean=paper_mean,
        paper_sd=paper_sd,
    )


def _difference(minuend: float | None, subtrahend: float | None) -> float | None:
    return None if minuend is None or subtrahend is None else rounded(minuend - subtrahend)


def _lines(rows: Sequence[SummaryRow] | Sequence[DifferenceRow]) -> Lines:
    """Figures down, classifiers across, one block a setting; the paper's cells in a line below, where it has any.

    The last lines of a block: how many groups and counterfactuals it rests on, and why others have no result.
    """
    classifiers = list(dict.fromkeys(row.classifier for row in rows))
    random = [row.classifier for row in rows if row.kind == "random"]
    kinds = {row.classifier: f" ({row.kind})" if row.kind else "" for row in rows}
    several, body = several_settings(rows), []
    for setting in dict.fromkeys(map(setting_of, rows)):
        names = setting if several else ()
        here = [row for row in rows if setting_of(row) == setting]
        for metric in ordered({row.metric for row in here}, classifiers):
            cells = {row.classifier: row for row in here if row.metric == metric}
            cells_in_order = [cells.get(name) for name in classifiers]
            body.append(
                (*names, label(metric, random), *(shown(row.mean, row.sd) if row else "" for row in cells_in_order))
            )
            if any(row.paper_mean is not None for row in cells.values()):
                printed = (shown(row.paper_mean, row.paper_sd, 2) if row else "" for row in cells_in_order)
                body.append((*names, "paper", *printed))
        by_classifier = [[row for row in here if row.classifier == name] for name in classifiers]
        last = [some[-1] if some else None for some in by_classifier]
        if not isinstance(here[0], DifferenceRow):
            body.append((*names, "Groups", *(_span([row.n_groups for row in some]) for some in by_classifier)))
        body.append((*names, "Scored", *(f"{row.n_scored} of {row.n}" if row else "" for row in last)))
        if isinstance(here[0], DifferenceRow):
            base = (f"{row.n_base_scored} of {row.n_base}" if isinstance(row, DifferenceRow) else "" for row in last)
            body.append((*names, "Scored, base", *base))
        if any(row and row.missing for row in last):
            body.append((*names, "Missing", *(row.missing if row else "" for row in last)))
    columns = [*(("Image set", "Denoiser") if several else ()), "Metric"]
    return (*columns, *(name + kinds[name] for name in classifiers)), tuple(body)


def _span(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _notes(rows: Sequence[SummaryRow]) -> list[str]:
    """What all rows share, and how to read them."""
    shared = {"Image set": {r.image_set for r in rows}, "Denoiser": {r.denoiser for r in rows}}
    shared["Method"] = {r.method for r in rows}
    shared_names = " · ".join(f"{what}: {next(iter(names))}" for what, names in shared.items() if len(names) == 1)
    floor = _FLOOR if any(row.metric.endswith("_floor") for row in rows) else ""
    return [f"{shared_names}." if shared_names else "", _READING, _paper_note(rows), floor]


def _paper_note(rows: Sequence[SummaryRow] | Sequence[DifferenceRow]) -> str:
    return _PAPER if any(row.paper_mean is not None for row in rows) else ""


def _base(number: int, title: str, wanted: Callable[[str, Roles], bool]) -> Table[[GroupMaterial], SummaryRow]:
    """A row a classifier and figure: mean ± population sd over groups with ideal targets."""

    def rows(material: GroupMaterial) -> list[SummaryRow]:
        roles = material.roles
        return summary_rows(material, roles.base, f"table{number}", lambda metric: wanted(metric, roles))

    title = f"DBVCE, Table {number}: {title}"
    return table(f"vce_table{number}", title, SummaryRow, rows, _notes, _NO_BASE, lines=_lines)


def _change(
    number: int, title: str, role: Literal["base", "no_cone", "no_x0"], pair: Pair, groups: str
) -> Table[[GroupMaterial], DifferenceRow]:
    """A row a classifier and figure of Table 3: differences of mean and of sample sd over groups.

    Args:
        role: what the method stands for whose groups are compared with the base's.
        pair: of these groups.
        groups: what they are called where there are none.
    """

    def rows(material: GroupMaterial) -> list[DifferenceRow]:
        return difference_rows(material, getattr(material.roles, role), pair, f"table{number}")

    return table(
        f"vce_table{number}",
        f"DBVCE, Table {number}: {title}, change to Table 3",
        DifferenceRow,
        rows,
        lambda rows: (f"Method: {rows[0].method}.", _READING_CHANGE, _paper_note(rows)),
        f"Empty: no groups of {groups} (vce.roles.{role}).",
        lines=_lines,
    )


def _unguided_rows(material: GroupMaterial) -> list[SummaryRow]:
    roles = material.roles
    return summary_rows(
        material, roles.unguided, "", lambda metric: metric in ("oa", "fr") or is_minimal(metric, roles)
    )


TABLE2 = _base(2, "counterfactuals in the base setup, all figures", lambda *_: True)
TABLE3 = _base(3, "counterfactuals in the base setup", is_minimal)
TABLE4 = _change(4, "no cone projection", "no_cone", "ideal", "the method without cone projection")
TABLE5 = _change(5, "no x0-prediction", "no_x0", "ideal", "the method without x0-prediction")
TABLE6 = _change(6, "targets that are not ideal", "base", "other", "the base method with other targets")
UNGUIDED = table(
    "vce_unguided",
    "Without guidance: what noising and denoising alone do",
    SummaryRow,
    _unguided_rows,
    lambda rows: (
        "OA is the share that keeps its class without guidance, TA the share that hits the target by chance.",
        *_notes(rows),
    ),
    "Empty: no groups of the unguided method, or params.yaml names none (vce.roles.unguided).",
    lines=_lines,
)
# Of every classifier: in how many counterfactuals it sees the target, in how many the oracles do, and in how many of
# those in which it does.
_HEADLINE = ("ta", "ota_mean", "cv")


def metrics(tables: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, Any]]:
    """The headline figures that `dvc metrics` shows, as table → row → figure: about thirty, what a reader compares.

    Means by classifier under the base method, effects by hypothesis; what does not exist is left out.
    """
    figures: dict[str, dict[str, Any]] = {}
    if "table3" in tables:
        rows: Sequence[Any] = tables["table3"]
        figures["table3"] = {}
        names = varying(rows, ("image_set", "denoiser", "method", "classifier"), ("classifier",))
        for row in rows:
            if row.metric in _HEADLINE and row.mean is not None:
                key = "/".join(getattr(row, name) for name in names)
                figures["table3"].setdefault(key, {})[row.metric] = row.mean
    if "hypotheses" in tables:
        parts: Sequence[Any] = tables["hypotheses"]
        names = varying(parts, ("image_set", "denoiser"), ())
        effects = {"/".join([*(getattr(r, n) for n in names), f"{r.hypothesis}: {r.part}"]): r.effect for r in parts}
        figures["hypotheses"] = {key: effect for key, effect in effects.items() if effect is not None}
    return figures
