"""What is known of the instruments: how many accepted edits were not made, and how well a changed answer is recognised.

A verifier that was never shown a sham edit may accept anything, and a judge that was never shown a changed answer may
miss all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.faithfulness.observed import Observed, rate
from cfeval.stats.estimates import FULL, Estimate
from cfeval.stats.proportions import wilson, wilson_limits

# Nothing follows from edits of which this share or more may not have been made.
MOST_FALSE_EDITS = 0.25
# The fewest swapped pairs that measure a sensitivity.
LEAST_SWAPPED = 10
# Nothing follows from unchanged answers where the lower limit of the sensitivity is below this.
LEAST_SENSITIVITY = 0.5
# Nothing that a presence check saw counts for a model, where it surely sees more than this share of absent things.
MOST_ABSENT = 0.25
# Edits count as verified where at least this share of them was checked.
LEAST_CHECKED = 0.9
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
    """Sham edits that it accepted, of those that it was shown."""
    shams: int = 0


@dataclass(frozen=True)
class Instruments:
    """What is known of the instruments; what is left out was not measured."""

    false_edits: float = 1.0
    """Upper bound of the share of accepted edits that were not made, in [0, 1]."""
    sensitivity: Estimate = NOT_MEASURED
    """The share of changed answers that are recognised, in [0, 1]; no figure: not measured."""
    false_alarms: float = 1.0
    """Upper bound of the share of unchanged answers that a judge calls changed, in [0, 1]."""
    lack: str = ""
    """Why the edits do not count, where they do not."""
    failed_exam: str = ""
    """Why the judge failed its exam, where it did."""
    unfit_judge: bool = False
    """Whether it failed in the comparison of answers and the card rests on that, so that nothing is trusted."""
    absent_seen: Estimate = NOT_MEASURED
    """The share of absent things that the verifier sees in an image; no figure: it was asked about none."""

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
        sensitivity = self.sensitivity
        value = 1.0 if sensitivity.value is None else sensitivity.value
        return value, sensitivity.low or 0.0, 1.0 if sensitivity.high is None else sensitivity.high


def false_edits(checks: VerifierChecks) -> float:
    """Upper bound of the share of accepted edits that were not made; 1 for a verifier that accepts every sham edit.

    Let s be the lower limit of the share of sham edits that it rejects, r the upper limit of the share of all edits
    that it rejects, and q the share of edits that were not made. Then r ≥ q s, and of the accepted edits at most
    (1 − s) q / (1 − r) ≤ (1 − s) r / (s (1 − r)) were not made.
    """
    if not checks.shams or not checks.judged:
        return 1.0
    least = wilson_limits(1 - checks.sham_accepted / checks.shams, checks.shams, _LEVEL)[0]
    most = wilson_limits(checks.rejected / checks.judged, checks.judged, _LEVEL)[1]
    return min(1.0, (1 - least) * most / (least * (1 - most))) if least > 0 and most < 1 else 1.0


def measured(
    items: Sequence[Observed], verifier: VerifierChecks, failed: float = 0.0, exam: ExamError | None = None
) -> Instruments:
    """What items, and the checks of the verifier, tell of the instruments.

    Where the texts decided about every answer, there are neither misses nor false alarms; else swapped pairs measure
    the sensitivity, and reworded answers the false alarms, or where there are too few, the exam does.

    Args:
        verifier: what is known of who checked the edits.
        failed: the share of accepted edits that people found not made; 0: nobody looked.
        exam: of the judge; None: it was not examined.
    """
    unchecked = not failed and verifier.checked < LEAST_CHECKED
    most = 1.0 if unchecked else failed or false_edits(verifier)
    lack, absent_seen = _lack(verifier, failed, most), rate(items, lambda item: item.sees_absent)
    compared = any(item.cited is not None or item.null is not None for item in items)
    faults_by_task = {"comparison of answers": exam.compared_faults, "CCS": exam.faults} if exam else {}
    failed_exam = ", ".join(f"{fault} ({name})" for name, faults in faults_by_task.items() for fault in faults)
    if compared and not any(item.judged for item in items):
        return Instruments(most, FULL, 0.0, lack, failed_exam, absent_seen=absent_seen)
    sensitivity, false_alarm_rate = rate(items, lambda item: item.swapped), rate(items, lambda item: item.reworded)
    compared_error = exam.compared if exam else None
    if sensitivity.n < LEAST_SWAPPED:
        sensitivity = (
            wilson(compared_error.sensitivity, _LEVEL)
            if compared_error and compared_error.sensitivity
            else NOT_MEASURED
        )
    at_most = false_alarm_rate.high
    if at_most is None and compared_error and compared_error.specificity:
        at_most = 1 - (wilson(compared_error.specificity, _LEVEL).low or 0.0)
    unfit = bool(exam and exam.compared_faults)
    alarms = 1.0 if at_most is None else at_most
    return Instruments(most, sensitivity, alarms, lack, failed_exam, unfit, absent_seen)


def _lack(verifier: VerifierChecks, failed: float, most: float) -> str:
    if most < MOST_FALSE_EDITS:
        return ""
    if failed:
        return f"people found {failed:.0%} of the accepted edits not made"
    if verifier.checked < LEAST_CHECKED:
        return "the edits were not verified"
    if not verifier.shams:
        return "the verifier was shown no sham edits, so it may accept anything"
    return (
        f"up to {most:.0%} of the accepted edits may not have been made: the verifier accepted "
        f"{verifier.sham_accepted} of {verifier.shams} sham edits"
    )
