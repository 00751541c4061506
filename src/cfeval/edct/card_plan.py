"""How many items a study needs for a trust card to conclude: studies are drawn by chance, and the card's rule read.

A study is drawn item by item: whether the explanation is faithful, whether each edit is made and accepted, whether the
answer changes, whether that is seen. Its card comes from the product's own rule, and what the card knows of the
instruments from the same study.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cfeval.edct.faithfulness.card import Conclusion, trust_card
from cfeval.edct.faithfulness.instruments import VerifierChecks, measured
from cfeval.edct.faithfulness.observed import Kind, Observed
from cfeval.edct.protocols.rules import objects_drawn

SIZES = (60, 120, 200, 400)
"""Items of a study, where none is named."""
# As in a study by default: params.yaml, `one_item_in` and `sham_every`.
_NULL_EVERY, _BLANK_EVERY, _SHAM_EVERY = 2, 3, 4
_OBJECTS = 5
"""Uncited objects of an item."""


class Rates(NamedTuple):
    """Rates that are expected of a study, each in [0, 1]."""

    faithful: float = 0.98
    """Share of faithful explanations of the model that deserves trust."""
    unfaithful: float = 0.4
    """The same of the model that does not."""
    cites: float = 0.99
    """Share of explanations that cite only what is there."""
    noise: float = 0.01
    """Share of answers that change by chance."""
    declines: float = 0.01
    """Share of questions that the model does not answer."""
    failed: float = 0.05
    """Share of edits that are not made."""
    accepts: float = 0.95
    """Share of edits that were made which the verifier accepts."""
    rejects: float = 0.95
    """Share of edits that were not made which it rejects."""
    judged: float = 0.3
    """Share of answers about which the texts do not decide, so that a judge is asked."""
    sensitivity: float = 0.9
    """Of the judge that compares answers: share of changes that it sees."""
    specificity: float = 0.97
    """Share of unchanged answers that it leaves so."""


class Chances(NamedTuple):
    """How studies of one size end for one model; shares of the drawn studies."""

    right: float
    open: float
    """Also where the card says that the model cannot be tested."""
    wrong: float


def chances(rates: Rates, faithful: bool, items: int, studies: int, seed: int) -> Chances:
    """How often the card ends right, open or wrong, over studies drawn by chance.

    Args:
        rates: what is expected.
        faithful: whether the model deserves trust.
        items: of a study.
        studies: how many are drawn.
        seed: of the draw.
    """
    rng = np.random.default_rng([seed, items, faithful])
    ends: Counter[str] = Counter(_conclusion(rates, faithful, items, rng) for _ in range(studies))
    right, wrong = ("trust", "do not trust") if faithful else ("do not trust", "trust")
    return Chances(ends[right] / studies, 1 - (ends[right] + ends[wrong]) / studies, ends[wrong] / studies)


def _conclusion(rates: Rates, faithful: bool, items: int, rng: np.random.Generator) -> Conclusion:
    study = _Study(rates, rates.faithful if faithful else rates.unfaithful, rng)
    drawn = list(study.items(items))
    return trust_card(drawn, measured(drawn, study.verifier())).conclusion


class _Study:
    def __init__(self, rates: Rates, truth: float, rng: np.random.Generator) -> None:
        self.rates, self.truth, self.rng = rates, truth, rng
        self.drawn = 1
        self.edits = self.rejected = self.shams = self.shams_accepted = 0

    def verifier(self) -> VerifierChecks:
        """What the study tells of its verifier."""
        return VerifierChecks(1.0, self.rejected, self.edits, self.shams_accepted, self.shams)

    def items(self, count: int) -> Iterator[Observed]:
        """The study's items; a small study edits more objects of each, as trust needs."""
        self.drawn = objects_drawn(count)
        for number in range(count):
            yield self._item(number)

    def _chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def _item(self, number: int) -> Observed:
        faithful = self._chance(self.truth)
        outcomes: dict[Kind, tuple[bool | None, bool, bool]] = {
            "cited": self._edited(faithful),
            "uncited_object": (None, False, False),
            # What an unfaithful answer follows instead is in the background.
            "uncited_background": self._edited(not faithful),
        }
        objects = [self._edited(False) for _ in range(self.drawn)]
        known = tuple(changed for changed, _, _ in objects if changed is not None)
        declined, judged = (any(each[place] for each in objects) for place in (1, 2))
        outcomes["uncited_object"] = (any(known) if known else None, declined, judged)
        outcomes["null" if number % _NULL_EVERY == 0 else "editor_null"] = self._answered(False)
        if number % _BLANK_EVERY == 0:
            outcomes["blank"] = self._answered(True)
        if number % _SHAM_EVERY == 0:
            self.shams += 1
            self.shams_accepted += self._chance(1 - self.rates.rejects)
        null = "null" in outcomes
        seen = Observed(
            f"i{number}",
            f"i{number}",
            present=self._chance(self.rates.cites),
            objects=_OBJECTS,
            object_outcomes=known,
            swapped=self._seen(True)[0] if null else None,
            reworded=self._chance(1 - self.rates.specificity) if null else None,
            lost=frozenset(kind for kind, (changed, _, _) in outcomes.items() if changed is None),
            tried=frozenset(outcomes),
            declined=frozenset(kind for kind, (_, declined, _) in outcomes.items() if declined),
            judged=frozenset(kind for kind, (_, _, judged) in outcomes.items() if judged),
            implied=True,
            implied_blank=True,
        )
        changes: dict[str, Any] = {kind: changed for kind, (changed, _, _) in outcomes.items()}
        return seen._replace(**changes)

    def _edited(self, follows: bool) -> tuple[bool | None, bool, bool]:
        """An edit that is checked: whether the answer changed, was refused, and was compared by the judge."""
        made = not self._chance(self.rates.failed)
        accepted = self._chance(self.rates.accepts if made else 1 - self.rates.rejects)
        self.edits, self.rejected = self.edits + 1, self.rejected + (not accepted)
        if not accepted:  # a gate has it made once more
            made = not self._chance(self.rates.failed)
            accepted = self._chance(self.rates.accepts if made else 1 - self.rates.rejects)
        return self._answered(follows and made) if accepted else (None, False, False)

    def _answered(self, follows: bool) -> tuple[bool | None, bool, bool]:
        if self._chance(self.rates.declines):
            return None, True, False
        changed, judged = self._seen(follows or self._chance(self.rates.noise))
        return changed, False, judged

    def _seen(self, changed: bool) -> tuple[bool, bool]:
        """What is said of an answer, and whether the judge said it."""
        if not self._chance(self.rates.judged):
            return changed, False
        return self._chance(self.rates.sensitivity if changed else 1 - self.rates.specificity), True
