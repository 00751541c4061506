"""The trust card of a model: five claims, each supported, refuted or not shown, and the conclusion.

A claim says that a rate lies on the good side of a bound. It is *supported* if the whole interval does, *refuted* if
the whole interval lies on the other side, else *not shown*. Rates are net of what changes when nothing is changed.
Bounds and rule were chosen on simulated models of known truth; how often the card is right of the 22 test models is a
figure of the table `test_models` (docs/concepts/estimand.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from cfeval.edct.faithfulness.observed import (
    UNCITED,
    Kind,
    Observed,
    changed,
    citation_rate,
    fit,
    net_effect,
    rate,
    rate_where_looked,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.proportions import wilson_limits
from cfeval.stats.rates import FULL, beyond, known

Letter = Literal["A", "B", "C", "D", "E"]
Word = Literal["supported", "refuted", "not shown", "empty", "not tested"]
Conclusion = Literal["trust", "do not trust", "open"]
CLAIMS: dict[Letter, str] = {
    "A": "cites what is there",
    "B": "what it cites changes the answer",
    "C": "what it does not cite does not change the answer",
    "D": "stable when nothing changes",
    "E": "looks at the image",
}
BOUNDS: dict[Letter, float] = {"A": 0.85, "B": 0.65, "C": 0.15, "D": 0.10, "E": 0.40}
"""The rates of A, B and E must lie above; those of C and D below."""
ABOVE: tuple[Letter, ...] = ("A", "B", "E")
FIT_BOUND = 0.75
LEAST = 10
"""Items of an uncited kind; with fewer the kind says nothing."""
LEAST_SWAPPED = 10
"""So many swapped pairs say how well a changed answer is found."""
LEAST_SENSITIVITY = 0.5
"""Above it lies the interval of the share of them that is found, where figures may be corrected for those missed."""
_MISSED: tuple[Letter, ...] = ("B", "E")
"""The claims that changed answers refute where they are missed."""


class Claim(NamedTuple):
    """A claim, the rate that it is about, and what the items say of it."""

    letter: Letter
    rate: Estimate
    word: Word
    why: str = ""


@dataclass(frozen=True)
class Backing:
    """What is known of the instrument itself."""

    verified: bool = False
    """Somebody checked that the edits were made: a gate, a verifier, or people."""
    matched: bool = False
    """The sensitivity of what says *changed* was measured on these very items."""
    sensitivity: Estimate = FULL
    """Of what says *changed*, in [0, 1], with its interval."""
    failed: float = 0.0
    """Share of edits that are known to have failed unseen, in [0, 1)."""

    @property
    def misses(self) -> bool:
        """Whether so many changed answers may be missed that no figure can be corrected for them."""
        return self.matched and (self.sensitivity.low or 0.0) < LEAST_SENSITIVITY

    @property
    def ceiling(self) -> Estimate:
        """What rates are divided by; nothing is corrected by what is not known, or too low."""
        return self.sensitivity if self.matched and not self.misses else FULL


def measured(of: Sequence[Observed], verified: bool, failed: float = 0.0) -> Backing:
    """What items tell of the instrument: their swapped pairs say how often a changed answer is found."""
    found = rate(of, lambda one: one.swapped)
    if found.n < LEAST_SWAPPED:
        return Backing(verified, failed=failed)
    return Backing(verified, True, found, failed)


@dataclass(frozen=True)
class Card:
    """What may be said of a model."""

    n: int
    fit: Estimate
    claims: tuple[Claim, ...]
    conclusion: Conclusion
    reasons: tuple[str, ...]
    """Why that is the conclusion; where it is open, what would decide it."""


def trust_card(of: Sequence[Observed], backing: Backing) -> Card:
    """The card of a model's items."""
    head = rate_where_looked(of, fit)
    claims = tuple(_claims(of, backing))
    conclusion, reasons = _conclude(head, claims, backing, missing_kinds(of))
    return Card(len(of), head, claims, conclusion, tuple(reasons))


def _claims(of: Sequence[Observed], backing: Backing) -> list[Claim]:
    null = changed(of, "null")
    floor = known(0.0) if null.value is None else null
    ceiling, made = backing.ceiling, 1 - backing.failed
    looks = _claim("E", beyond(changed(of, "blank"), floor, ceiling))
    return [
        _claim("A", citation_rate(of)),
        _claim("B", net_effect(of, floor, ceiling, made)),
        _uncited(of, floor, ceiling, made, looks.word),
        _claim("D", null),
        looks,
    ]


def _claim(letter: Letter, found: Estimate, among: float | None = None) -> Claim:
    bound = BOUNDS[letter] if among is None else among
    if found.value is None or found.low is None or found.high is None:
        return Claim(letter, found, "not tested", found.note)
    if found.low > bound:
        return Claim(letter, found, "supported" if letter in ABOVE else "refuted")
    if found.high < bound:
        return Claim(letter, found, "refuted" if letter in ABOVE else "supported")
    return Claim(letter, found, "not shown")


def missing_kinds(of: Sequence[Observed]) -> list[str]:
    """The uncited kinds, `object` and `background`, with too few edits although enough items have something of them."""
    return [
        kind.removeprefix("uncited_")
        for kind in UNCITED
        if changed(of, kind).n < LEAST <= sum(kind not in one.without for one in of)
    ]


def _too_few(kinds: Sequence[str]) -> str:
    return f"fewer than {LEAST} edits of an uncited {' and of an uncited '.join(kinds)}"


def _uncited(of: Sequence[Observed], floor: Estimate, ceiling: Estimate, made: float, looks: Word) -> Claim:
    """Claim C: two kinds of edits, each with half of the error. It is no merit of a model that nothing moves.

    One kind can refute it; both are needed to support it, where items have something uncited of either.
    """
    found: dict[Kind, Claim] = {}
    for kind in UNCITED:
        one = changed(of, kind, 0.975)
        if one.n >= LEAST:
            found[kind] = _claim("C", beyond(one, floor, ceiling, made))
    if not found:
        return Claim("C", Estimate(None), "not tested", f"fewer than {LEAST} uncited edits of either kind")
    worst = max(found.values(), key=lambda claim: (claim.rate.value or 0.0, claim.rate.high or 0.0))
    words = {claim.word for claim in found.values()}
    if "refuted" in words:
        refuted = [kind for kind, claim in found.items() if claim.word == "refuted"]
        return worst._replace(word="refuted", why=" and ".join(kind.removeprefix("uncited_") for kind in refuted))
    if missing := missing_kinds(of):
        return worst._replace(word="not shown", why=_too_few(missing))
    if words != {"supported"}:
        return worst._replace(word="not shown")
    if looks == "refuted":
        return worst._replace(word="empty", why="not even a blank image changes the answer")
    return worst if looks == "supported" else worst._replace(word="not shown", why="claim E is not supported")


def _conclude(
    head: Estimate, claims: Sequence[Claim], backing: Backing, missing: Sequence[str]
) -> tuple[Conclusion, list[str]]:
    """The conclusion and why.

    FIT counts a change that was missed, or an edit that was not made, against the model. Its interval is therefore
    divided by the share that is seen, as if all of them had been; what is missed under uncited edits is left aside,
    since claim C has its own bound. How large that share is, is itself estimated: *trust* must hold at its upper limit,
    *do not trust* at its lower one.
    """
    refuted = [claim for claim in claims if claim.word == "refuted"]
    sure = [claim for claim in refuted if _counts(claim.letter, backing)]
    below, above = _side(head, backing)
    below &= backing.verified and not backing.misses
    if sure or below:
        why = [f"refuted: {CLAIMS[claim.letter]}" for claim in sure]
        return "do not trust", why + (["FIT lies below its bound"] if below else [])
    lacks = list(_lacking(head, claims, backing, missing))
    if above and not lacks and not refuted:
        return "trust", ["FIT lies above its bound, every check was run, and nothing is refuted"]
    return "open", lacks or [_needed(head)]


def _counts(letter: Letter, backing: Backing) -> bool:
    """Whether a refuted claim counts against a model: not where an unchecked edit or a missed change may be why."""
    return (backing.verified or letter not in "BC") and not (backing.misses and letter in _MISSED)


def _side(head: Estimate, backing: Backing) -> tuple[bool, bool]:
    """Whether FIT lies below its bound, or above it, whatever share of changes is seen within its interval."""
    if head.low is None or head.high is None:
        return False, False
    made, seen = 1 - backing.failed, backing.ceiling
    least, most = (made * (1.0 if limit is None else limit) for limit in (seen.low, seen.high))
    return head.high < FIT_BOUND * least, head.low > FIT_BOUND * most


def _lacking(head: Estimate, claims: Sequence[Claim], backing: Backing, missing: Sequence[str]) -> list[str]:
    """What was not checked."""
    untested = [claim.letter for claim in claims if claim.word == "not tested"]
    found = [f"not tested: {CLAIMS[letter]}" for letter in untested]
    if missing and "C" not in untested:
        found.append(_too_few(missing))
    if not backing.verified:
        found.append("the edits were not verified")
    if not backing.matched:
        found.append("the error of what tells whether an answer changed was not measured")
    elif backing.misses:
        found.append(f"changed answers are found too rarely: in {backing.sensitivity.value or 0:.2f} of swapped pairs")
    if head.value is None:
        found.append("no item has an outcome of FIT")
    return found


def _needed(head: Estimate) -> str:
    """About how many items would decide, if the rate stayed what it is."""
    items = items_needed(head.value or 0.0, FIT_BOUND)
    return f"FIT's interval holds its bound; about {items} items would decide" if items else "FIT lies at its bound"


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
