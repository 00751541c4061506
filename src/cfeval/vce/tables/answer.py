"""The answer of a study: how many counterfactuals are valid, adversarial, or neither, by classifier and method; and
which concepts a classifier follows, by edits of each.

The page and the command line open with sentences that are made of the rows, so that both say the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from cfeval.core.records import Binary
from cfeval.report.tables import Estimated, Figure, Figures, Heading, Methods, estimate_fields, figures_of, table
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import share, wilson
from cfeval.vce.endings import FLIPPED
from cfeval.vce.records import VceCondition
from cfeval.vce.tables.group_scores import (
    Defect,
    Explained,
    GroupMaterial,
    Kind,
    Method,
    Row,
    Setting,
    hidden,
    mean,
    number,
    number_with_limits,
    setting_of,
)


def _ideal(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.seen.pair == "ideal"]


class AnswerRow(Setting):
    """How the counterfactuals of one condition end."""

    method: Method
    role: str = ""
    """What the method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`, `null edits`."""
    classifier: Explained
    kind: Kind = ""
    defect: Defect = ""
    test_world: Binary = 0
    """1 where the classifier is the test bed's and stands for no real model."""
    n: Annotated[int, Heading("Asked")] = 0
    """Counterfactuals that were asked for, towards ideal targets."""
    valid: Annotated[int, Heading("Valid")] = 0
    """The classifier sees the target class, and so do most oracles."""
    alone: Annotated[int, Heading("Classifier alone")] = 0
    """The classifier sees it, and most oracles do not: perhaps adversarial examples."""
    taken: Annotated[int, Heading("No oracle asked")] = 0
    """The classifier sees it, and no oracle was asked."""
    not_valid: Annotated[int, Heading("Not valid")] = 0
    """The classifier does not see it."""
    misread: Annotated[int, Heading("Misread")] = 0
    """The classifier puts the original into another class than its own, before any change."""
    no_result: Annotated[int, Heading("No result")] = 0
    """There is no image, or no score."""
    share: Annotated[Estimated, Heading("Share valid", number_with_limits("share"))] = None
    """Valid ones among those with a result; none where no oracle was asked of any."""
    ci: Methods = ""

    @property
    def flipped(self) -> int:
        """Those in which the classifier sees the target class."""
        return self.valid + self.alone + self.taken


# How to read each column that needs it.
_READING = {
    "valid": "Valid: the classifier sees the target class, and so do more than half of the oracles that had no part in "
    "making the image.",
    "alone": "Classifier alone: most oracles do not, so it is perhaps an adversarial example.",
    "taken": "No oracle asked: the classifier sees the target class.",
    "misread": "Misread: the classifier puts the original itself into another class, so the change explains nothing.",
    "share": "Share valid: of those with a result; source images are clusters.",
}


def answer_rows(material: GroupMaterial) -> list[AnswerRow]:
    """A row for each condition with scores of counterfactuals with ideal targets; the user's own classifiers first."""
    rows = [
        _answer_row(material, condition, ideal)
        for condition, scores in material.scores.items()
        if (ideal := _ideal(scores))
    ]
    return sorted(rows, key=lambda row: row.test_world)


def _answer_row(material: GroupMaterial, condition: VceCondition, ideal: Sequence[Row]) -> AnswerRow:
    roles, name = material.roles, condition.classifier
    ends = [material.ending(condition, row) for row in ideal]
    counts = Counter(ends)
    judged = [(row, end) for row, end in zip(ideal, ends, strict=True) if end != "missing"]
    figures: Figures = {}
    if judged and not counts["taken"] and any(row.seen.oracles for row, _ in judged):
        values, groups = [float(end == "valid") for _, end in judged], [row.cell.unit for row, _ in judged]
        figures = figures_of({"share": wilson(share(values, groups), roles.tests.level)})
    figures |= {end: counts[end] for end in ("valid", "alone", "taken", "misread")}
    figures |= {"not_valid": counts["not"], "no_result": counts["missing"], "n": len(ideal)}
    figures |= {"role": roles.of_method(condition.method), "kind": roles.of_classifier(name)}
    figures |= {"defect": roles.defects.get(name, ""), "test_world": int(name in material.built_in)}
    return AnswerRow.model_validate({**condition.model_dump(), **figures})


def headline(rows: Sequence[AnswerRow]) -> list[AnswerRow]:
    """The rows that the answer sums up: of the base method, or where a setting has none of its first method.

    The user's own classifiers where there are any, else those of the test bed; random ones only where there are no
    others.
    """
    own = [row for row in rows if not row.test_world] or list(rows)
    trained = [row for row in own if row.kind != "random"] or own
    ordered: list[AnswerRow] = []
    for setting in dict.fromkeys(map(setting_of, trained)):
        here = [row for row in trained if setting_of(row) == setting]
        methods = [row.method for row in here if row.role == "base"]
        methods += [row.method for row in here if row.role not in ("unguided", "null edits")]
        method = (methods or [row.method for row in here])[0]
        ordered += [row for row in here if row.method == method]
    return ordered


def sentences(rows: Sequence[AnswerRow]) -> list[str]:
    """The answer in one sentence, then what an oracle would add, and what noise alone does; of no rows nothing."""
    chosen = headline(rows)
    return [*_answer(chosen, len({row.method for row in rows}) > 1), *_noise(rows, chosen)] if chosen else []


def _answer(chosen: Sequence[AnswerRow], several_methods: bool) -> Iterator[str]:
    fields = ("n", "valid", "alone", "taken", "not_valid", "misread", "no_result")
    total = {name: sum(getattr(row, name) for row in chosen) for name in fields}

    def counted(name: str, singular: str, plural: str, rest: str) -> str:
        return f"{total[name]:,} {singular if total[name] == 1 else plural} {rest}"

    names = list(dict.fromkeys(row.classifier for row in chosen))
    methods = " and ".join(dict.fromkeys(row.method for row in chosen))
    opening = f"Of {total['n']:,} counterfactuals for {names[0] if len(names) == 1 else f'{len(names)} classifiers'}"
    opening += f" by {methods}" if several_methods else ""
    parts = []
    if total["valid"] or total["alone"] or not total["taken"]:
        parts.append(counted("valid", "is", "are", "valid (the classifier and most oracles see the target class)"))
        parts.append(counted("alone", "is", "are", "seen by the classifier alone (adversarial)"))
    if total["taken"]:
        parts.append(counted("taken", "shows", "show", "the target class to the classifier"))
    parts.append(counted("not_valid", "is", "are", "not valid"))
    if total["misread"]:
        parts.append(counted("misread", "explains", "explain", "nothing, as the original is misread"))
    if total["no_result"]:
        parts.append(counted("no_result", "has", "have", "no result"))
    yield f"{opening}, {', '.join(parts[:-1])} and {parts[-1]}."
    if total["taken"]:
        which = f"{total['taken']:,} of them" if total["valid"] + total["alone"] else "them"
        yield (
            f"No oracle was asked about {which}, so any may be adversarial: name a classifier of another family that "
            "knows the same classes in vce.oracles, and the study tells which."
        )


def _noise(rows: Sequence[AnswerRow], chosen: Sequence[AnswerRow]) -> Iterator[str]:
    settings, names = set(map(setting_of, chosen)), {row.classifier for row in chosen}
    noise = [r for r in rows if r.role == "unguided" and r.classifier in names and setting_of(r) in settings]
    n = sum(row.n for row in noise)
    if n and not any(row.role == "unguided" for row in chosen):
        classifiers = ", ".join(dict.fromkeys(row.classifier for row in noise))
        flipped = sum(row.flipped for row in noise)
        yield f"Noise alone, without guidance, already shows the target class to {classifiers} in {flipped:,} of {n:,}."


def _unseen(rows: Sequence[AnswerRow]) -> list[str]:
    """The columns in which nothing was counted, or no share is known."""
    share = [] if any(row.share is not None for row in rows) else ["share"]
    return [*hidden("valid", "alone", "taken", "misread", "no_result")(rows), *share]


ANSWER = table(
    "vce_answer",
    "How counterfactuals end",
    AnswerRow,
    answer_rows,
    lambda rows: (" ".join(text for name, text in _READING.items() if name not in _unseen(rows)),),
    "Empty: no scores of counterfactuals with ideal targets.",
    without=_unseen,
)
Verdict = Literal["own cause", "shared cause", "not followed", "undecided"]


class ConceptRow(Setting):
    """The edits of one concept for one classifier, towards ideal targets.

    A concept that the classifier follows and the oracles do not is a cause of its own: a shortcut.
    """

    method: Annotated[str, Heading("Method")]
    """The concept editor."""
    classifier: Explained
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
    unchanged: Annotated[Figure, Heading("Nothing changed", number("unchanged"))] = None
    """The share in which the classifier sees the target where nothing was to be changed; none without null edits."""
    distance: Annotated[Figure, Heading("Distance ↓", number("distance"))] = None
    """Mean perceptual distance to the original, the first of roles.closeness that was measured."""
    unchanged_distance: Annotated[Figure, Heading("of null edits", number("unchanged_distance"))] = None
    """The same where nothing was to be changed."""
    verdict: Annotated[Verdict, Heading("Verdict")] = "undecided"
    """`own cause`: followed, and less by the oracles. `shared cause`: followed by both. `not followed`: no more often
    than where nothing was changed, within the margin."""
    n_scored: int = 0
    """Those that the share rests on."""
    ci: Methods = ""


def _counted(count: int, total: int) -> str:
    return f"{count} of {total}" if total else ""


def concept_rows(material: GroupMaterial) -> list[ConceptRow]:
    """A row a classifier, concept editor and concept, in the order in which they come."""
    rows: list[ConceptRow] = []
    for condition, scores in material.scores.items():
        if any(row.concept for row in scores):
            by_concept: dict[str, list[Row]] = {}
            for row in _ideal(scores):
                by_concept.setdefault(row.concept, []).append(row)
            rows += [_concept_row(material, condition, name, some) for name, some in by_concept.items()]
    return rows


def _concept_row(material: GroupMaterial, condition: VceCondition, concept: str, scores: Sequence[Row]) -> ConceptRow:
    roles, level = material.roles, material.roles.tests.level
    unchanged_condition = condition.model_copy(update={"method": roles.null_edits})
    null = _ideal(material.scores.get(unchanged_condition, ())) if roles.null_edits is not None else []
    ends = [material.ending(condition, row) for row in scores]
    sound = [(row, end) for row, end in zip(scores, ends, strict=True) if end not in ("missing", "misread")]
    units = [row.cell.unit for row, _ in sound]
    followed = wilson(share([float(end in FLIPPED) for _, end in sound], units), level) if sound else None
    judged = [(row.cell.unit, seen) for row, _ in sound if (seen := _oracles(material, condition, row)) is not None]
    oracles = wilson(share([seen for _, seen in judged], [unit for unit, _ in judged]), level) if judged else None
    floor = mean([float(material.ending(condition, row) in FLIPPED) for row in null if row.seen.status == "ok"])
    estimates = {"followed": followed, "oracles": oracles}
    return ConceptRow.model_validate(
        {
            **condition.model_dump(),
            "defect": roles.defects.get(condition.classifier, ""),
            "concept": concept,
            "n": len(scores),
            "misread": ends.count("misread"),
            "no_result": ends.count("missing"),
            "n_followed": sum(end in FLIPPED for _, end in sound),
            "n_scored": len(sound),
            "n_oracles": round(sum(seen for _, seen in judged)),
            "n_judged": len(judged),
            "unchanged": rounded(floor),
            "distance": rounded(_distance([row for row, _ in sound])),
            "unchanged_distance": rounded(_distance(null)),
            "verdict": _verdict(followed, oracles, floor or 0.0, roles.tests.margin),
            **{key: v for name, of in estimates.items() if of for key, v in estimate_fields(name, of).items()},
            "ci": followed.method if followed else "",
        }
    )


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


def concept_sentences(rows: Sequence[ConceptRow], image_set: str, denoiser: str, classifier: str) -> Iterator[str]:
    """What a classifier goes by, as concept edits show it: its own causes first."""
    mine = [row for row in rows if (*setting_of(row), row.classifier) == (image_set, denoiser, classifier)]
    for row in mine:
        if row.verdict == "own cause":
            yield (
                f"Concept edits: it follows the {row.concept} in {_counted(row.n_followed, row.n_scored)}, the oracles "
                f"in {_counted(row.n_oracles, row.n_judged)}: a cause of its own."
            )
    shared = [row.concept for row in mine if row.verdict == "shared cause"]
    if shared:
        yield f"Concept edits: like the oracles it follows the {' and the '.join(dict.fromkeys(shared))}."


CONCEPTS = table(
    "vce_concepts",
    "Concept edits: what the classifier follows",
    ConceptRow,
    concept_rows,
    lambda _: (
        "Followed: the classifier sees the target class after the edit of this concept alone. Oracles: so do most of "
        "those asked. Nothing changed: it sees the target though the editor was told to change nothing. A cause is "
        "followed more often than that, by the whole interval and by more than the margin of the tests. Own: the "
        "oracles follow it less, by the same rule. Shared: they do not. Intervals: source images are clusters.",
    ),
    "Empty: the study has no concept editor (vce.concept_editors).",
    without=lambda rows: [
        *hidden("misread", "no_result")(rows),
        *([] if len({row.method for row in rows}) > 1 else ["method"]),
    ],
)
