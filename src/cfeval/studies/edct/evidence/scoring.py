"""Does a score follow from verdict, check and answers? Everything is computed anew (EDCT 2025, Section 3)."""

from collections.abc import Iterator
from typing import Any

from cfeval.metrics.accuracy import answer_matches
from cfeval.metrics.vqa_accuracy import okvqa_accuracy, vqa_accuracy
from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.common import Status
from cfeval.records.edct import Baseline, Check, Instruction, Sample, Score, Verdict
from cfeval.records.outcomes import carried, failed

GROUP_DIGITS = 8
"""So many digits of an image's hash a group has at least."""
ROUNDING = 5e-5
"""By how much a figure of four decimals may differ from the one it is rounded from."""
_MEASURED = ("pcs", "ncc", "ac", "ef", "ccs", "ccs_graded", "answer_moved", "explanation_moved", "mismatch")


def score_faults(
    row: Score, protocol: str, sample: Sample, said: Baseline, told: Instruction, check: Check, verdict: Verdict
) -> Iterator[str]:
    """What is wrong with each part of a score row, empty where nothing is; the rest is what the row rests on."""
    found = check.found
    expected = {
        **carried(verdict),
        **dict.fromkeys(_MEASURED),
        **_from_verdict(verdict, protocol),
        "evidence": told.evidence,
        "correct": _correct(sample, said),
        "verified": found.verified if found else None,
        "changed_share": check.changed_share,
    }
    for name, value in expected.items():
        yield "" if _same(getattr(row, name), value) else f"{name} is {_shown(getattr(row, name))}, not {_shown(value)}"
    of_image = len(row.group) >= GROUP_DIGITS and sample.image.sha256.startswith(row.group)
    yield "" if of_image else "its group is not the image's"


def _from_verdict(verdict: Verdict, protocol: str) -> dict[str, Any]:
    """The scores that follow from a verdict; a control has no product."""
    if failed(verdict):
        return {}
    product = None if protocol in CONTROLS else int(all(verdict.scores.get(name) for name in RULES[protocol].scores))
    stated = verdict.stated_ccs if product is not None else None
    return {
        **{name: verdict.scores.get(name) for name in RULES[protocol].scores},
        "ccs": product,
        "ccs_graded": None if verdict.grade is None else (verdict.grade - 1) / 4,
        "mismatch": None if stated is None else int(stated != product),
    }


def _correct(sample: Sample, said: Baseline) -> float | None:
    """The accuracy of the answer about the original, in [0, 1]; None where no right one is known or none came."""
    if said.status != Status.OK:
        return None
    if sample.scoring == "contains":
        return float(answer_matches(said.answer, sample.reference)) if sample.reference else None
    accuracy = {"vqa": vqa_accuracy, "okvqa": okvqa_accuracy}[sample.scoring]
    return accuracy(said.answer, sample.answers) if sample.answers else None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return abs(one - other) <= ROUNDING
    return bool(one == other)


def _shown(value: Any) -> str:
    return "empty" if value in (None, "") else f"{str(value)[:60]!r}"
