"""Methods side by side: validity, closeness, realism, diversity, cost, in the groups with ideal targets.

OTA is here the mean over all trained oracles but the classifier itself, worked out a group at a time.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from cfeval.report.tables import RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import GroupMaterial, SettingNames, split
from cfeval.vce.tables.summary import SummaryRow, known, label, mean, ordered, shown, summary_row, told


class _Explains(Protocol):
    """A row about one method on one classifier."""

    @property
    def image_set(self) -> str:
        """Whose images."""

    @property
    def denoiser(self) -> str:
        """What makes the counterfactuals."""

    @property
    def method(self) -> str:
        """Whose counterfactuals."""

    @property
    def classifier(self) -> str:
        """The classifier that is explained."""


Explaining = TypeVar("Explaining", bound=_Explains)
EMPTY = "Empty: no groups with ideal targets."
_READING = (
    "Each figure is the mean over groups, then over the trained classifiers that every method explains. OTA: the mean "
    "over all trained oracles but the classifier itself. Attempts: weights of the class term that were tried, each "
    "in a run with that many calls. ↑ higher is better, ↓ lower."
)
_TITLE = "Methods side by side"


def rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a method, classifier and figure: mean ± population sd over groups."""
    return [
        row
        for setting in material.settings()
        for method in dict.fromkeys(condition.method for condition in material.conditions)
        for classifier in material.classifiers(setting, method)
        for row in _rows(material, setting, classifier, method)
    ]


def render(of: Sequence[SummaryRow]) -> RenderedTable:
    """The table for readers: methods down, figures across, means over the trained classifiers that all share."""
    trained = shared([row for row in of if row.kind != "random"])
    metrics = ordered({row.metric for row in trained})
    conditions = dict.fromkeys((row.image_set, row.denoiser, row.method, row.role) for row in trained)
    several = len({(row.image_set, row.denoiser) for row in trained}) > 1
    headings = (*(("Image set", "Denoiser") if several else ()), "Method", "Is", *map(label, metrics), "Scored")
    body = tuple((*(names if several else names[2:]), *_cells(trained, names, metrics)) for names in conditions)
    explained = f"Explained: {', '.join(dict.fromkeys(row.classifier for row in trained))}."
    return RenderedTable("vce_methods", _TITLE, headings, body, (explained, _READING) if of else (EMPTY,))


def shared(of: Sequence[Explaining]) -> list[Explaining]:
    """The rows of the classifiers that every method explains, so that methods differ in nothing else.

    All rows where there is no such classifier.
    """
    methods = {(row.image_set, row.denoiser, row.method) for row in of}
    explaining: dict[str, set[tuple[str, str, str]]] = {}
    for row in of:
        explaining.setdefault(row.classifier, set()).add((row.image_set, row.denoiser, row.method))
    return [row for row in of if explaining[row.classifier] == methods] or list(of)


def _rows(material: GroupMaterial, setting: SettingNames, classifier: str, method: str) -> list[SummaryRow]:
    groups = material.groups(setting, classifier, method, "ideal")
    if not groups:
        return []
    values = {metric: told(groups, metric) for metric in known(groups) if not split(metric)[1]}
    judged = [agreed for score in groups if (agreed := of_oracles(score, material)) is not None]
    values |= {"ota": judged} if judged else {}
    found = [
        summary_row(material, setting, classifier, method, metric, groups, values=values[metric])
        for metric in ordered(values)
    ]
    if "denoiser_calls" in material.cost.get(method, {}):
        row = summary_row(material, setting, classifier, method, "denoiser_calls", groups, values=[])
        calls = rounded(material.cost[method]["denoiser_calls"])
        found.append(row.model_copy(update={"mean": calls, "n_groups_missing": 0}))
    return found


def of_oracles(score: GroupScore, material: GroupMaterial) -> float | None:
    """The share in which an oracle sees the target, over the trained oracles."""
    of = [split(name) for name in score.figures]
    oracles = [oracle for kind, oracle in of if kind == "ota" and oracle not in ("", score.condition.classifier)]
    return mean([score.figures[f"ota_{name}"] for name in oracles if material.roles.is_oracle(name)])


def _cells(rows: Sequence[SummaryRow], names: tuple[str, ...], metrics: Sequence[str]) -> list[str]:
    of = [row for row in rows if (row.image_set, row.denoiser, row.method, row.role) == names]
    means = ([row.mean for row in of if row.metric == metric and row.mean is not None] for metric in metrics)
    one = {row.classifier: row for row in of}.values()
    scored = f"{sum(row.n_scored for row in one)} of {sum(row.n for row in one)}"
    return [*(shown(mean(some)) for some in means), scored]


TABLE = Table(row=SummaryRow, rows=rows, render=render)
