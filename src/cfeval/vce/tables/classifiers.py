"""The classifiers of a study (DBVCE, Table 1); and does the run mean anything? What must hold before any other table is
read, each check with its figure and its bar.

Images are the originals of groups with ideal targets. A check that fails is a warning: the figures of what it is about
say little, whatever they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from cfeval.core.records import Status
from cfeval.report.tables import Estimated, Figure, Heading, Methods, TableRow, figures_of, table
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import share, wilson
from cfeval.vce.originals import chance_of, limits
from cfeval.vce.records import COMMITTEE, ExplainedNetwork
from cfeval.vce.tables.group_scores import (
    GroupMaterial,
    PublishedNetwork,
    Setting,
    SettingNames,
    figures_named,
    hidden,
    mean,
    number,
    number_with_limits,
    setting_fields,
    setting_of,
    shown,
    split,
)

_MILLION = 1_000_000


def _millions(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / _MILLION:.0f} M" if count >= 10 * _MILLION else f"{count / _MILLION:.2g} M"


class NetworkRow(TableRow):
    """One classifier on one image set."""

    image_set: Annotated[str, Heading("Image set")]
    """Whose originals."""
    classifier: Annotated[str, Heading("Classifier")]
    """The classifier, by its name in params.yaml."""
    kind: Annotated[str, Heading("Is")] = ""
    """What roles say of it: `robust`, `noise-trained`, `random`, `flawed`."""
    parameters: Annotated[int | None, Heading("Parameters", lambda row: _millions(row.parameters))] = None
    """Of its networks; none where it holds none."""
    accuracy: Annotated[Estimated, Heading("Accuracy", number_with_limits("accuracy"))] = None
    """Share of the originals that it puts into their class, of those that it knows."""
    robust: Annotated[str, Heading("Robust")] = ""
    """`yes`: trained against perturbed images; `noise`: on noisy ones; `no`."""
    paper: Annotated[str, Heading("In the paper")] = ""
    """The paper's classifier that stands beside it."""
    paper_parameters: Annotated[int | None, Heading("Its parameters", lambda row: _millions(row.paper_parameters))] = (
        None
    )
    """As the paper printed them."""
    paper_accuracy: Annotated[Figure, Heading("Its accuracy", number("paper_accuracy"))] = None
    """As the paper printed it; none where it did not."""
    paper_robust: Annotated[str, Heading("Robust in it")] = ""
    """As the paper marks it."""
    paper_published: Annotated[str, Heading("Published")] = ""
    """Where the paper's classifier was published."""
    n: int = 0
    """Originals that the accuracy rests on."""
    ci: Methods = ""


def network_rows(material: GroupMaterial) -> list[NetworkRow]:
    """A row a classifier, in the order of params.yaml."""
    printed = {cell.classifier: cell for cell in material.networks_in_paper}
    return [_network_row(material, name, one, printed) for name, some in material.networks.items() for one in some]


def _network_row(
    material: GroupMaterial, image_set: str, network: ExplainedNetwork, printed: Mapping[str, PublishedNetwork]
) -> NetworkRow:
    roles = material.roles
    figures: dict[str, object] = {"image_set": image_set, "classifier": network.name, "n": network.n}
    figures |= {"kind": roles.of_classifier(network.name), "parameters": network.parameters}
    trained_on_noise = network.timed or network.name in roles.noise_trained
    figures["robust"] = "yes" if network.robust else "noise" if trained_on_noise else "no"
    if network.n:
        right = [1.0] * network.n_right + [0.0] * (network.n - network.n_right)
        figures |= figures_of({"accuracy": wilson(share(right), 0.95)})
    if beside := printed.get(roles.paper.get(network.name, "")):
        figures |= {
            "paper": beside.classifier,
            "paper_robust": {"1": "yes", "0": "no"}.get(beside.robust, beside.robust),
        }
        figures |= {f"paper_{name}": getattr(beside, name) for name in ("parameters", "accuracy", "published")}
    return NetworkRow.model_validate(figures)


def _without(rows: Sequence[NetworkRow]) -> list[str]:
    paper = [] if any(row.paper for row in rows) else [n for n in NetworkRow.model_fields if n.startswith("paper")]
    return [*paper, *([] if len({row.image_set for row in rows}) > 1 else ["image_set"])]


TABLE1 = table(
    "vce_table1",
    "DBVCE, Table 1: classifiers",
    NetworkRow,
    network_rows,
    lambda _: (
        "Accuracy: of the study's originals whose class the classifier knows, 95 % Wilson interval; the paper's is of "
        "all of ImageNet's validation images. Robust: trained against perturbed images, or on noisy ones (noise).",
    ),
    "Empty: the study has no classifiers that were looked at.",
    without=_without,
)
# The least share of unguided images that keep their class, and of originals that a trained classifier reads rightly,
# where chance is less; the share of counterfactuals below which nobody sees a target class.
KEPT, READ, SEEN = 0.5, 0.5, 0.05


class CheckRow(Setting):
    """One check of one thing."""

    check: Annotated[str, Heading("Check")]
    """What must hold."""
    about: Annotated[str, Heading("Of")]
    """The denoiser, the classifier or the target class that it is about."""
    figure: Annotated[Figure, Heading("Share", number("figure"))] = None
    """The share that is held against the bar."""
    interval: Annotated[str, Heading("95 % interval")] = ""
    """The Wilson interval of the share of originals that are read rightly."""
    bar: Annotated[Figure, Heading("Bar", number("bar"))] = None
    """The least share at which the check passes."""
    result: Annotated[Literal["passes", "fails", "open"], Heading("Result")]
    """Whether it does; open: the images are too few to tell it from chance."""
    advice: Annotated[str, Heading("What to do")] = ""
    """Where it does not pass."""


def failed(rows: Sequence[CheckRow]) -> list[str]:
    """A line for each check that fails."""
    return [
        f"{row.about}: {row.check} in {shown(row.figure)} of cases, "
        f"{f'below {shown(row.bar)}' if row.result == 'fails' else 'which may be chance'}; {row.advice}"
        for row in rows
        if row.result != "passes"
    ]


def check_rows(material: GroupMaterial) -> list[CheckRow]:
    """The checks of each setting that there are figures for."""
    return [row for setting in material.settings() for row in _checks(material, setting)]


def _checks(material: GroupMaterial, setting: SettingNames) -> Iterator[CheckRow]:
    unguided = material.roles.unguided
    names = material.classifiers(setting, unguided) if unguided else []
    kept = [v for name in names for v in figures_named(material.groups(setting, name, unguided, "ideal"), "oa")]
    if kept:
        advice = "use a denoiser that was trained on such images, or a lower `start`"
        yield _check(setting, "unguided images keep their class", setting[1], kept, KEPT, advice)
    conditions = material.conditions_of(setting)
    for name in material.classifiers(setting):
        mine = [score for one, scores in conditions.items() if one.classifier == name for score in scores]
        ideal = [score for score in mine if score.group.pair == "ideal"]
        wrong = {score.group.source: score.figures["misread"] for score in ideal if "misread" in score.figures}
        if wrong and name not in material.roles.random:
            units = {
                row.cell.unit
                for condition, rows in material.scores.items()
                if setting_of(condition) == setting and condition.classifier == name
                for row in rows
                if row.seen.status == Status.OK and row.seen.pair == "ideal"
            }
            yield _read(setting, name, list(wrong.values()), len(units))
    best: dict[str, float] = {}
    for condition, groups in conditions.items():
        for group in groups:
            seen = [v for name, v in group.figures.items() if _of_oracle(name, condition.classifier, material)]
            if seen and group.group.pair == "ideal":
                best[group.group.target] = max(*seen, best.get(group.group.target, 0.0))
    advice = "the oracles may not know this class; ask others, or choose another target"
    for target, most in sorted(best.items()):
        yield _check(setting, "some oracle sees the target class", target, [most], SEEN, advice)


def _read(setting: SettingNames, name: str, wrong: Sequence[float], images: int) -> CheckRow:
    """Whether a classifier reads most originals, and surely more than by chance."""
    advice = "check its class names and its preprocessing"
    row = _check(setting, "originals are read rightly", name, [1 - v for v in wrong], READ, advice)
    if (figure := row.figure) is None:
        return row
    low, high = limits(figure * images, images)
    row = row.model_copy(update={"interval": f"[{low:.3f}, {high:.3f}]" if images else ""})
    chance = chance_of(len(wrong))
    if figure <= chance:
        return row.model_copy(update={"bar": max(READ, chance), "result": "fails", "advice": advice})
    if row.result == "passes" and images and low <= chance:
        return row.model_copy(update={"result": "open", "advice": "make counterfactuals of more images"})
    return row


def _of_oracle(figure: str, classifier: str, material: GroupMaterial) -> bool:
    kind, name = split(figure)
    return kind == "ota" and name not in ("", classifier, *COMMITTEE) and material.roles.is_oracle(name)


def _check(setting: SettingNames, check: str, about: str, values: Sequence[float], bar: float, advice: str) -> CheckRow:
    figure = mean(values)
    fails = figure is not None and figure < bar
    return CheckRow(
        **setting_fields(setting),
        check=check,
        about=about,
        figure=rounded(figure),
        bar=bar,
        result="fails" if fails else "passes",
        advice=advice if fails else "",
    )


CHECKS = table(
    "vce_checks",
    "Before you read the tables: does the run mean anything?",
    CheckRow,
    check_rows,
    lambda _: (
        "Fails: the figure is below the bar, so that what the check is about tells little. Without guidance a denoiser "
        "that fits the images keeps most of them in their class; a trained classifier reads most originals, and surely "
        "more than whoever always says the same (the lower end of the 95 % Wilson interval lies above one in the "
        "number of classes; open: so far there are too few images to tell); some oracle sees each target class "
        "somewhere, if oracles can see it at all.",
    ),
    "Empty: no groups with ideal targets.",
    without=hidden(),
)
