"""What the tables are made from: the scores of groups, little of those of images, and what stands for what."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import Field

from cfeval.core.errors import InputError
from cfeval.core.records import Record, Status
from cfeval.report.tables import Cell as TableCell
from cfeval.report.tables import Heading, TableRow, limits
from cfeval.vce.config import Roles
from cfeval.vce.endings import Ending, ending
from cfeval.vce.records import COMMITTEE, ExplainedNetwork, Group, GroupScore, Pair, VceCondition, VceScore

SettingNames = tuple[str, str]
"""Image set and denoiser: within one such setting conditions are compared, across settings never."""
T = TypeVar("T")
Kind = Annotated[
    str,
    Field(description="What the classifier is: `robust`, `noise-trained`, `random`, `flawed`, or nothing of these."),
]
Explained = Annotated[str, Heading("Classifier"), Field(description="The classifier that is explained.")]
Method = Annotated[str, Heading("Method"), Field(description="Whose counterfactuals.")]
Defect = Annotated[str, Field(description="The known defect of a flawed classifier, as `roles.defects` has it.")]


class Setting(TableRow):
    """Whose images, made by which denoiser: what a row of any of the tables begins with."""

    image_set: Annotated[str, Heading("Image set")]
    """Whose images; with the denoiser the setting within which things are compared."""
    denoiser: Annotated[str, Heading("Denoiser")]
    """What makes the counterfactuals."""


def setting_of(names: Any) -> SettingNames:
    """The image set and denoiser of a row or condition."""
    return names.image_set, names.denoiser


def setting_fields(setting: SettingNames) -> dict[str, Any]:
    """The fields of a row that name its setting."""
    return {"image_set": setting[0], "denoiser": setting[1]}


def several_settings(rows: Sequence[Any]) -> bool:
    """Whether rows are of several settings, so that readers must see which."""
    return len(set(map(setting_of, rows))) > 1


def hidden(*counts: str) -> Callable[[Sequence[Any]], list[str]]:
    """Fields whose columns readers do not see: the setting where all rows share it, and what no row has a value of."""

    def of(rows: Sequence[Any]) -> list[str]:
        settings = [] if several_settings(rows) else ["image_set", "denoiser"]
        return [*settings, *(name for name in counts if not any(getattr(row, name) for row in rows))]

    return of


def shown(mean: float | None, sd: float | None = None, most: int = 3) -> str:
    """`0.840 ± 0.105`, with fewer decimals than `most` where figures are large; nothing where there is no mean."""
    if mean is None:
        return ""
    size = max(abs(mean), abs(sd or 0))
    decimals = most if size < 10 else 2 if size < 100 else 0
    text = [f"{value + 0.0:,.{decimals}f}" for value in (mean, sd) if value is not None]
    return " ± ".join(f"−{part[1:]}" if part.startswith("-") else part for part in text)


def number(name: str, most: int = 3) -> TableCell:
    """The cell of a figure."""
    return lambda row: shown(getattr(row, name), most=most)


def number_with_limits(name: str) -> TableCell:
    """The cell of a figure with its interval."""

    def cell(row: Any) -> str:
        low, high = limits(row, name)
        return shown(getattr(row, name)) + (f" [{shown(low)}, {shown(high)}]" if low is not None else "")

    return cell


def mean(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return fmean(sorted(values)) if values else None


def figures_named(groups: Iterable[GroupScore], metric: str) -> list[float]:
    """A figure of the groups that have it."""
    return [score.figures[metric] for score in groups if metric in score.figures and score.n_scored]


class PublishedCell(Record):
    """One cell of a table that the paper printed (data/reference/dbvce.csv)."""

    source: str
    table: str
    classifier: str
    metric: str
    oracle: str = ""
    mean: float
    sd: float


class PublishedNetwork(Record):
    """A column of the paper's Table 1 (data/reference/dbvce-table1.csv); `robust` is 1, 0 or `noise`."""

    classifier: str
    network: str
    parameters: int
    accuracy: float | None = None
    robust: str
    published: str = ""


class PublishedFigure(Record):
    """A figure that a paper printed about two classes (data/reference/vce-published.csv).

    `classes` are the two in the order of their names; `metric` is a column of the table `field`.
    """

    source: str
    dataset: str
    classes: str
    method: str
    metric: Literal["fid", "sfid", "fva", "fs", "s3", "mnac", "cd", "cout", "fr"]
    value: float


class Cell(NamedTuple):
    """What is compared across conditions: the same image and target, or the same group.

    `unit` is what is drawn as a whole: the source image, or without scores of images the source class.
    """

    unit: str
    target: str
    repeat: int = 0


class Seen(NamedTuple):
    """What classifiers say of a counterfactual; few are different, so rows share them."""

    pair: Pair
    status: Status
    predicted: str | None
    oracles: tuple[tuple[str, str], ...]
    misread: bool = False
    """Whether the classifier, which knows the class of the original, put it in another one before any change."""


class Row(NamedTuple):
    """A counterfactual; `distances` are those of `closeness`, in order."""

    cell: Cell
    seen: Seen
    distances: tuple[float | None, ...]
    concept: str = ""
    """What an editor was told to change."""


@dataclass(frozen=True)
class GroupMaterial:
    """Scores by condition, and the settings.

    `scores` are those of single counterfactuals, for the tests of the hypotheses; `published` the paper's cells that
    may stand beside, `others` those of other papers; `cost` figures of a method, by its name, that no image is needed
    for (calls to networks); `built_in` are the classifiers of the test bed.
    """

    conditions: Mapping[VceCondition, Sequence[GroupScore]]
    roles: Roles = field(default_factory=Roles)
    scores: Mapping[VceCondition, Sequence[Row]] = field(default_factory=dict)
    published: Sequence[PublishedCell] = ()
    others: Sequence[PublishedFigure] = ()
    cost: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    built_in: Collection[str] = ()
    networks: Mapping[str, Sequence[ExplainedNetwork]] = field(default_factory=dict)
    """The classifiers by image set, in order."""
    networks_in_paper: Sequence[PublishedNetwork] = ()

    def settings(self) -> list[SettingNames]:
        """The image sets and denoisers, each pair once, in the order of the conditions."""
        return list(dict.fromkeys(map(setting_of, self.conditions)))

    def conditions_of(self, setting: SettingNames) -> dict[VceCondition, Sequence[GroupScore]]:
        """The conditions of a setting with the scores of their groups."""
        return {one: scores for one, scores in self.conditions.items() if setting_of(one) == setting}

    def classifiers(self, setting: SettingNames, *methods: str | None) -> list[str]:
        """The classifiers that some condition of the setting has, under these methods or any, in the order of the
        conditions.
        """
        conditions = self.conditions_of(setting)
        return list(dict.fromkeys(one.classifier for one in conditions if not methods or one.method in methods))

    def oracles(self, setting: SettingNames) -> list[str]:
        """Everybody who was asked whether the target is seen: the classifiers, then those who are oracles only."""
        groups = [score for scores in self.conditions_of(setting).values() for score in scores]
        figures = {split(metric) for score in groups for metric in score.figures}
        only = sorted(name for kind, name in figures if kind == "ota" and name not in COMMITTEE)
        return list(dict.fromkeys([*self.classifiers(setting), *only]))

    def groups(self, setting: SettingNames, classifier: str, method: str | None, pair: Pair) -> list[GroupScore]:
        """The groups of a condition with this kind of target; none where there is no such condition."""
        if method is None:
            return []
        condition = VceCondition(image_set=setting[0], denoiser=setting[1], classifier=classifier, method=method)
        return [score for score in self.conditions.get(condition, ()) if score.group.pair == pair]

    def expected(self, setting: SettingNames, pair: Pair) -> set[Group]:
        """The groups with this kind of target that any condition of the setting has."""
        groups = [score.group for scores in self.conditions_of(setting).values() for score in scores]
        return {group for group in groups if group.pair == pair}

    def ending(self, condition: VceCondition, row: "Row") -> Ending:
        """How a counterfactual ends (`cfeval.vce.endings`)."""
        name, replies = condition.classifier, dict(row.seen.oracles)
        misread = row.seen.misread and self.roles.of_classifier(name) != "random"
        witnesses = self.roles.witnesses(name, replies)
        return ending(row.seen.status, row.seen.predicted, row.cell.target, replies, witnesses, misread)

    def paper(self, table: str, classifier: str, metric: str) -> tuple[float | None, float | None]:
        """Mean and sd of the paper's cell; None where it has none, or nobody said which cell it is."""
        kind, oracle = split(metric)
        named = self.roles.paper.get(classifier), self.roles.paper.get(oracle, "") if oracle else ""
        if not named[0] or (oracle and not named[1]):
            return None, None
        key = (table, *named, kind)
        cells = (c for c in self.published if (c.table, c.classifier, c.oracle, c.metric) == key)
        return next(((cell.mean, cell.sd) for cell in cells), (None, None))


def group_material(
    of: Iterable[GroupScore],
    scores: Mapping[VceCondition, Iterable[VceScore]] | None = None,
    /,
    roles: Roles | None = None,
    **settings: object,
) -> GroupMaterial:
    """Gather the scores of groups, in whatever order they come, and those of single counterfactuals.

    Raises:
        InputError: a group of a condition appears twice.
    """
    by_condition: dict[VceCondition, dict[tuple[str, str], GroupScore]] = {}
    for score in of:
        group, groups = score.group, by_condition.setdefault(score.condition, {})
        if (group.source, group.target) in groups:
            where = "/".join(score.condition.model_dump().values())
            raise InputError(f"two scores of the group {group.source} → {group.target} of {where}; give each file once")
        groups[group.source, group.target] = score
    conditions = {condition: [groups[key] for key in sorted(groups)] for condition, groups in by_condition.items()}
    same: dict[object, object] = {}
    what = roles or Roles()
    rows = {condition: rows_of(some, what.closeness, same) for condition, some in (scores or {}).items()}
    return GroupMaterial(conditions, what, rows, **settings)  # type: ignore[arg-type]


def rows_of(scores: Iterable[VceScore], closeness: Sequence[str], same: dict[object, object]) -> list[Row]:
    """The scores of a condition, in the order in which they come.

    Args:
        closeness: names of distances.
        same: keeps one copy of equal values, of this condition and others; added to.
    """

    def once(value: T) -> T:
        return cast(T, same.setdefault(value, value))

    def seen(score: VceScore) -> Seen:
        misread = score.p_source is not None and score.before != score.source
        return Seen(score.pair, score.status, score.predicted, tuple(sorted(score.oracles.items())), misread)

    return [
        Row(
            once(Cell(score.source_image, score.target, score.repeat)),
            once(seen(score)),
            tuple(score.distances.get(name) for name in closeness),
            once(score.concept),
        )
        for score in scores
    ]


def split(metric: str) -> tuple[str, str]:
    """A figure's kind and the oracle it is by: `ota_vit` → `ota`, `vit`; `ta` → `ta` and nothing."""
    for kind in ("os", "ota"):
        if metric.startswith(f"{kind}_"):
            return kind, metric.removeprefix(f"{kind}_")
    return metric, ""
