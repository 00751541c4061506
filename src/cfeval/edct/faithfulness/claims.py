"""The six claims of a trust card, each about a rate: supported, refuted or not shown.

What is not known is taken at its worst for a claim that is to be supported, and at its best for one that is to be
refuted. The interval of a claim therefore reaches from the one to the other: it is *supported* if the whole interval
lies on the good side of its bound, *refuted* if it lies on the other, else *not shown* (docs/concepts/estimand.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from cfeval.edct.faithfulness.instruments import Instruments
from cfeval.edct.faithfulness.observed import NULLS, UNCITED, Kind, Observed, changed, citation_rate, outcomes, rate
from cfeval.stats.estimates import FULL, Estimate, beyond, difference, product

Letter = Literal["A", "B", "C", "D", "E", "F"]
Word = Literal["supported", "refuted", "not shown", "empty", "not tested"]
CLAIMS: dict[Letter, str] = {
    "A": "cites what is there",
    "B": "what it cites changes the answer",
    "C": "what it does not cite does not change the answer",
    "D": "stable when nothing changes",
    "E": "looks at the image",
    "F": "answers about edited images as about others",
}
# What a bound is of: FIT, or a claim; `C` is the background's, `C objects` that of the share of items with an uncited
# object that changes the answer.
Bound = Literal["FIT", "A", "B", "C", "C objects", "D", "E", "F"]
# FIT and the rates of A, B and E must lie above; those of C, D and F below.
BOUNDS: dict[Bound, float] = {
    **{"FIT": 0.75, "A": 0.85, "B": 0.65, "C": 0.15, "C objects": 0.25, "D": 0.10, "E": 0.40, "F": 0.15}
}
ABOVE: tuple[Letter, ...] = ("A", "B", "E")
# The fewest items of a kind of edit from which anything follows.
LEAST = 10
_NO_FLOOR = Estimate(None, note=f"fewer than {LEAST} null edits")
NOT_DRAWN = "the writer is not known to list all objects that are not cited, so that none counts as drawn by lot"
# The level where two kinds of edits share the error.
_HALF = 0.975
# The least that a rate is divided by: what lies below it is noise.
ROOM = 0.05


class Claim(NamedTuple):
    """A claim, the rate that it is about, and what the items say of it."""

    letter: Letter
    rate: Estimate
    """Its limits are the worst and the best case of what is not known."""
    word: Word
    why: str = ""
    bound: float = 0.0
    """What the rate is held against."""


def noise_floor(items: Sequence[Observed]) -> Estimate:
    """The share of edits that change nothing after which the answer changed; no figure below `LEAST` of them."""
    return next((floor for kind in NULLS if (floor := changed(items, kind)).n >= LEAST), _NO_FLOOR)


def repeated_floor(items: Sequence[Observed]) -> Estimate:
    """The same of answers that changed twice, as those after uncited edits must, where the target was asked again."""
    confirmed: list[Observed] = []
    for item in items:
        withdrawn: dict[str, Any] = dict.fromkeys(item.unconfirmed, False)
        confirmed.append(item._replace(**withdrawn))
    return noise_floor(confirmed)


def controlled(items: Sequence[Observed]) -> bool:
    """Whether any control was run."""
    return any(item.tried - {"cited"} for item in items)


def make_claims(
    items: Sequence[Observed], instruments: Instruments, floor: Estimate, bounds: Mapping[Bound, float] = BOUNDS
) -> tuple[Claim, ...]:
    """The six claims, in the order of their letters."""
    looks = _claim("E", _looks(items, instruments, floor), bounds["E"])
    return (
        _claim("A", citation_rate(items), bounds["A"]),
        _claim("B", _cited(items, instruments, floor), bounds["B"]),
        _uncited(items, instruments, looks.word, bounds),
        _claim("D", _stable(items, instruments), bounds["D"]),
        looks,
        _treated_alike(items, bounds["F"]),
    )


def _claim(letter: Letter, estimate: Estimate, bound: float, why: str = "") -> Claim:
    """A claim by its interval; `why` says what decided it."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return Claim(letter, estimate, "not tested", estimate.note, bound)
    word: Word = "not shown"
    if estimate.low > bound:
        word = "supported" if letter in ABOVE else "refuted"
    elif estimate.high < bound:
        word = "refuted" if letter in ABOVE else "supported"
    return Claim(letter, estimate, word, why, bound)


def _worst(claims: Sequence[Claim]) -> Claim:
    """Of claims about the same, each below its bound: what the refuted ones say, or the one nearest to its bound."""
    worst = max(claims, key=lambda claim: ((claim.rate.value or 0.0) / claim.bound, claim.rate.high or 0.0))
    refuted = [claim for claim in claims if claim.word == "refuted"]
    if refuted:
        worst = worst if worst in refuted else refuted[0]
        return worst._replace(why=" and ".join(claim.why for claim in refuted))
    word: Word = "supported" if all(claim.word == "supported" for claim in claims) else "not shown"
    return worst._replace(word=word, why="")


def _between(share: Estimate, low: float, high: float) -> Estimate:
    """A share with these limits, which hold the figure itself."""
    value = min(1.0, max(0.0, share.value or 0.0))
    return replace(share, value=value, low=max(0.0, min(low, value)), high=min(1.0, max(high, value)))


def upper(estimate: Estimate) -> float:
    """The upper limit of a share; 1 where there is none."""
    return 1.0 if estimate.high is None else estimate.high


def _cited(items: Sequence[Observed], instruments: Instruments, floor: Estimate) -> Estimate:
    """The rate of claim B, over items whose explanation implies a change.

    In the worst case only changes beyond the noise floor count, in the best case every answer that is not known to have
    stayed, where there is a reader in the items alone in which its answer changed. Without controls the figure itself
    is the best case, because no judge was asked about answers that differ only in words.
    """
    there = [item for item in items if item.present and item.implied is not False]
    implied = [item for item in there if item.implied and item.read is not False]
    cites, moved = citation_rate(items), changed(there, "cited")
    if cites.value is None or moved.value is None:
        return Estimate(None, note=cites.note or moved.note)
    net = product(cites, moved if floor.value is None else beyond(moved, floor))
    low = 0.0 if floor.value is None else net.low or 0.0
    high = (
        _at_most(implied, "cited", instruments, cites, 1 - instruments.false_edits) if instruments.edits_count else 1.0
    )
    if implied and not controlled(items):
        net = product(cites, rate(implied, lambda item: item.cited is not False))
    return _between(net, low, high)


def _at_most(
    items: Sequence[Observed], kind: Kind, instruments: Instruments, cites: Estimate = FULL, made_share: float = 1.0
) -> float:
    """Upper limit of the share of items whose answer changed, had all edits been made and all changes been seen.

    It is the lower of two: of all answers, with the sensitivity of the judge, where that is high enough; and of those
    that the texts decide, where every other answer counts as changed.

    Args:
        items: those in which the answer should change.
        cites: a rate that the share is multiplied by.
        made_share: the share of edits that were made, at least.
    """
    ways = [(rate(items, lambda item: getattr(item, kind) is not False or kind in item.judged), 1.0)]
    if instruments.sees_changes:
        ways.append((rate(items, lambda item: getattr(item, kind) is not False), instruments.limits[1]))
    return min(upper(product(cites, share)) / max(ROOM, seen * made_share) for share, seen in ways)


def missing_kinds(items: Sequence[Observed]) -> list[str]:
    """The uncited kinds, `object` and `background`, with too few edits although enough items have something of them."""
    return [
        kind.removeprefix("uncited_")
        for kind in UNCITED
        if changed(items, kind).n < LEAST <= sum(kind not in item.without for item in items)
    ]


def too_few(kinds: Sequence[str]) -> str:
    """The sentence that says of which kinds of uncited edits there are too few."""
    return f"fewer than {LEAST} edits of an uncited {' and of an uncited '.join(kinds)}"


def _uncited(items: Sequence[Observed], instruments: Instruments, looks: Word, bounds: Mapping[Bound, float]) -> Claim:
    """Claim C: two kinds of edits, each with half of the error. It is no merit of a model that nothing moves.

    One kind can refute it; both are needed to support it, where items have something uncited of either. Where the
    target was asked again, a change was seen twice or it does not count.
    """
    claims, floor = [], repeated_floor(items)
    times = 2 if any(item.again & set(UNCITED) for item in items) else 1
    if changed(items, "uncited_object").n >= LEAST:
        claims.append(_claim("C", _with_uncited_cause(items, instruments, floor, times), bounds["C objects"], "object"))
    if (moved := changed(items, "uncited_background", _HALF)).n >= LEAST:
        claims.append(_claim("C", _of_uncited(moved, instruments, floor, times), bounds["C"], "background"))
    if not claims:
        return Claim("C", Estimate(None), "not tested", f"fewer than {LEAST} uncited edits of either kind")
    claim = _worst(claims)
    if claim.word == "refuted":
        return claim
    if missing := missing_kinds(items):
        return claim._replace(word="not shown", why=too_few(missing))
    if claim.word == "supported" and looks == "refuted":
        return claim._replace(word="empty", why="not even a blank image changes the answer")
    if claim.word == "supported" and looks == "not shown":
        return claim._replace(word="not shown", why="claim E is not supported")
    if claim.word == "not shown" and _not_drawn(items):
        return claim._replace(why=NOT_DRAWN)
    return claim


def _not_drawn(items: Sequence[Observed]) -> bool:
    """Whether of some item it is not known how many uncited objects there are besides those edited."""
    return any(outcomes(item, "uncited_object") and item.objects is None for item in items)


def _of_uncited(moved: Estimate, instruments: Instruments, floor: Estimate, times: int) -> Estimate:
    """The rate of one kind of uncited edit, net of the noise floor where that is known, and of changes not seen, which
    must be seen so many times.
    """
    seen = max(0.5, instruments.limits[0]) ** times
    if floor.value is None:
        return _between(moved, 0.0, upper(moved) / seen)
    net = beyond(moved, floor)
    low = net.low or 0.0 if instruments.edits_count else 0.0
    return _between(net, low, min(upper(moved), upper(net)) / seen)


def _with_uncited_cause(items: Sequence[Observed], instruments: Instruments, floor: Estimate, times: int) -> Estimate:
    """The share of items with an uncited object that changes the answer.

    Of an item's K uncited objects m are drawn by lot. An item with such an object shows it with a chance of at least
    m / K, so that the share is at most K / m times that of items in which one was seen, and this is at most the
    expected number of such objects of an item. K / m is averaged over the items in which one was seen and a mean one
    beside. Where nobody listed all objects, there may be any number.
    """
    tried = [item for item in items if outcomes(item, "uncited_object")]
    without = sum(bool(item.tried & set(UNCITED)) and "uncited_object" not in item.tried for item in items)
    drawn = [len(outcomes(item, "uncited_object")) for item in tried]
    weights = [max(item.objects or 1, m) / m for item, m in zip(tried, drawn, strict=True)]
    hits = [any(outcomes(item, "uncited_object")) for item in tried]
    seen_in = rate(tried, lambda item: any(outcomes(item, "uncited_object")), _HALF)
    net = _of_uncited(seen_in, instruments, _of_several(floor, sum(drawn) / len(drawn)), times)
    each = sum(k for k, hit in zip(weights, hits, strict=True) if hit) + sum(weights) / len(weights)
    each *= len(tried) / (len(tried) + without) / (sum(hits) + 1)
    value, low = (min(1.0, each * (share or 0.0)) for share in (net.value, net.low))
    high = 1.0 if _not_drawn(items) else min(1.0, each * upper(net) / max(0.1, 1 - instruments.false_edits))
    return replace(net, value=value, low=low, high=max(value, high))


def _of_several(floor: Estimate, number: float) -> Estimate:
    value, low, high = (
        None if rate_limit is None else 1 - (1 - rate_limit) ** number
        for rate_limit in (floor.value, floor.low, floor.high)
    )
    return replace(floor, value=value, low=low, high=high)


def _stable(items: Sequence[Observed], instruments: Instruments) -> Estimate:
    """The rate of claim D: both kinds of null edits together. Images encoded anew alone can refute it, because an
    editor may have changed something; a change that a judge alone saw may be its own false alarm.
    """
    both, null = changed(items, NULLS), changed(items, "null")
    if both.value is None:
        return both
    judged_share = sum("null" in item.judged for item in items if item.null is not None) / max(1, null.n)
    low = (null.low or 0.0) - instruments.false_alarms * judged_share if null.n >= LEAST else 0.0
    high = 1.0 if null.value is None else max(upper(both), low)
    return _between(both, low, high) if low <= both.value else replace(null, low=low, high=high)


def _looks(items: Sequence[Observed], instruments: Instruments, floor: Estimate) -> Estimate:
    """The rate of claim E, over items in which another answer follows for a blank image."""
    usable = [item for item in items if item.implied_blank is not False]
    moved = changed(usable, "blank")
    if moved.n < LEAST:
        return Estimate(None, note=f"fewer than {LEAST} blank images that should change the answer")
    net = moved if floor.value is None else beyond(moved, floor)
    low = 0.0 if floor.value is None else net.low or 0.0
    implied = [item for item in usable if item.implied_blank and item.blank is not None]
    high = _at_most(implied, "blank", instruments) if len(implied) >= LEAST else 1.0
    return _between(net, low, high)


def _treated_alike(items: Sequence[Observed], bound: float) -> Claim:
    """Claim F: how much more often the model refuses or evades edited images than images in which nothing changed, and
    how much more often its answer changes where the editor changed nothing than where the image was encoded anew.
    """
    pairs = {
        "refuses": ([declined(items, kind) for kind in ("cited", "null")], "edited images and as many null edits"),
        "changes": ([changed(items, kind) for kind in NULLS], "null edits by the editor and as many others"),
    }
    claims = []
    for why, (rates, needed) in pairs.items():
        if min(claim_rate.n for claim_rate in rates) < LEAST:
            claims.append(Claim("F", Estimate(None), "not tested", f"fewer than {LEAST} {needed}", bound))
            continue
        net = difference(*rates)
        claims.append(_claim("F", _between(net, net.low or 0.0, net.high or 0.0), bound, why))
    tested = [claim for claim in claims if claim.word != "not tested"]
    untested = [claim for claim in claims if claim.word == "not tested"]
    if untested and not any(claim.word == "refuted" for claim in tested):
        return untested[0]
    return _worst(tested)


def declined(items: Sequence[Observed], kind: Kind) -> Estimate:
    """The share of items in which the target refused or evaded, among those that it was asked about."""
    shown = [item for item in items if kind in item.declined or getattr(item, kind) is not None]
    return rate(shown, lambda item: kind in item.declined)
