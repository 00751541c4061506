"""Validity against cost, in the groups with ideal targets: what a valid counterfactual takes with each method.

Cost is counted in passes of the denoiser (`cfeval.vce.passes`), all tried weights of the class term included. What the
rejection step drops has been paid for too. Seconds depend on the machine, and no record holds them.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from cfeval.report.columns import Heading, laid_out
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames
from cfeval.vce.tables.methods import EMPTY, of_oracles, shared
from cfeval.vce.tables.summary import mean, shown, told

_TITLE = "Validity against cost"
_READING = (
    "Means over the trained classifiers that every method explains. Passes: forward and backward passes of the "
    "denoiser for one counterfactual image, over all weights that were tried. Passes per valid one: divided by the "
    "share of all that were asked for which the classifier sees as the target; per confirmed one: by the share that "
    "oracles see so. Blank: none is. ↑ higher is better, ↓ lower."
)


def _cell(name: str, most: int = 3) -> Heading:
    headed = {
        **{"ta": "TA ↑", "ota": "OTA ↑", "d2": "D2 ↓", "attempts": "Attempts", "denoiser_calls": "Denoiser calls"},
        **{"denoiser_gradients": "Denoiser gradients", "classifier_gradients": "Classifier gradients"},
        **{"passes": "Passes ↓", "per_valid": "Passes per valid ↓", "per_confirmed": "Passes per confirmed ↓"},
    }
    return Heading(headed[name], lambda row: shown(getattr(row, name), most=most))


class CostRow(Setting):
    """One method on one classifier."""

    method: Annotated[str, Heading("Method")]
    """Whose counterfactuals."""
    classifier: str
    """The classifier that is explained."""
    kind: str = ""
    """What the classifier is: `robust`, `noise-trained`, `random`, `flawed`, or nothing of these."""
    ta: Annotated[Figure, _cell("ta")] = None
    """Share of all that were asked for which the classifier sees as the target; what was dropped counts as not seen."""
    ota: Annotated[Figure, _cell("ota")] = None
    """The same by the mean of the trained oracles but the classifier itself."""
    d2: Annotated[Figure, _cell("d2")] = None
    """Mean Euclidean distance between original and counterfactual image, pixels in [−1, 1]."""
    attempts: Annotated[Figure, _cell("attempts", 2)] = None
    """Weights of the class term that were tried, mean."""
    denoiser_calls: Annotated[Figure, _cell("denoiser_calls", 1)] = None
    """Forward passes of the denoiser for one counterfactual image, over all attempts."""
    denoiser_gradients: Annotated[Figure, _cell("denoiser_gradients", 1)] = None
    """Backward passes of the denoiser, likewise."""
    classifier_gradients: Annotated[Figure, _cell("classifier_gradients", 1)] = None
    """Gradients of classifiers, likewise."""
    passes: Annotated[Figure, _cell("passes", 1)] = None
    """Forward and backward passes of the denoiser together."""
    per_valid: Annotated[Figure, _cell("per_valid", 1)] = None
    """`passes` / `ta`; none where `ta` is 0."""
    per_confirmed: Annotated[Figure, _cell("per_confirmed", 1)] = None
    """`passes` / `ota`; none where `ota` is 0."""
    n: int = 0
    """Counterfactual images that were asked for."""
    n_scored: int = 0
    """Those of them that have a result."""


_PASSES = ("denoiser_calls", "denoiser_gradients", "classifier_gradients")
_FIGURES = (
    *("ta", "ota", "d2", "attempts", *_PASSES),
    *("passes", "per_valid", "per_confirmed"),
)


def rows(material: GroupMaterial) -> list[CostRow]:
    """A row a method and classifier."""
    return [
        _row(material, setting, classifier, method, groups)
        for setting in material.settings()
        for method in dict.fromkeys(condition.method for condition in material.conditions)
        for classifier in material.classifiers(setting, method)
        if method in material.cost and (groups := material.groups(setting, classifier, method, "ideal"))
    ]


def render(of: Sequence[CostRow]) -> RenderedTable:
    """The table for readers: a line a method, means over the trained classifiers that all methods share."""
    trained = shared([row for row in of if row.kind != "random"])
    lines = averaged(trained)
    several = len({(row.image_set, row.denoiser) for row in lines}) > 1
    columns = laid_out(CostRow, lines, without=() if several else ("image_set", "denoiser"))
    explained = f"Explained: {', '.join(dict.fromkeys(row.classifier for row in trained))}."
    return RenderedTable("vce_cost", _TITLE, *columns, (explained, _READING) if of else (EMPTY,))


def averaged(of: Sequence[CostRow]) -> list[CostRow]:
    """A row a method: the mean of each figure over its classifiers; costs of a valid one from these means."""
    found = []
    for key in dict.fromkeys((row.image_set, row.denoiser, row.method) for row in of):
        some = [row for row in of if (row.image_set, row.denoiser, row.method) == key]
        values = {name: _mean_of(getattr(row, name) for row in some) for name in _FIGURES[:-2]}
        counts = {name: sum(getattr(row, name) for row in some) for name in ("n", "n_scored")}
        named = {"image_set": key[0], "denoiser": key[1], "method": key[2], "classifier": "mean"}
        found.append(CostRow(**named, **values, **_per(values), **counts))
    return found


def _row(
    material: GroupMaterial, setting: SettingNames, classifier: str, method: str, groups: Sequence[GroupScore]
) -> CostRow:
    attempts = mean(told(groups, "attempts")) or 1.0
    cost = {name: material.cost[method].get(name, 0.0) * attempts for name in _PASSES}
    values: dict[str, float | None] = {
        "ta": _of_asked((score, score.figures.get("ta")) for score in groups),
        "ota": _of_asked((score, of_oracles(score, material)) for score in groups),
        "d2": mean(told(groups, "d2")),
        "attempts": attempts,
        **cost,
        "passes": cost["denoiser_calls"] + cost["denoiser_gradients"],
    }
    return CostRow(
        **{"image_set": setting[0], "denoiser": setting[1], "method": method, "classifier": classifier},
        kind=material.roles.of_classifier(classifier),
        **{name: rounded(value) for name, value in values.items()},
        **_per(values),
        n=sum(score.n for score in groups),
        n_scored=sum(score.n_scored for score in groups),
    )


def _of_asked(shares: Iterable[tuple[GroupScore, float | None]]) -> float | None:
    """A share of those with a result as a share of all that were asked for; a group without the figure has none."""
    return mean([share * score.n_scored / score.n for score, share in shares if share is not None and score.n])


def _per(values: dict[str, float | None]) -> dict[str, float | None]:
    passes = values["passes"] or 0.0
    of = {"per_valid": values["ta"], "per_confirmed": values["ota"]}
    return {name: rounded(passes / share) if share else None for name, share in of.items()}


def _mean_of(values: Iterable[float | None]) -> float | None:
    return rounded(mean([value for value in values if value is not None]))


TABLE = Table(row=CostRow, rows=rows, render=render)
