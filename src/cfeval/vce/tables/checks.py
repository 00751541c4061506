"""Does the run mean anything? What must hold before any other table is read, each with its figure and its bar.

Images are the originals of groups with ideal targets. A check that fails is a warning: the figures of what it is about
say little, whatever they are.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from cfeval.core.records import Status
from cfeval.report.columns import Heading, laid_out
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.vce.originals import chance_of, limits
from cfeval.vce.records import COMMITTEE
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames, split
from cfeval.vce.tables.summary import mean, shown, told

KEPT, READ, SEEN = 0.5, 0.5, 0.05
"""The least share of unguided images that keep their class, and of originals that a trained classifier reads rightly,
where chance is less; the share of counterfactuals below which nobody sees a target class."""
EMPTY = "Empty: no groups with ideal targets."
_TITLE = "Before you read the tables: does the run mean anything?"
_READING = (
    "Fails: the figure is below the bar, so that what the check is about tells little. Without guidance a denoiser "
    "that fits the images keeps most of them in their class; a trained classifier reads most originals, and surely "
    "more than whoever always says the same (the lower end of the 95 % Wilson interval lies above one in the number of "
    "classes; open: so far there are too few images to tell); some oracle sees each target class somewhere, if oracles "
    "can see it at all."
)


class CheckRow(Setting):
    """One check of one thing."""

    check: Annotated[str, Heading("Check")]
    """What must hold."""
    about: Annotated[str, Heading("Of")]
    """The denoiser, the classifier or the target class that it is about."""
    figure: Annotated[Figure, Heading("Share", lambda row: shown(row.figure))] = None
    """The share that is held against the bar."""
    interval: Annotated[str, Heading("95 % interval")] = ""
    """The Wilson interval of the share of originals that are read rightly."""
    bar: Annotated[Figure, Heading("Bar", lambda row: shown(row.bar))] = None
    """The least share at which the check passes."""
    result: Annotated[Literal["passes", "fails", "open"], Heading("Result")]
    """Whether it does; open: the images are too few to tell it from chance."""
    advice: Annotated[str, Heading("What to do")] = ""
    """Where it does not pass."""


def rows(material: GroupMaterial) -> list[CheckRow]:
    """The checks of each setting that there are figures for."""
    return [row for setting in material.settings() for row in _checks(material, setting)]


def render(of: Sequence[CheckRow]) -> RenderedTable:
    """The table for readers."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    columns = laid_out(CheckRow, of, without=() if several else ("image_set", "denoiser"))
    return RenderedTable("vce_checks", _TITLE, *columns, (_READING if of else EMPTY,))


def failed(of: Sequence[CheckRow]) -> list[str]:
    """A line for each check that fails."""
    return [
        f"{row.about}: {row.check} in {shown(row.figure)} of cases, "
        f"{f'below {shown(row.bar)}' if row.result == 'fails' else 'which may be chance'}; {row.advice}"
        for row in of
        if row.result != "passes"
    ]


def _checks(material: GroupMaterial, setting: SettingNames) -> Iterator[CheckRow]:
    unguided = material.roles.unguided
    names = material.classifiers(setting, unguided) if unguided else []
    kept = [v for name in names for v in told(material.groups(setting, name, unguided, "ideal"), "oa")]
    if kept:
        advice = "use a denoiser that was trained on such images, or a lower `start`"
        yield _row(setting, "unguided images keep their class", setting[1], kept, KEPT, advice)
    for name in material.classifiers(setting):
        groups = [g for method in _methods(material, setting, name) for g in material.groups(*method, "ideal")]
        wrong = {g.group.source: g.figures["misread"] for g in groups if "misread" in g.figures}
        if wrong and name not in material.roles.random:
            yield _read(setting, name, list(wrong.values()), _originals(material, setting, name))
    yield from _targets(material, setting)


def _read(setting: SettingNames, name: str, wrong: Sequence[float], images: int) -> CheckRow:
    """Whether a classifier reads most originals, and surely more than by chance."""
    advice = "check its class names and its preprocessing"
    row = _row(setting, "originals are read rightly", name, [1 - v for v in wrong], READ, advice)
    if row.figure is None:
        return row
    figure = row.figure
    low, high = limits(figure * images, images)
    row = row.model_copy(update={"interval": f"[{low:.3f}, {high:.3f}]" if images else ""})
    chance = chance_of(len(wrong))
    if figure <= chance:
        return row.model_copy(update={"bar": max(READ, chance), "result": "fails", "advice": advice})
    if row.result == "passes" and images and low <= chance:
        return row.model_copy(update={"result": "open", "advice": "make counterfactuals of more images"})
    return row


def _originals(material: GroupMaterial, setting: SettingNames, classifier: str) -> int:
    """How many originals a classifier was asked about; 0 where single scores are not at hand."""
    units = {
        row.cell.unit
        for condition, rows in material.scores.items()
        if (condition.image_set, condition.denoiser, condition.classifier) == (*setting, classifier)
        for row in rows
        if row.seen.status == Status.OK and row.seen.pair == "ideal"
    }
    return len(units)


def _targets(material: GroupMaterial, setting: SettingNames) -> Iterator[CheckRow]:
    """The greatest share in which any oracle sees a target class, over all that was made."""
    best: dict[str, float] = {}
    for condition, groups in material.conditions.items():
        for group in groups if (condition.image_set, condition.denoiser) == setting else ():
            seen = [v for name, v in group.figures.items() if _of_oracle(name, condition.classifier, material)]
            if seen and group.group.pair == "ideal":
                best[group.group.target] = max(*seen, best.get(group.group.target, 0.0))
    advice = "the oracles may not know this class; ask others, or choose another target"
    for target, share in sorted(best.items()):
        yield _row(setting, "some oracle sees the target class", target, [share], SEEN, advice)


def _of_oracle(figure: str, classifier: str, material: GroupMaterial) -> bool:
    kind, name = split(figure)
    return kind == "ota" and name not in ("", classifier, *COMMITTEE) and material.roles.is_oracle(name)


def _methods(material: GroupMaterial, setting: SettingNames, classifier: str) -> list[tuple[SettingNames, str, str]]:
    return [
        (setting, classifier, condition.method)
        for condition in material.conditions
        if (condition.image_set, condition.denoiser, condition.classifier) == (*setting, classifier)
    ]


def _row(setting: SettingNames, check: str, about: str, values: Sequence[float], bar: float, advice: str) -> CheckRow:
    figure = mean(values)
    fails = figure is not None and figure < bar
    return CheckRow(
        **{"image_set": setting[0], "denoiser": setting[1], "check": check, "about": about},
        figure=rounded(figure),
        bar=bar,
        result="fails" if fails else "passes",
        advice=advice if fails else "",
    )


TABLE = Table(row=CheckRow, rows=rows, render=render)
