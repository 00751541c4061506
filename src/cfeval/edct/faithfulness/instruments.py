"""What is known of the instruments: how many edits that count were not made, and how well a changed answer is seen.

Nothing is taken on trust: a verifier that was never shown an edit that was not made may accept anything, and a judge
that was never shown a changed answer may miss all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cfeval.edct.faithfulness.observed import Observed, rate
from cfeval.stats.estimates import Estimate
from cfeval.stats.proportions import wilson_limits
from cfeval.stats.rates import FULL

MOST_FALSE_EDITS = 0.25
"""Of the edits that count, fewer may not have been made, where anything is to follow from them."""
LEAST_SWAPPED = 10
"""So many swapped pairs say how well a changed answer is seen."""
LEAST_SENSITIVITY = 0.5
"""Of what says *changed*: at least this, at the lower limit, where anything is to follow from answers that stayed."""
LEAST_CHECKED = 0.9
"""So large a share of the edits of cited and uncited things is checked where they count as verified."""
NOT_MEASURED = Estimate(None)
_LEVEL = 0.95


class VerifierChecks(NamedTuple):
    """What is known of the verifier of a condition's edits."""

    checked: float = 0.0
    """Share of the edits that it could judge."""
    rejected: int = 0
    """Edits that it found wrong, of those that it judged."""
    judged: int = 0
    sham_accepted: int = 0
    """Edits that were not made and that it took for made, of those that it was shown."""
    shams: int = 0


@dataclass(frozen=True)
class Instruments:
    """What is known of the instruments; what is left out was not measured."""

    false_edits: float = 1.0
    """At most so large a share of the edits that count was not made, in [0, 1]."""
    sensitivity: Estimate = NOT_MEASURED
    """Of what says *changed*: the share of changed answers that are seen, in [0, 1]; no figure: not measured."""
    false_alarms: float = 1.0
    """At most so large a share of unchanged answers is called changed by a judge that is asked, in [0, 1]."""
    lack: str = ""
    """Why the edits do not count, where they do not."""

    @property
    def edits_count(self) -> bool:
        """Whether something may follow from the edits."""
        return self.false_edits < MOST_FALSE_EDITS

    @property
    def sees_changes(self) -> bool:
        """Whether something may follow from an answer that stayed."""
        return self.sensitivity.low is not None and self.sensitivity.low >= LEAST_SENSITIVITY

    @property
    def limits(self) -> tuple[float, float, float]:
        """The sensitivity and its limits; 1, 0 and 1 where it was not measured."""
        found = self.sensitivity
        value = 1.0 if found.value is None else found.value
        return value, found.low or 0.0, 1.0 if found.high is None else found.high


def false_edits(of: VerifierChecks) -> float:
    """At most so large a share of the edits that a verifier accepted was not made: 1 where it accepts whatever it sees.

    Of edits that were not made it rejects at least s (the lower limit on those that it was shown), of all edits at most
    r (the upper limit). If q of all were not made, r ≥ q s, so that of those accepted at most (1 − s) q / (1 − r) ≤
    (1 − s) r / (s (1 − r)) were not.
    """
    if not of.shams or not of.judged:
        return 1.0
    least = wilson_limits(1 - of.sham_accepted / of.shams, of.shams, _LEVEL)[0]
    most = wilson_limits(of.rejected / of.judged, of.judged, _LEVEL)[1]
    return min(1.0, (1 - least) * most / (least * (1 - most))) if least > 0 and most < 1 else 1.0


def measured(of: Sequence[Observed], verifier: VerifierChecks, failed: float = 0.0) -> Instruments:
    """What items, and the checks of the verifier, tell of the instruments.

    Where texts decided about every answer, no change is missed and none is imagined; else swapped pairs say how many
    are seen, and reworded answers how many are imagined.

    Args:
        of: the items.
        verifier: what is known of who checked the edits.
        failed: the share of edits that failed unseen, where people found it out; 0: they did not.
    """
    most, lack = failed or false_edits(verifier), ""
    if not failed and verifier.checked < LEAST_CHECKED:
        most, lack = 1.0, "the edits were not verified"
    elif not failed and not verifier.shams:
        lack = "the verifier was shown no edits that were not made, so it may accept anything"
    elif most >= MOST_FALSE_EDITS:
        lack = (
            f"{most:.0%} of the edits or more may not have been made: the verifier took {verifier.sham_accepted} of "
            f"{verifier.shams} that were not"
        )
    compared = any(one.cited is not None or one.null is not None for one in of)
    if compared and not any(one.judged for one in of):
        return Instruments(most, FULL, 0.0, lack)
    seen, alarms = rate(of, lambda one: one.swapped), rate(of, lambda one: one.reworded)
    at_most = 1.0 if alarms.high is None else alarms.high
    return Instruments(most, seen if seen.n >= LEAST_SWAPPED else NOT_MEASURED, at_most, lack)
