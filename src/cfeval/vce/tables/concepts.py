"""Which concepts a classifier follows: edits of each, its oracles' word, and what moves when nothing is changed.

A concept that the classifier follows and the oracles do not is a cause of its own: a shortcut. `sentences` say it in
words on the page.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from cfeval.report.columns import Estimated, Heading, laid_out
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import share, wilson
from cfeval.vce.endings import FLIPPED, Ending, ending
from cfeval.vce.records import VceCondition
from cfeval.vce.tables.group_scores import GroupMaterial, Row, Setting
from cfeval.vce.tables.summary import mean, shown

Verdict = Literal["own cause", "shared cause", "not followed", "undecided"]
EMPTY = "Empty: the study has no concept editor (vce.concept_editors)."
_TITLE = "Concept edits: what the classifier follows"
_READING = (
    "Followed: the classifier sees the target class after the edit of this concept alone. Oracles: so do most of those "
    "asked. Nothing changed: it sees the target though the editor was told to change nothing. A cause is followed more "
    "often than that, by the whole interval and by more than the margin of the tests. Own: the oracles follow it less, "
    "by the same rule. Shared: they do not. Intervals: source images are clusters."
)


class ConceptRow(Setting):
    """The edits of one concept for one classifier, towards ideal targets."""

    method: Annotated[str, Heading("Method")]
    """The concept editor."""
    classifier: Annotated[str, Heading("Classifier")]
    """The classifier that is explained."""
    defect: str = ""
    """The known defect of a flawed classifier."""
    concept: Annotated[str, Heading("Concept")]
    """What the writer named; empty where it named nothing."""
    n: Annotated[int, Heading("Asked")] = 0
    """Edits that were asked for."""
    misread: Annotated[int, Heading("Misread")] = 0
    """Those of originals that the classifier puts into another class than their own."""
    no_result: Annotated[int, Heading("No result")] = 0
    """Those without an image, or without a score."""
    n_followed: int = 0
    """Those after which the classifier sees the target class."""
    followed: Annotated[Estimated, Heading("Followed", lambda row: _counted(row.n_followed, row.n_scored))] = None
    """Their share of those with a result that were not misread."""
    n_oracles: int = 0
    """Those after which most oracles see the target class, whatever the classifier sees."""
    oracles: Annotated[Estimated, Heading("Oracles", lambda row: _counted(row.n_oracles, row.n_judged))] = None
    """Their share; none where no oracle was asked of any."""
    n_judged: int = 0
    """Those that an oracle was asked about."""
    unchanged: Annotated[Figure, Heading("Nothing changed", lambda row: shown(row.unchanged))] = None
    """The share in which the classifier sees the target where nothing was to be changed; none without null edits."""
    distance: Annotated[Figure, Heading("Distance ↓", lambda row: shown(row.distance))] = None
    """Mean perceptual distance to the original, the first of roles.closeness that was measured."""
    unchanged_distance: Annotated[Figure, Heading("of null edits", lambda row: shown(row.unchanged_distance))] = None
    """The same where nothing was to be changed."""
    verdict: Annotated[Verdict, Heading("Verdict")] = "undecided"
    """`own cause`: followed, and less by the oracles. `shared cause`: followed by both. `not followed`: no more often
    than where nothing was changed, within the margin."""
    n_scored: int = 0
    """Those that the share rests on."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""


def _counted(count: int, of: int) -> str:
    return f"{count} of {of}" if of else ""


def rows(material: GroupMaterial) -> list[ConceptRow]:
    """A row a classifier, concept editor and concept, in the order in which they come."""
    found: list[ConceptRow] = []
    for condition, scores in material.scores.items():
        if any(row.concept for row in scores):
            ideal = [row for row in scores if row.seen.pair == "ideal"]
            concepts = dict.fromkeys(row.concept for row in ideal)
            found += [
                _row(material, condition, name, [row for row in ideal if row.concept == name]) for name in concepts
            ]
    return found


def _row(material: GroupMaterial, condition: VceCondition, concept: str, scores: Sequence[Row]) -> ConceptRow:
    tests, null = material.roles.tests, _null(material, condition)
    ends = [_ending(material, condition, row) for row in scores]
    sound = [(row, end) for row, end in zip(scores, ends, strict=True) if end not in ("missing", "misread")]
    units = [row.cell.unit for row, _ in sound]
    followed = wilson(share([float(end in FLIPPED) for _, end in sound], units), tests.level) if sound else None
    judged = [(row.cell.unit, seen) for row, _ in sound if (seen := _oracles(material, condition, row)) is not None]
    oracles = wilson(share([seen for _, seen in judged], [unit for unit, _ in judged]), tests.level) if judged else None
    unchanged = [float(_ending(material, condition, row) in FLIPPED) for row in null if row.seen.status == "ok"]
    floor = mean(unchanged)
    return ConceptRow(
        image_set=condition.image_set,
        denoiser=condition.denoiser,
        method=condition.method,
        classifier=condition.classifier,
        defect=material.roles.defects.get(condition.classifier, ""),
        concept=concept,
        n=len(scores),
        misread=ends.count("misread"),
        no_result=ends.count("missing"),
        n_followed=sum(end in FLIPPED for _, end in sound),
        n_scored=len(sound),
        n_oracles=round(sum(seen for _, seen in judged)),
        n_judged=len(judged),
        unchanged=rounded(floor),
        distance=rounded(_distance([row for row, _ in sound])),
        unchanged_distance=rounded(_distance(null)),
        verdict=_verdict(followed, oracles, floor or 0.0, tests.margin),
        **_limits("followed", followed),
        **_limits("oracles", oracles),
        ci=followed.method if followed else "",
    )


def _limits(name: str, interval: Estimate | None) -> dict[str, float | None]:
    if interval is None:
        return {}
    values = {name: interval.value, f"{name}_lo": interval.low, f"{name}_hi": interval.high}
    return {key: rounded(value) for key, value in values.items()}


def _verdict(followed: Estimate | None, oracles: Estimate | None, floor: float, margin: float) -> Verdict:
    if followed is None or followed.low is None or followed.high is None or followed.value is None:
        return "undecided"
    if followed.low > floor + margin:
        if oracles is None or oracles.high is None or oracles.value is None:
            return "undecided"
        if followed.low > oracles.high + margin:
            return "own cause"
        return "shared cause" if oracles.value + margin >= followed.value else "undecided"
    return "not followed" if followed.value <= floor + margin else "undecided"


def _null(material: GroupMaterial, condition: VceCondition) -> list[Row]:
    """The rows of the same classifier where nothing was to be changed."""
    name = material.roles.null_edits
    if name is None:
        return []
    scores = material.scores.get(condition.model_copy(update={"method": name}), ())
    return [row for row in scores if row.seen.pair == "ideal"]


def _ending(material: GroupMaterial, condition: VceCondition, row: Row) -> Ending:
    roles, name, replies = material.roles, condition.classifier, dict(row.seen.oracles)
    misread = row.seen.misread and roles.of_classifier(name) != "random"
    return ending(
        row.seen.status, row.seen.predicted, row.cell.target, replies, roles.witnesses(name, replies), misread
    )


def _oracles(material: GroupMaterial, condition: VceCondition, row: Row) -> float | None:
    """1 where most oracles see the target class, whatever the classifier sees; None where none was asked."""
    replies = dict(row.seen.oracles)
    seen = [replies[name] == row.cell.target for name in material.roles.witnesses(condition.classifier, replies)]
    return float(2 * sum(seen) > len(seen)) if seen else None


def _distance(scores: Sequence[Row]) -> float | None:
    """The mean of the first distance that was measured."""
    columns = zip(*(row.distances for row in scores), strict=True) if scores else ()
    measured = ([value for value in column if value is not None] for column in columns)
    return next((mean(values) for values in measured if values), None)


def render(of: Sequence[ConceptRow]) -> RenderedTable:
    """The table for readers: without the columns in which nothing was counted."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    empty = [name for name in ("misread", "no_result") if not any(getattr(row, name) for row in of)]
    empty += [] if len({row.method for row in of}) > 1 else ["method"]
    columns = laid_out(ConceptRow, of, without=[*empty, *(() if several else ("image_set", "denoiser"))])
    return RenderedTable("vce_concepts", _TITLE, *columns, (_READING,) if of else (EMPTY,))


def sentences(of: Sequence[ConceptRow], image_set: str, denoiser: str, classifier: str) -> Iterator[str]:
    """What a classifier goes by, as concept edits show it: its own causes first."""
    mine = [row for row in of if (row.image_set, row.denoiser, row.classifier) == (image_set, denoiser, classifier)]
    for row in mine:
        if row.verdict == "own cause":
            yield (
                f"Concept edits: it follows the {row.concept} in {_counted(row.n_followed, row.n_scored)}, the oracles "
                f"in {_counted(row.n_oracles, row.n_judged)}: a cause of its own."
            )
    shared = [row.concept for row in mine if row.verdict == "shared cause"]
    if shared:
        yield f"Concept edits: like the oracles it follows the {' and the '.join(dict.fromkeys(shared))}."


TABLE = Table(row=ConceptRow, rows=rows, render=render)
