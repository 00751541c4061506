"""What tables are made from: the scores of conditions, and the figures that follow from them.

Items are the unit, edits of an item are averaged, images are clusters: the mean over an item's edits, then over items
(EDCT 2025, Section 3; EDCT-Bench 2026). Missing is not zero: an edit without a score counts neither way, and what it
could change is told as bounds. Of scores only what tables need is kept, and what many share is held once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby, pairwise
from operator import attrgetter
from sys import intern
from typing import NamedTuple

from cfeval.core.errors import InputError
from cfeval.core.records import Binary, Record, Status
from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025
from cfeval.edct.records import AskedAgain, Condition, Counterfactual, Score
from cfeval.report.tables import Figure, Figures, figures_of
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, ItemScore, estimate, mean, rounded

NAMES = tuple(Condition.model_fields)
MOST_TARGETS = 12
"""Of a setting: of more, not every two are compared unless that is asked for."""
NO_CONDITION_NOTE = "Empty: params.yaml names no condition for this table (edct.tables)."
HEADINGS = {
    "dataset": "Dataset",
    "vlm": "Target",
    "writer": "Writer",
    "protocol": "Protocol",
    "editor": "Editor",
    "judge": "Judge",
}


class ScoreValues(NamedTuple):
    """What a score says, whatever its item; the fields are those of `Score`. Few are different, so rows share them."""

    status: Status
    stage: str
    evidence: str
    pcs: Binary | None
    ncc: Binary | None
    ac: Binary | None
    ef: Binary | None
    ccs: Binary | None
    ccs_graded: float | None
    answer_moved: Binary | None
    by_text: Binary | None
    evaded: Binary | None
    again: AskedAgain
    implied: Binary | None
    implied_blank: Binary | None
    sham_edit: Binary | None
    sees_absent: Binary | None
    explanation_moved: Binary | None
    names_edited: Binary | None
    sham: Binary | None
    swapped: Binary | None
    reworded: Binary | None
    reader_moved: Binary | None
    present: Binary | None
    breadth: int | None
    correct: float | None
    verified: Binary | None
    drawn_from: int | None


class Row(NamedTuple):
    """A score. Rows with the same `cluster` are of items about one image: a cluster."""

    id: str
    edit: int
    cluster: str
    told: ScoreValues


Metric = str | Callable[[Row], float | None]
"""A field of what a row tells, or what follows from its fields; in [0, 1], None where the edit has no score."""


class Published(Record):
    """One figure that a paper printed (data/reference). An empty name matches any (`cfeval.edct.tables.conditions`)."""

    source: str
    protocol: str
    table: str
    dataset: str = ""
    vlm: str = ""
    writer: str = ""
    editor: str = ""
    judge: str = ""
    n: int | None = None
    metric: str
    value: float
    half_width: Figure = None
    """What the paper prints after ±."""
    spread: str = ""
    """What that ± is, in the paper's words."""


@dataclass(frozen=True)
class TableData:
    """Scores by condition, and the settings.

    `counterfactuals` are what a table is made of that has no scores.
    `published` are figures that may stand beside one's own, `test_targets` the targets that are built-in test models,
    `known` the share of items that a target answers unfaithfully, `judge_error` the targets on which the error of
    judges is measured, `repeats` the target that another one repeats, `failed_edits` the share of edits that are known
    to have failed unseen, `expected` what is known of the figures of test models, `exams` what the judge exam says
    of judges. `compared_with` and `all_pairs` are those of the parameters (`Edct`).
    """

    scores: Mapping[Condition, Sequence[Row]]
    how: Interval = field(default_factory=Interval)
    published: Sequence[Published] = ()
    test_targets: Collection[str] = ()
    known: Mapping[str, float] = field(default_factory=dict)
    judge_error: Sequence[str] = ()
    repeats: Mapping[str, str] = field(default_factory=dict)
    failed_edits: float = 0.0
    expected: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    exams: Mapping[str, ExamError] = field(default_factory=dict)
    counterfactuals: Mapping[Condition, Iterable[Counterfactual]] = field(default_factory=dict)
    compared_with: str | None = None
    all_pairs: bool = False

    def of(self, condition: Condition) -> Sequence[Row]:
        """The scores of a condition, in the order of items and edits; InputError where there are none."""
        if condition not in self.scores:
            what_to_do = "name it among the conditions, or beside, or take it out of the table"
            raise InputError(f"no scores of the condition {label(condition)}; {what_to_do}")
        return self.scores[condition]

    def is_test(self, vlm: str) -> int:
        """1 where a target is a built-in test model."""
        return int(vlm in self.test_targets)


def material(scores: Mapping[Condition, Iterable[Score]], **settings: object) -> TableData:
    """Gather the scores of conditions, in whatever order they come; `settings` are the other fields of `TableData`;
    InputError where a score is of another condition than it is given for, or an item and edit of a condition appears
    twice.
    """
    same: dict[ScoreValues, ScoreValues] = {}
    return TableData({condition: gathered(condition, some, same) for condition, some in scores.items()}, **settings)  # type: ignore[arg-type]


def gathered(condition: Condition, scores: Iterable[Score], same: dict[ScoreValues, ScoreValues]) -> list[Row]:
    """The scores of a condition in the order of items and edits, however they were cut into files.

    Args:
        same: what was told before, by this condition or another; added to.

    Raises:
        InputError: a score is of another condition, or an item and edit appears twice.
    """
    rows, names = list[Row](), _names(condition)
    for score in scores:
        if _names(score) != names:
            raise InputError(f"a score of {label(score)} stands in the files of {label(condition)}; make these again")
        score_values = ScoreValues._make(_values_of(score))
        shared_values = same.setdefault(score_values, score_values)
        rows.append(Row(intern(score.id), score.edit, intern(score.cluster or score.id), shared_values))
    rows.sort(key=attrgetter("id", "edit"))
    for row, other in pairwise(rows):
        if (row.id, row.edit) == (other.id, other.edit):
            where = f"item '{row.id}', edit {row.edit} of {label(condition)}"
            raise InputError(f"two score rows for {where}; make its score files again")
    return rows


_values_of, _names = attrgetter(*ScoreValues._fields), attrgetter(*NAMES)


def condition_of(row: Condition) -> Condition:
    """The condition of a score or table row."""
    return Condition(**{name: getattr(row, name) for name in NAMES})


def label(condition: Condition) -> str:
    """All names of a condition, as in the paths of its files: the same whichever conditions stand beside it."""
    return "/".join(getattr(condition, name) for name in NAMES)


def conditions_under(conditions: Iterable[Condition], table: str, *protocols: str) -> list[Condition]:
    """The conditions, each once; InputError where one is under another protocol, whose scores must not stand in the
    same column.
    """
    for condition in conditions:
        if condition.protocol not in protocols:
            fault = f"the condition {label(condition)} belongs in another table"
            raise InputError(f"the table {table} is of {' or '.join(protocols)}; {fault}")
    return list(dict.fromkeys(conditions))


def of_2025(conditions: Iterable[Condition], table: str) -> list[Condition]:
    """The conditions of the 2025 protocol, each once; the others may be its controls, or InputError is raised."""
    among = conditions_under(conditions, table, EDCT_2025, *CONTROLS)
    return [condition for condition in among if condition.protocol == EDCT_2025]


def settings_of(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """The conditions that differ in their target alone, each once."""
    beside: dict[Condition, list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        beside[condition.model_copy(update={"vlm": ""})].append(condition)
    return list(beside.values())


def compared_pairs(setting: Sequence[Condition], reference: str | None, every: bool) -> list[tuple[int, int]]:
    """The places of each two conditions of a setting that are compared.

    Args:
        setting: conditions that differ in their target alone.
        reference: the target with which each other one is compared; None: see `MOST_TARGETS`.
        every: compare every two, however many.
    """
    names = [condition.vlm for condition in setting]
    if every or (reference is None and len(names) <= MOST_TARGETS):
        return list(combinations(range(len(names)), 2))
    if reference is not None and reference not in names:
        return []
    first = 0 if reference is None else names.index(reference)
    return [(first, other) for other in range(len(names)) if other != first]


def by_item(scores: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of one item after the other; `scores` are in the order of items."""
    for _, rows in groupby(scores, key=attrgetter("id")):
        yield list(rows)


def values(scores: Sequence[Row], metric: Metric) -> list[ItemScore]:
    """The mean of a metric over each item's edits that have one; items without any are left out."""
    value_of, item_values = _reader(metric), []
    for rows in by_item(scores):
        edit_values = [float(value) for row in rows if (value := value_of(row)) is not None]
        if edit_values:
            item_values.append(ItemScore(rows[0].id, rows[0].cluster, sum(edit_values) / len(edit_values)))
    return item_values


def counts(scores: Sequence[Row]) -> Figures:
    """`n`, the items; `n_scored`, those of them that have a score; `missing`, why edits have none."""
    return {"n": n_items(scores), "n_scored": n_items(scored(scores)), "missing": missing(scores)}


def n_items(scores: Iterable[Row]) -> int:
    """How many items scores are about."""
    return len({score.id for score in scores})


def scored(scores: Iterable[Row]) -> Iterator[Row]:
    """Those that are a score."""
    return (score for score in scores if score.told.status == Status.OK)


def missing(scores: Iterable[Row]) -> str:
    """Why edits have no score, with counts, the commonest first."""
    return reasons(Counter(score.told.status for score in scores if score.told.status != Status.OK))


def reasons(counts: Mapping[Status, int]) -> str:
    """Statuses with counts, the commonest first: `refused 3, timeout 1`."""
    ordered = sorted(counts.items(), key=lambda reason: (-reason[1], reason[0].value))
    return ", ".join(f"{status.value} {count}" for status, count in ordered)


def bounds(name: str, scores: Sequence[Row], metric: Metric) -> Figures:
    """`name_min` and `name_max`: see `extremes`; nothing where there is no item."""
    if not scores:
        return {}
    least, most = extremes(scores, metric)
    return {f"{name}_min": rounded(least), f"{name}_max": rounded(most)}


def extremes(scores: Sequence[Row], metric: Metric) -> tuple[float, float]:
    """The means over all items, at least one, if every edit without a score had scored 0, or 1."""
    value_of, least, most = _reader(metric), [], []
    for rows in by_item(scores):
        edit_values = [value_of(row) for row in rows]
        least.append(sum(value or 0 for value in edit_values) / len(edit_values))
        most.append(sum(1 if value is None else value for value in edit_values) / len(edit_values))
    return sum(least) / len(least), sum(most) / len(most)


def accuracy(scores: Sequence[Row]) -> float | None:
    """Mean accuracy of the baseline answers; an item with several edits counts once."""
    return mean({score.id: score.told.correct for score in scores if score.told.correct is not None}.values())


def strict_ccs(row: Row) -> float | None:
    """CCS of an edit, 0 where what the explanation cites is not in the image; None where nobody looked."""
    return row.told.ccs if row.told.present else row.told.present


def nobody_looked(scores: Iterable[Row]) -> bool:
    """Whether of no edit that was made it is known that what the explanation cites is in the image: then no rate can be
    given, since those that cite something absent may be known all the same.
    """
    made = [score.told.present for score in scored(scores)]
    return bool(made) and all(present is None for present in made)


def cited(scores: Sequence[Row], interval: Interval) -> Figures:
    """Citation rate and strict CCS of a condition, with intervals and bounds; no more than the bounds where nobody
    looked.
    """
    unknown = nobody_looked(scores)
    metrics: Mapping[str, Metric] = {"strict_ccs": strict_ccs, "citation_rate": "present"}
    none = Estimate(None, note="whether what is cited is in the image was not checked")
    figures = figures_of(
        {name: none if unknown else estimate(values(scores, metric), interval) for name, metric in metrics.items()}
    )
    figures.pop("ci")
    # A CCS of 0 is 0, whatever is in the image.
    at_most = bounds("strict_ccs", scores, lambda row: 0.0 if row.told.present == 0 else row.told.ccs)
    figures |= bounds("citation_rate", scores, "present") | at_most
    return figures | ({"strict_ccs_min": rounded(extremes(scores, strict_ccs)[0])} if scores else {})


def _reader(metric: Metric) -> Callable[[Row], float | None]:
    return attrgetter(f"told.{metric}") if isinstance(metric, str) else metric
