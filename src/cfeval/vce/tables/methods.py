"""Methods side by side in the groups with ideal targets: figures, what the field's papers report, validity by cost."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from cfeval.report.tables import Figure, Heading, Lines, table
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import (
    GroupMaterial,
    Kind,
    Method,
    PublishedFigure,
    Setting,
    SettingNames,
    figures_named,
    hidden,
    mean,
    number,
    setting_fields,
    setting_of,
    several_settings,
    shown,
    split,
)
from cfeval.vce.tables.metrics import label, ordered
from cfeval.vce.tables.paper import SummaryRow, known, summary_row

EMPTY = "Empty: no groups with ideal targets."
Explaining = TypeVar("Explaining", bound=Any)
"""A row about one method on one classifier."""


def shared(rows: Sequence[Explaining]) -> list[Explaining]:
    """The rows of the trained classifiers that every method explains, so that methods differ in nothing else.

    Those of all trained classifiers where there is no such one.
    """
    trained = [row for row in rows if row.kind != "random"]
    methods = {(*setting_of(row), row.method) for row in trained}
    explained: dict[str, set[tuple[str, str, str]]] = {}
    for row in trained:
        explained.setdefault(row.classifier, set()).add((*setting_of(row), row.method))
    return [row for row in trained if explained[row.classifier] == methods] or trained


def _explained(rows: Sequence[Any]) -> str:
    return f"Explained: {', '.join(dict.fromkeys(row.classifier for row in shared(rows)))}."


def methods_rows(material: GroupMaterial) -> list[SummaryRow]:
    """A row a method, classifier and figure: mean ± population sd over groups."""
    return [
        row
        for setting in material.settings()
        for method in dict.fromkeys(condition.method for condition in material.conditions)
        for classifier in material.classifiers(setting, method)
        for row in _figures_of_method(material, setting, classifier, method)
    ]


def _figures_of_method(
    material: GroupMaterial, setting: SettingNames, classifier: str, method: str
) -> list[SummaryRow]:
    groups = material.groups(setting, classifier, method, "ideal")
    if not groups:
        return []
    values = {metric: figures_named(groups, metric) for metric in known(groups) if not split(metric)[1]}
    judged = [agreed for score in groups if (agreed := of_oracles(score, material)) is not None]
    values |= {"ota": judged} if judged else {}
    rows = [
        summary_row(material, setting, classifier, method, metric, groups, values=values[metric])
        for metric in ordered(values)
    ]
    if "denoiser_calls" in material.cost.get(method, {}):
        row = summary_row(material, setting, classifier, method, "denoiser_calls", groups, values=[])
        calls = rounded(material.cost[method]["denoiser_calls"])
        rows.append(row.model_copy(update={"mean": calls, "n_groups_missing": 0}))
    return rows


def of_oracles(score: GroupScore, material: GroupMaterial) -> float | None:
    """The share in which an oracle sees the target, over the trained oracles."""
    kinds_and_oracles = [split(name) for name in score.figures]
    oracles = [
        oracle for kind, oracle in kinds_and_oracles if kind == "ota" and oracle not in ("", score.condition.classifier)
    ]
    return mean([score.figures[f"ota_{name}"] for name in oracles if material.roles.is_oracle(name)])


def _methods_lines(rows: Sequence[SummaryRow]) -> Lines:
    """Methods down, figures across, means over the trained classifiers that all share."""
    trained = shared(rows)
    metrics, several = ordered({row.metric for row in trained}), several_settings(trained)
    body = []
    for names in dict.fromkeys((*setting_of(row), row.method, row.role) for row in trained):
        here = [row for row in trained if (*setting_of(row), row.method, row.role) == names]
        values = ([row.mean for row in here if row.metric == metric and row.mean is not None] for metric in metrics)
        last = {row.classifier: row for row in here}.values()
        scored = f"{sum(row.n_scored for row in last)} of {sum(row.n for row in last)}"
        body.append((*(names if several else names[2:]), *(shown(mean(some)) for some in values), scored))
    settings = ("Image set", "Denoiser") if several else ()
    return (*settings, "Method", "Is", *map(label, metrics), "Scored"), tuple(body)


METHODS = table(
    "vce_methods",
    "Methods side by side",
    SummaryRow,
    methods_rows,
    lambda rows: (
        _explained(rows),
        "Each figure is the mean over groups, then over the trained classifiers that every method explains. OTA: the "
        "mean over all trained oracles but the classifier itself. Attempts: weights of the class term that were "
        "tried, each in a run with that many calls. ↑ higher is better, ↓ lower.",
    ),
    EMPTY,
    lines=_methods_lines,
)


class FieldRow(Setting):
    """One method on one classifier and two classes, or what a paper printed for such."""

    classes: Annotated[str, Heading("Classes")]
    """The two, in the order of their names."""
    method: Method
    classifier: Annotated[str, Heading("Classifier")] = ""
    """The classifier that is explained; empty of a published figure."""
    source: Annotated[str, Heading("Published in")] = ""
    """The paper; empty of what this study measured."""
    fid: Annotated[Figure, Heading("FID ↓", number("fid"))] = None
    """Fréchet distance of Inception's 2,048 features between images and counterfactuals."""
    sfid: Annotated[Figure, Heading("sFID ↓", number("sfid"))] = None
    """The same across halves."""
    fva: Annotated[Figure, Heading("FVA ↑", number("fva"))] = None
    """Face verification accuracy: the share with a cosine of face embeddings above 0.5."""
    fs: Annotated[Figure, Heading("FS ↑", number("fs"))] = None
    """Face similarity: the mean of these cosines."""
    s3: Annotated[Figure, Heading("S3 ↑", number("s3"))] = None
    """Mean cosine of SimSiam's embeddings."""
    mnac: Annotated[Figure, Heading("MNAC ↓", number("mnac"))] = None
    """Mean number of attributes changed."""
    cd: Annotated[Figure, Heading("CD ↓", number("cd"))] = None
    """Correlation difference, of both directions together; blank where one alone was run."""
    cout: Annotated[Figure, Heading("COUT ↑", number("cout"))] = None
    """Counterfactual transition."""
    fr: Annotated[Figure, Heading("FR ↑", number("fr"))] = None
    """Flip rate, of all that was asked for."""
    n_groups: int = 0
    """Directions that were run."""
    n: int = 0
    """Counterfactual images that were asked for."""
    n_scored: Annotated[int, Heading("Scored", lambda row: f"{row.n_scored} of {row.n}" if row.n else "")] = 0
    """Those of them that have a result."""


# Columns, and the figures of groups that may fill them, the best first; a name that ends in `_` is the beginning.
_FILLED_BY = {
    "fid": ("fid_2048_both", "fid_2048"),
    "sfid": ("sfid_2048_both", "sfid_2048"),
    "fva": ("fva",),
    "fs": ("fs",),
    "s3": ("s3",),
    "mnac": ("mnac_",),
    "cd": ("cd_",),
    "cout": ("cout",),
}


def classes_of(source: str, target: str) -> str:
    """Two classes in the order of their names: `cheetah / cougar`."""
    return " / ".join(sorted((source, target), key=str.lower))


def field_rows(material: GroupMaterial) -> list[FieldRow]:
    """A row a pair of classes, method and classifier, with the published ones after those of the same classes.

    As in ACE (Jeanneret et al. 2023, Section 4), figures are of what succeeded where the method rejects the rest, and
    the flip rate is of all that was asked for. FID and sFID, of Inception's 2,048 features, are of both directions
    together where both were run; CD, which needs both, is of them alone. The other figures are means over the groups of
    the two classes.
    """
    rows = []
    for setting in material.settings():
        by_classes: dict[str, list[FieldRow]] = {}
        for condition, scores in material.conditions_of(setting).items():
            groups: dict[str, list[GroupScore]] = {}
            for score in scores:
                if score.group.pair == "ideal":
                    groups.setdefault(classes_of(score.group.source, score.group.target), []).append(score)
            for classes, some in groups.items():
                names = {"classes": classes, "method": condition.method, "classifier": condition.classifier}
                flipped = [
                    score.figures["fr"] * score.n_scored / score.n
                    for score in some
                    if "fr" in score.figures and score.n
                ]
                flipped += [0.0 for score in some if not score.n_scored and score.n]
                by_classes.setdefault(classes, []).append(
                    FieldRow(
                        **setting_fields(setting),
                        **names,
                        **{column: _first_of(some, figures) for column, figures in _FILLED_BY.items()},
                        fr=rounded(mean(flipped)),
                        n_groups=len(some),
                        n=sum(score.n for score in some),
                        n_scored=sum(score.n_scored for score in some),
                    )
                )
        for classes, own in by_classes.items():
            rows += [*own, *_published(setting, classes, material.others)]
    return rows


def _first_of(groups: Sequence[GroupScore], names: Iterable[str]) -> float | None:
    """The mean of the first of some figures that a group has."""
    figures = sorted({name for score in groups for name in score.figures})
    wanted = (n for name in names for n in figures if n == name or (name.endswith("_") and n.startswith(name)))
    first = next(wanted, None)
    return rounded(mean(figures_named(groups, first))) if first else None


def _published(setting: SettingNames, classes: str, figures: Sequence[PublishedFigure]) -> Iterator[FieldRow]:
    here = [figure for figure in figures if figure.classes == classes]
    for method, source in dict.fromkeys((figure.method, figure.source) for figure in here):
        values = {f.metric: f.value for f in here if (f.method, f.source) == (method, source)}
        yield FieldRow(**setting_fields(setting), classes=classes, method=method, source=source, **values)


FIELD = table(
    "vce_field",
    "Two classes: what the field's papers report",
    FieldRow,
    field_rows,
    lambda rows: (
        "FID and sFID are of both directions together where both were run, CD only where they were and where the "
        "attribute came in some image and went from another; the other figures are means over groups. FR: of all "
        "counterfactuals that were asked for, the share that the classifier sees otherwise than their image. ↑ higher "
        "is better, ↓ lower. Blank: there is no such figure; FID needs more images than its 2,048 features.",
        "Published: other images, classifiers and samplers stand behind these figures; read them as orders of size."
        if any(row.source for row in rows)
        else "",
    ),
    EMPTY,
    without=lambda rows: hidden(*(*_FILLED_BY, "fr", "source", "classifier") if rows else ())(rows),
)


class CostRow(Setting):
    """One method on one classifier."""

    method: Method
    classifier: str
    """The classifier that is explained."""
    kind: Kind = ""
    ta: Annotated[Figure, Heading("TA ↑", number("ta"))] = None
    """Share of all that were asked for which the classifier sees as the target; what was dropped counts as not seen."""
    ota: Annotated[Figure, Heading("OTA ↑", number("ota"))] = None
    """The same by the mean of the trained oracles but the classifier itself."""
    d2: Annotated[Figure, Heading("D2 ↓", number("d2"))] = None
    """Mean Euclidean distance between original and counterfactual image, pixels in [−1, 1]."""
    attempts: Annotated[Figure, Heading("Attempts", number("attempts", 2))] = None
    """Weights of the class term that were tried, mean."""
    denoiser_calls: Annotated[Figure, Heading("Denoiser calls", number("denoiser_calls", 1))] = None
    """Forward passes of the denoiser for one counterfactual image, over all attempts."""
    denoiser_gradients: Annotated[Figure, Heading("Denoiser gradients", number("denoiser_gradients", 1))] = None
    """Backward passes of the denoiser, likewise."""
    classifier_gradients: Annotated[Figure, Heading("Classifier gradients", number("classifier_gradients", 1))] = None
    """Gradients of classifiers, likewise."""
    passes: Annotated[Figure, Heading("Passes ↓", number("passes", 1))] = None
    """Forward and backward passes of the denoiser together."""
    per_valid: Annotated[Figure, Heading("Passes per valid ↓", number("per_valid", 1))] = None
    """`passes` / `ta`; none where `ta` is 0."""
    per_confirmed: Annotated[Figure, Heading("Passes per confirmed ↓", number("per_confirmed", 1))] = None
    """`passes` / `ota`; none where `ota` is 0."""
    n: int = 0
    """Counterfactual images that were asked for."""
    n_scored: int = 0
    """Those of them that have a result."""


_PASSES = ("denoiser_calls", "denoiser_gradients", "classifier_gradients")


def cost_rows(material: GroupMaterial) -> list[CostRow]:
    """A row a method and classifier.

    Cost is counted in passes of the denoiser (`cfeval.vce.estimate`), all tried weights of the class term included.
    What the rejection step drops has been paid for too. Seconds depend on the machine, and no record holds them.
    """
    return [
        _cost_row(material, setting, classifier, method, groups)
        for setting in material.settings()
        for method in dict.fromkeys(condition.method for condition in material.conditions)
        for classifier in material.classifiers(setting, method)
        if method in material.cost and (groups := material.groups(setting, classifier, method, "ideal"))
    ]


def _cost_row(
    material: GroupMaterial, setting: SettingNames, classifier: str, method: str, groups: Sequence[GroupScore]
) -> CostRow:
    attempts = mean(figures_named(groups, "attempts")) or 1.0
    cost = {name: material.cost[method].get(name, 0.0) * attempts for name in _PASSES}
    values: dict[str, float | None] = {
        "ta": _of_asked((score, score.figures.get("ta")) for score in groups),
        "ota": _of_asked((score, of_oracles(score, material)) for score in groups),
        "d2": mean(figures_named(groups, "d2")),
        "attempts": attempts,
        **cost,
        "passes": cost["denoiser_calls"] + cost["denoiser_gradients"],
    }
    return CostRow(
        **setting_fields(setting),
        method=method,
        classifier=classifier,
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
    shares = {"per_valid": values["ta"], "per_confirmed": values["ota"]}
    return {name: rounded(passes / share) if share else None for name, share in shares.items()}


def averaged(rows: Sequence[CostRow]) -> list[CostRow]:
    """A row a method: means over the classifiers that all methods share; costs of a valid one from these means."""
    means = []
    trained = shared(rows)
    for key in dict.fromkeys((*setting_of(row), row.method) for row in trained):
        some = [row for row in trained if (*setting_of(row), row.method) == key]
        values: dict[str, float | None] = {}
        for name in ("ta", "ota", "d2", "attempts", *_PASSES, "passes"):
            values[name] = rounded(mean([value for row in some if (value := getattr(row, name)) is not None]))
        counts = {name: sum(getattr(row, name) for row in some) for name in ("n", "n_scored")}
        names = setting_fields(key[:2])
        means.append(CostRow(**names, method=key[2], classifier="mean", **values, **_per(values), **counts))
    return means


COST = table(
    "vce_cost",
    "Validity against cost",
    CostRow,
    cost_rows,
    lambda rows: (
        _explained(rows),
        "Means over the trained classifiers that every method explains. Passes: forward and backward passes of the "
        "denoiser for one counterfactual image, over all weights that were tried. Passes per valid one: divided by the "
        "share of all that were asked for which the classifier sees as the target; per confirmed one: by the share "
        "that oracles see so. Blank: none is. ↑ higher is better, ↓ lower.",
    ),
    EMPTY,
    without=lambda rows: hidden()(averaged(rows)),
    shown=averaged,
)
