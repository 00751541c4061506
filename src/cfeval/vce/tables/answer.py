"""The answer of a study: how many counterfactuals are valid, adversarial, or neither, by classifier and method.

The page and the command line open with `sentences`, which are made of the rows, so that both say the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.report.columns import Estimated, Heading, laid_out, limits
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import share, wilson
from cfeval.vce.endings import Ending, ending
from cfeval.vce.records import VceCondition
from cfeval.vce.tables.group_scores import GroupMaterial, Row, Setting
from cfeval.vce.tables.summary import shown

EMPTY = "Empty: no scores of counterfactuals with ideal targets."
_TITLE = "How counterfactuals end"
_READING = {
    "valid": "Valid: the classifier sees the target class, and so do more than half of the oracles that had no part in "
    "making the image.",
    "alone": "Classifier alone: most oracles do not, so it is perhaps an adversarial example.",
    "taken": "No oracle asked: the classifier sees the target class.",
    "misread": "Misread: the classifier puts the original itself into another class, so the change explains nothing.",
    "share": "Share valid: of those with a result; source images are clusters.",
}
"""How to read each column that needs it."""


def share_cell(row: "AnswerRow") -> str:
    """The share with its interval."""
    low, high = limits(row, "share")
    return shown(row.share) + (f" [{shown(low)}, {shown(high)}]" if low is not None else "")


class AnswerRow(Setting):
    """How the counterfactuals of one condition end."""

    method: Annotated[str, Heading("Method")]
    """Whose counterfactuals."""
    role: str = ""
    """What the method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`, `null edits`."""
    classifier: Annotated[str, Heading("Classifier")]
    """The classifier that is explained."""
    kind: str = ""
    """What the classifier is: `robust`, `noise-trained`, `random`, `flawed`, or nothing of these."""
    defect: str = ""
    """The known defect of a flawed classifier, as `roles.defects` has it."""
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
    share: Annotated[Estimated, Heading("Share valid", share_cell)] = None
    """Valid ones among those with a result; none where no oracle was asked of any."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""

    @property
    def flipped(self) -> int:
        """Those in which the classifier sees the target class."""
        return self.valid + self.alone + self.taken


def rows(material: GroupMaterial) -> list[AnswerRow]:
    """A row for each condition with scores of counterfactuals with ideal targets; the user's own classifiers first."""
    rows = [row for condition, scores in material.scores.items() if (row := _row(material, condition, scores))]
    return sorted(rows, key=lambda row: row.test_world)


def render(of: Sequence[AnswerRow]) -> RenderedTable:
    """The table for readers: without the columns in which nothing was counted."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    counts = ("valid", "alone", "taken", "misread", "no_result")
    empty = [name for name in counts if not any(getattr(row, name) for row in of)]
    empty += [] if any(row.share is not None for row in of) else ["share"]
    columns = laid_out(AnswerRow, of, without=[*empty, *(() if several else ("image_set", "denoiser"))])
    notes = " ".join(text for name, text in _READING.items() if name not in empty)
    return RenderedTable("vce_answer", _TITLE, *columns, (notes,) if of else (EMPTY,))


def headline(of: Sequence[AnswerRow]) -> list[AnswerRow]:
    """The rows that the answer sums up: of the base method, or where a setting has none of its first method.

    The user's own classifiers where there are any, else those of the test bed; random ones only where there are no
    others.
    """
    own = [row for row in of if not row.test_world] or list(of)
    trained = [row for row in own if row.kind != "random"] or own
    ordered: list[AnswerRow] = []
    for setting in dict.fromkeys((row.image_set, row.denoiser) for row in trained):
        setting_rows = [row for row in trained if (row.image_set, row.denoiser) == setting]
        methods = [row.method for row in setting_rows if row.role == "base"]
        methods += [row.method for row in setting_rows if row.role not in ("unguided", "null edits")] or [
            row.method for row in setting_rows
        ]
        ordered += [row for row in setting_rows if row.method == methods[0]]
    return ordered


def sentences(of: Sequence[AnswerRow]) -> list[str]:
    """The answer in one sentence, then what an oracle would add, and what noise alone does; of no rows nothing."""
    chosen = headline(of)
    return [*_answer(chosen, len({row.method for row in of}) > 1), *_noise(of, chosen)] if chosen else []


def _answer(chosen: Sequence[AnswerRow], several_methods: bool) -> Iterator[str]:
    names = list(dict.fromkeys(row.classifier for row in chosen))
    methods = " and ".join(dict.fromkeys(row.method for row in chosen))
    total = {name: sum(getattr(row, name) for row in chosen) for name in ("n", "valid", "alone", "taken")}
    rest = {name: sum(getattr(row, name) for row in chosen) for name in ("not_valid", "misread", "no_result")}
    opening = f"Of {total['n']:,} counterfactuals for {names[0] if len(names) == 1 else f'{len(names)} classifiers'}"
    opening += f" by {methods}" if several_methods else ""
    parts = []
    if total["valid"] or total["alone"] or not total["taken"]:
        parts.append(
            f"{_verb(total['valid'], 'is', 'are')} valid (the classifier and most oracles see the target class)"
        )
        parts.append(f"{_verb(total['alone'], 'is', 'are')} seen by the classifier alone (adversarial)")
    if total["taken"]:
        parts.append(f"{_verb(total['taken'], 'shows', 'show')} the target class to the classifier")
    parts.append(f"{_verb(rest['not_valid'], 'is', 'are')} not valid")
    if rest["misread"]:
        parts.append(f"{_verb(rest['misread'], 'explains', 'explain')} nothing, as the original is misread")
    if rest["no_result"]:
        parts.append(f"{_verb(rest['no_result'], 'has', 'have')} no result")
    yield f"{opening}, {_listed(parts)}."
    if total["taken"]:
        judged = total["valid"] + total["alone"]
        them = f"{total['taken']:,} of them" if judged else "them"
        yield (
            f"No oracle was asked about {them}, so any may be adversarial: name a classifier of another family that "
            "knows the same classes in vce.oracles, and the study tells which."
        )


def _noise(of: Sequence[AnswerRow], chosen: Sequence[AnswerRow]) -> Iterator[str]:
    """What the same noise does without guidance."""
    settings = {(row.image_set, row.denoiser) for row in chosen}
    names = {row.classifier for row in chosen}
    noise = [
        row
        for row in of
        if row.role == "unguided" and row.classifier in names and (row.image_set, row.denoiser) in settings
    ]
    n = sum(row.n for row in noise)
    if n and not any(row.role == "unguided" for row in chosen):
        classifiers = ", ".join(dict.fromkeys(row.classifier for row in noise))
        flipped = sum(row.flipped for row in noise)
        yield f"Noise alone, without guidance, already shows the target class to {classifiers} in {flipped:,} of {n:,}."


def _verb(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _listed(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _row(material: GroupMaterial, condition: VceCondition, scores: Sequence[Row]) -> AnswerRow | None:
    ideal = [row for row in scores if row.seen.pair == "ideal"]
    if not ideal:
        return None
    roles, name = material.roles, condition.classifier
    ends = [_ending(row, material, condition) for row in ideal]
    counts = Counter(ends)
    judged = [(row, end) for row, end in zip(ideal, ends, strict=True) if end != "missing"]
    limits_: dict[str, Figure | str] = {}
    if judged and not counts["taken"] and any(row.seen.oracles for row, _ in judged):
        values, groups = [float(end == "valid") for _, end in judged], [row.cell.unit for row, _ in judged]
        interval = wilson(share(values, groups), roles.tests.level)
        limits_ = {
            "share": rounded(interval.value),
            "share_lo": rounded(interval.low),
            "share_hi": rounded(interval.high),
        }
        limits_["ci"] = interval.method
    return AnswerRow(
        image_set=condition.image_set,
        denoiser=condition.denoiser,
        method=condition.method,
        role=roles.of_method(condition.method),
        classifier=name,
        kind=roles.of_classifier(name),
        defect=roles.defects.get(name, ""),
        test_world=int(name in material.built_in),
        n=len(ideal),
        **{end: counts[end] for end in ("valid", "alone", "taken", "misread")},
        not_valid=counts["not"],
        no_result=counts["missing"],
        **limits_,
    )


def _ending(row: Row, material: GroupMaterial, condition: VceCondition) -> Ending:
    roles, name = material.roles, condition.classifier
    replies = dict(row.seen.oracles)
    misread = row.seen.misread and roles.of_classifier(name) != "random"
    witnesses = roles.witnesses(name, replies)
    return ending(row.seen.status, row.seen.predicted, row.cell.target, replies, witnesses, misread)


TABLE = Table(row=AnswerRow, rows=rows, render=render)
