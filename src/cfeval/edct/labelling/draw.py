"""Which edits people are asked to label: a seeded draw over conditions and, if wanted, over what the tool said."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from cfeval.core.records import Binary, Status
from cfeval.edct.labelling.records import LABELLED, Judged, edited_of

NAMES = ("dataset", "vlm", "writer", "protocol", "editor")
"""What makes conditions differ for people: all names but the judge's."""


@dataclass(frozen=True)
class Candidate:
    """An edit that can be shown to people; `gate` is what the editor's own gate said of it, if it has one."""

    score: Judged
    gate: Binary | None = None


@dataclass(frozen=True)
class Drawn:
    """An edit of the sheet, and for how many candidates it stands."""

    score: Judged
    gate: Binary | None
    weight: float


def draw(candidates: Iterable[Candidate], items: int, seed: int, by_verdict: bool = False) -> list[Drawn]:
    """At most so many edits, in an order that tells nothing; the same arguments give the same draw.

    Every condition gives as many as every other, as far as it has them. An edit that several judges read is one
    candidate: the first.

    Args:
        candidates: see `Candidate`.
        items: how many to draw.
        seed: of the draw.
        by_verdict: within a condition, rejected edits, edits whose two scores are both 1 and the rest are drawn in
            equal numbers, as far as there are any; the weights undo it.
    """
    groups: dict[tuple[str, ...], _Stratum] = defaultdict(partial(_Stratum, items))
    for lot, candidate in _once_each(candidates, seed):
        condition = (getattr(candidate.score, name) for name in NAMES)
        groups[*condition, _outcome(candidate) if by_verdict else ""].add(lot, candidate)
    strata = [group for _, group in sorted(groups.items())]
    drawn = [
        Drawn(candidate.score, candidate.gate, round(stratum.size / len(taken), 4))
        for stratum, taken in zip(strata, _in_turn([stratum.first() for stratum in strata], items), strict=True)
        for candidate in taken
    ]
    return sorted(drawn, key=lambda one: _lot(one.score, seed, "order"))


class _Stratum:
    """Candidates among which the lot decides: how many there are, and those that could be drawn."""

    def __init__(self, most: int) -> None:
        self.size = 0
        self._most, self._kept = most, list[tuple[bytes, Candidate]]()

    def add(self, lot: bytes, candidate: Candidate) -> None:
        """Count one more, and keep it as long as it could be among the first."""
        self.size += 1
        self._kept.append((lot, candidate))
        if len(self._kept) == 2 * self._most:
            self._kept = self._kept_first()

    def first(self) -> list[Candidate]:
        """The first by lot, no more than can be drawn."""
        return [candidate for _, candidate in self._kept_first()]

    def _kept_first(self) -> list[tuple[bytes, Candidate]]:
        return sorted(self._kept, key=itemgetter(0))[: self._most]


def _once_each(candidates: Iterable[Candidate], seed: int) -> Iterator[tuple[bytes, Candidate]]:
    """Each edit once, with its lot; what differs in nothing but the judge has the same."""
    seen: set[bytes] = set()
    for candidate in candidates:
        lot = _lot(candidate.score, seed, "draw")
        if lot not in seen:
            seen.add(lot)
            yield lot, candidate


def _outcome(candidate: Candidate) -> str:
    score = candidate.score
    if candidate.gate == 0 or score.verified == 0 or score.status != Status.OK:
        return "rejected"
    return "1" if all(getattr(score, name) for name in LABELLED[score.protocol].scores) else "0"


def _in_turn(strata: Sequence[Sequence[Candidate]], items: int) -> list[Sequence[Candidate]]:
    """The first of each stratum, then the second of each, until there are so many."""
    counts = [0] * len(strata)
    while sum(counts) < min(items, sum(map(len, strata))):
        for number, stratum in enumerate(strata):
            if counts[number] < len(stratum) and sum(counts) < items:
                counts[number] += 1
    return [stratum[:count] for stratum, count in zip(strata, counts, strict=True)]


def _lot(score: Judged, seed: int, purpose: str) -> bytes:
    """The place of an edit in a random order that adding other edits does not change."""
    return hashlib.sha256(f"{seed}\x1f{purpose}\x1f{edited_of(score).model_dump_json()}".encode()).digest()
