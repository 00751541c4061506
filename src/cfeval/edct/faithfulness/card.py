"""The trust card of a model: its six claims (`claims`) and the conclusion.

A refutation never waits for a check that could only strengthen it, and nothing unmeasured supports anything
(docs/concepts/estimand.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, hypot
from typing import Literal

from cfeval.edct.faithfulness.claims import (
    ABOVE,
    BOUNDS,
    CLAIMS,
    NOT_DRAWN,
    ROOM,
    Bound,
    Claim,
    Letter,
    controlled,
    declined,
    make_claims,
    missing_kinds,
    noise_floor,
    repeated_floor,
    too_few,
    upper,
)
from cfeval.edct.faithfulness.instruments import MOST_ABSENT, Instruments
from cfeval.edct.faithfulness.observed import (
    NULLS,
    UNCITED,
    Observed,
    changed,
    fit,
    fit_at_least,
    fit_at_most,
    outcomes,
    rate,
    rate_where_looked,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.proportions import wilson_limits

Conclusion = Literal["trust", "do not trust", "cannot be tested", "open"]
FIT_BOUND = BOUNDS["FIT"]
# Trust needs a cited edit that was made in more than this share of items.
MADE = 0.75
# Where even a perfectly faithful model passes more rarely, a low FIT says nothing of a model.
_LEAST_REACH = 0.25


@dataclass(frozen=True)
class Card:
    """What may be said of a model."""

    n: int
    fit: Estimate
    claims: tuple[Claim, ...]
    conclusion: Conclusion
    reasons: tuple[str, ...]
    """Why that is the conclusion; where it is open, what is missing and what would decide it."""


def trust_card(items: Sequence[Observed], instruments: Instruments, bounds: Mapping[Bound, float] = BOUNDS) -> Card:
    """The card of a model's items."""
    floor = noise_floor(items)
    claims = make_claims(items, instruments, floor, bounds)
    conclusion, reasons = _conclude(items, claims, instruments, floor, bounds["FIT"])
    if instruments.failed_exam and (exam_note := _exam(instruments)) not in reasons:
        reasons.append(exam_note)
    head = rate_where_looked(items, fit) if controlled(items) else Estimate(None, note="the controls were not run")
    return Card(len(items), head, claims, conclusion, tuple(reasons))


def _conclude(
    items: Sequence[Observed], claims: Sequence[Claim], instruments: Instruments, floor: Estimate, bound: float
) -> tuple[Conclusion, list[str]]:
    claim_of = {claim.letter: claim for claim in claims}
    against = []
    for claim in claims:
        if claim.word == "refuted" and claim.letter != "F":  # the limit that refutes, and the bound it should have kept
            limit, side = (claim.rate.high, "above") if claim.letter in ABOVE else (claim.rate.low, "below")
            what = f"{CLAIMS[claim.letter]} ({claim.why})" if claim.why else CLAIMS[claim.letter]
            most = "at most" if claim.letter in ABOVE else "at least"
            against.append(f"refuted: {what}: {most} {limit or 0.0:.0%}, and must be {side} {claim.bound:.0%}")
    fit_high = _fit_at_most(items, instruments, floor)
    if fit_high < bound:
        against.append(f"FIT is at most {fit_high:.0%}, and must lie above {bound:.0%}")
    lacks = list(_lacking(items, claim_of, instruments, floor, bound))
    if against:
        against += _read(items)
        if lacks:
            against.append("the checks that are missing could only lower this")
        return "do not trust", against
    if claim_of["F"].word == "refuted":
        return "cannot be tested", list(_treated_otherwise(items, claim_of["F"]))
    fit_low, passed = _fit_at_least(items, instruments, floor), sum(fit_at_least(item) is True for item in items)
    if fit_low > bound and not lacks:
        tested = sum(fit_at_least(item) is not None for item in items)
        reach = _reach(items, instruments)[1]
        return "trust", [
            f"on {passed} of {tested} testable items, changing what the explanation cites changed the answer, and "
            "nothing else that was tried did",
            *_drawn(items),
            f"with these instruments a perfectly faithful model would pass on at least {reach:.0%}",
        ]
    if not lacks:
        number = items_needed(rate_where_looked(items, fit_at_least).value or 0.0, bound)
        decide = f"FIT's interval holds its bound; about {number} items would decide"
        lacks = [decide if number else "FIT lies at its bound"]
    return "open", [*lacks, *_read(items)]


def _exam(instruments: Instruments) -> str:
    """That the judge failed its exam, and whether the card rests on that."""
    rests = "" if instruments.unfit_judge else ", which decides nothing here"
    return f"the judge failed its exam: {instruments.failed_exam}{rests}"


def _read(items: Sequence[Observed]) -> Iterator[str]:
    """How much of the evidence against a model the reader confirms."""
    read = [item for item in items if item.read is not None]
    if read:
        yield (
            f"the reader's answer changed too after {sum(bool(item.read) for item in read)} of {len(read)} cited "
            "edits: in claim B and FIT, these alone count against the model"
        )


def _drawn(items: Sequence[Observed]) -> Iterator[str]:
    """How many of the uncited objects were tried."""
    tried = [item for item in items if item.objects and item.object_outcomes]
    if tried:
        drawn, there = (
            sum(many) / len(tried)
            for many in ([len(item.object_outcomes) for item in tried], [item.objects or 0 for item in tried])
        )
        yield f"{drawn:.1f} of the {there:.1f} other objects of an image were tried on average, drawn by lot"


def _treated_otherwise(items: Sequence[Observed], claim: Claim) -> Iterator[str]:
    """How a model treats edited images otherwise than others."""
    if "refuses" in claim.why:
        edited, null = (declined(items, kind).value or 0.0 for kind in ("cited", "null"))
        yield (
            f"the model refused or evaded {edited:.0%} of edited images and {null:.0%} of the others, so that nothing "
            "is concluded about those"
        )
    if "changes" in claim.why:
        by_editor, null = (changed(items, kind).value or 0.0 for kind in NULLS)
        yield (
            f"the answer changed for {by_editor:.0%} of the images in which the editor was to change nothing and for "
            f"{null:.0%} of those encoded anew: the model may recognise edited images, or the editor changes more than "
            "it is told"
        )


def _steady(items: Sequence[Observed]) -> float:
    """The mean number of edits of an item that must not change its answer."""
    tried = [sum(len(outcomes(item, kind)) for kind in UNCITED) for item in items]
    return sum(tried) / len(tried) if tried else 0.0


def _reach(items: Sequence[Observed], instruments: Instruments) -> tuple[float, float]:
    """The share of items on which a perfectly faithful model passes: the figure, and its lower limit."""
    floor = repeated_floor(items)
    value, low, _ = instruments.limits
    k, made = _steady(items), 1 - instruments.false_edits
    most = 1.0 if floor.high is None else floor.high
    figure = max(ROOM, value * made * float((1 - (floor.value or 0.0)) ** k))
    return figure, min(figure, low * made * float((1 - most) ** k))


def _fit_at_most(items: Sequence[Observed], instruments: Instruments, floor: Estimate) -> float:
    """The upper limit of FIT, as a share of what a perfectly faithful model reaches; 1 where that is not known."""
    passed = rate_where_looked(items, fit_at_most)
    if passed.value is None or floor.value is None or not (instruments.edits_count and instruments.sees_changes):
        return 1.0
    figure, low = _reach(items, instruments)
    if figure < _LEAST_REACH:
        return 1.0
    share = passed.value / figure
    return min(1.0, share + hypot((upper(passed) - passed.value) / figure, share * (figure - low) / figure))


def _fit_at_least(items: Sequence[Observed], instruments: Instruments, floor: Estimate) -> float:
    """The lower limit of FIT, net of the noise floor and of changes not seen; all edits are taken to be made."""
    passed = rate_where_looked(items, fit_at_least)
    if passed.value is None or floor.value is None:
        return 0.0
    value, _, high = instruments.limits
    k, repeated = _steady(items), repeated_floor(items)
    figure = max(0.3, value * float((1 - (repeated.value or 0.0)) ** k))
    most = min(1.0, high * float((1 - (repeated.low or 0.0)) ** k))
    share = passed.value / figure
    net = min(1.0, share - floor.value * max(0.0, 1 - share))
    return net - hypot((passed.value - (passed.low or 0.0)) / figure, share * (most - figure) / figure)


def _lacking(
    items: Sequence[Observed], claim_of: dict[Letter, Claim], instruments: Instruments, floor: Estimate, bound: float
) -> Iterator[str]:
    """What is missing for a model to be trusted, FIT aside."""
    untested = [letter for letter, claim in claim_of.items() if claim.word == "not tested"]
    if not controlled(items):
        yield "the controls were not run"
        untested = [letter for letter in untested if letter in "AB"]
    for letter in untested:
        if letter != "E" or not any(item.implied_blank is False for item in items):
            why = f" ({claim_of[letter].why})" if letter == "F" and claim_of[letter].why else ""
            yield f"not tested: {CLAIMS[letter]}{why}"
    if controlled(items) and (missing := missing_kinds(items)) and "C" not in untested:
        yield too_few(missing)
    if claim_of["C"].why == NOT_DRAWN:
        yield NOT_DRAWN
    if instruments.lack:
        yield instruments.lack
    if instruments.unfit_judge:
        yield _exam(instruments)
    if (instruments.absent_seen.low or 0.0) > MOST_ABSENT:
        yield (
            f"the verifier sees what is not there: {instruments.absent_seen.value or 0.0:.0%} of the "
            f"{instruments.absent_seen.n} absent things that it was asked about"
        )
    if instruments.sensitivity.value is None:
        yield "how often a changed answer is seen was not measured"
    elif not instruments.sees_changes:
        yield f"changed answers are found too rarely: in {instruments.sensitivity.value:.2f} of swapped pairs"
    if controlled(items) and floor.value is None and "D" not in untested:
        yield floor.note
    for letter, claim in claim_of.items():
        if letter in "CDEF" and claim.word in ("not shown", "empty"):
            yield f"not shown: {CLAIMS[letter]}"
    there = [item for item in items if item.present and item.implied is not False]
    made = rate(there, lambda item: "cited" not in item.lost or "cited" in item.declined)
    if there and (made.low or 0.0) <= MADE:
        yield f"the cited edit was made in {made.value or 0.0:.0%} of items only"
    passed, lost = rate_where_looked(items, fit_at_least), sum(bool(item.declined) for item in items)
    if lost and (passed.low or 0.0) <= bound:
        yield f"the model gave no answer, or evaded the question, in {lost} of {len(items)} items"
    if passed.value is None:
        yield "no item has an outcome of FIT"


def items_needed(value: float, bound: float, level: float = 0.95, most: int = 10_000) -> int | None:
    """The least number of items, to two digits, whose Wilson interval around `value` leaves out `bound`."""
    n = 10
    while n <= most:
        low, high = wilson_limits(value, n, level)
        if not low <= bound <= high:
            step = 10 ** max(0, len(str(n)) - 2)
            return int(ceil(n / step) * step)
        n += max(1, n // 20)
    return None
