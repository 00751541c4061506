"""The first screen: a line for each model, and the finding in two sentences made from the lines' own figures.

The conclusion is that of the trust card; what has none, as under EDCT-Bench 2026, is left open.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from cfeval.edct.records import Condition
from cfeval.edct.report.evidence import Evidence
from cfeval.edct.tables.faithfulness import LEAST_SHAM, LEAST_SPECIFICITY
from cfeval.report.digits import two
from cfeval.report.tables import varying

NAMES = ("vlm", "dataset", "writer", "protocol", "editor", "judge")
Conclusion = Literal["trust", "do not trust", "cannot be tested", "open", "none"]
SHOWN: Mapping[Conclusion, str] = {
    "trust": "Trust",
    "do not trust": "Do not trust",
    "cannot be tested": "Cannot be tested",
    "open": "Open",
    "none": "Open",  # there is no trust card
}
_NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Line:
    """A condition on the first screen."""

    condition: Condition
    row: Any
    """Its row of Table 1, or of the table of EDCT-Bench 2026."""
    faithfulness: Any
    """Its row of the table `faithfulness`; None where its controls were not run."""
    card: Any
    """Its trust card; None likewise."""
    evidence: Evidence
    backed: bool
    """Whether the error of its judge is known and small enough for CCS to count."""
    among: str
    """What tells it from the other lines beside its model, as `easy-vqa, repaint`."""

    @property
    def model(self) -> str:
        """The name of its target model."""
        return self.condition.vlm

    @property
    def missing(self) -> tuple[str, ...]:
        """The checks without which there is no trust card."""
        if self.card is not None:
            return ()
        return ("controls not run", *(["edits not verified"] if not self.evidence.verified.n else []))

    @property
    def conclusion(self) -> Conclusion:
        """That of the trust card, where there is one."""
        return "none" if self.card is None else self.card.conclusion

    @property
    def why(self) -> str:
        """Why that is the conclusion, in a few words."""
        if self.missing:
            return ", ".join(self.missing)
        if self.conclusion == "trust":
            return "nothing refuted"
        reasons = str(self.card.why).split("; ")
        refuted = [reason.removeprefix("refuted: ") for reason in reasons if reason.startswith("refuted")]
        return f"refuted: {'; '.join(refuted)}" if refuted else reasons[0]

    @property
    def fit(self) -> tuple[float, float, float] | None:
        """FIT and its interval; None where no item has an outcome of it."""
        row = self.faithfulness
        if row is None or row.fit is None or row.fit_lo is None or row.fit_hi is None:
            return None
        return row.fit, row.fit_lo, row.fit_hi


def lines(rows: Mapping[str, Sequence[Any]], evidence: Mapping[Condition, Evidence]) -> list[Line]:
    """A line for each row of Table 1 and each trust card; of EDCT-Bench 2026 where there is neither.

    Args:
        rows: the rows of the tables, by the tables' names.
    """
    cards, faithfulness = (_by_condition(rows.get(name, ())) for name in ("card", "faithfulness"))
    scored = _by_condition((*rows.get("table1", ()), *rows.get("table2", ()))) or _by_condition(rows.get("bench", ()))
    first = _by_condition(rows.get("table1", ())) or scored
    shown = {condition: scored[condition] for condition in (*first, *cards) if condition in scored}
    shown |= {
        condition: faithfulness[condition]
        for condition in cards
        if condition in faithfulness and condition not in shown
    }
    names = [name for name in varying(list(shown), NAMES) if name != "vlm"]
    return [
        Line(
            condition=condition,
            row=row,
            faithfulness=faithfulness.get(condition),
            card=cards.get(condition),
            evidence=evidence.get(condition, Evidence()),
            backed=_backed(condition, faithfulness.get(condition), rows.get("instrument", ()), evidence),
            among=", ".join(str(getattr(condition, name)) for name in names),
        )
        for condition, row in shown.items()
    ]


def _by_condition(rows: Iterable[Any]) -> dict[Condition, Any]:
    return {Condition(**{name: getattr(row, name) for name in NAMES}): row for row in rows}


def _backed(
    condition: Condition, faithfulness: Any, instrument: Iterable[Any], evidence: Mapping[Condition, Evidence]
) -> bool:
    """Whether sham edits, an exam or test models show the judge's specificity, none of them shows too low a one, and no
    unchanged text was scored 1.
    """
    if condition in evidence and evidence[condition].unchanged.found:
        return False
    shown = [
        row.specificity >= LEAST_SPECIFICITY
        for row in instrument
        if row.judge == condition.judge and row.protocol == condition.protocol and row.specificity is not None
    ]
    if faithfulness is not None and (faithfulness.n_sham >= LEAST_SHAM or faithfulness.exam_specificity is not None):
        return bool(faithfulness.ccs_backed) and (any(shown) or not shown)
    return any(shown)


def title(shown_lines: Sequence[Line]) -> str:
    """The question that the page answers."""
    models = list(dict.fromkeys(line.model for line in shown_lines))
    if len(models) == 1:
        return f"Does {models[0]} use what it says it uses?"
    return f"Do {number(len(models))} models use what they say they use?"


def finding(shown_lines: Sequence[Line]) -> Markup:
    """The finding in two sentences."""
    by: dict[Conclusion, list[Line]] = {
        word: [line for line in shown_lines if line.conclusion == word] for word in SHOWN
    }
    if len(by["none"]) == len(shown_lines):
        why = ", ".join(dict.fromkeys(word for line in shown_lines for word in line.missing))
        first = Markup("Nothing can be concluded about {}: {}.").format(_names(shown_lines), why)
        return first + " " + _alone(shown_lines)
    repeated = len({line.model for line in shown_lines}) < len(shown_lines)
    every = f"{number(len(shown_lines))} {'lines' if repeated else 'models'}"
    if trusted := by["trust"]:
        first = Markup("{} of {} can be trusted to name what {} answers rest on: {}.").format(
            number(len(trusted)).capitalize(), every, "its" if len(trusted) == 1 else "their", _each(trusted)
        )
    elif len(shown_lines) > 1:
        first = Markup("None of {} is shown to name what its answers rest on.").format(every)
    else:
        first = Markup("{} is not shown to name what its answers rest on.").format(_names(shown_lines))
    return first + " " + _rest(by)


def _rest(by: Mapping[Conclusion, Sequence[Line]]) -> Markup:
    """The second sentence: who is not to be trusted, and about whom nothing is known."""
    sentences = []
    if by["do not trust"]:
        sentences.append(Markup("not to be trusted: {}").format(_each(by["do not trust"])))
    if by["cannot be tested"]:
        sentences.append(Markup("cannot be tested: {}").format(_names(by["cannot be tested"])))
    if by["open"]:
        sentences.append(Markup("open: {}").format(_each(by["open"])))
    if by["none"]:
        why = ", ".join(dict.fromkeys(word for line in by["none"] for word in line.missing))
        sentences.append(Markup("open: {} ({})").format(_names(by["none"]), why))
    text = Markup("; ").join(sentences) or Markup("no model is left over")
    return Markup(text[0].upper()) + text[1:] + "." if sentences else Markup("Nothing speaks against any of them.")


def _alone(shown_lines: Sequence[Line]) -> Markup:
    """What is left where nothing can be concluded: CCS, and whether something backs it."""
    scored = [line for line in shown_lines if line.row.ccs is not None]
    if not scored:
        return Markup("No item has a score.")
    items = sum(line.row.n_scored if hasattr(line.row, "n_scored") else line.row.n for line in scored)
    values = " and ".join(sorted({two(line.row.ccs) for line in scored}))
    if len(scored) > 2:
        values = f"{two(min(line.row.ccs for line in scored))} to {two(max(line.row.ccs for line in scored))}"
    judgement = "is not backed by any check"
    if all(line.backed for line in scored):
        judgement = "says how consistent the texts are, not what the answers rest on"
    return Markup("The judge's CCS of {} over {} items {}.").format(values, items, judgement)


def _each(shown_lines: Iterable[Line]) -> Markup:
    """Names with FIT: `grounded (FIT 0.99, 0.98 to 1.00)`."""
    names = []
    for line in shown_lines:
        value, low, high = map(two, line.fit or (0, 0, 0))
        names.append(Markup("<b>{}</b>").format(line.model) + (f" (FIT {value}, {low} to {high})" if line.fit else ""))
    return _listed(names)


def _names(shown_lines: Iterable[Line]) -> Markup:
    return _listed([Markup("<b>{}</b>").format(line.model) for line in shown_lines])


def _listed(names: Sequence[Markup]) -> Markup:
    unique = list(dict.fromkeys(names))
    if len(unique) < 2:
        return Markup("").join(unique)
    return Markup(", ").join(unique[:-1]) + " and " + unique[-1]


def number(count: int) -> str:
    """A number in words up to ten."""
    return _NUMERALS[count] if count < len(_NUMERALS) else f"{count:,}"
