"""Whether an exam is passed: a rule on sensitivity and specificity, and the sentence that says so.

A judge is fit for use where all of this holds, of CCS and of its comparison of answers:

1. at least 90 % of its replies have a score,
2. sensitivity: the lower limit of the 95 % interval is at least .5; the trust card divides by it,
3. specificity: at least .9, and the lower limit at least .75, so that few cases do not suffice.

What is said of one that fails: it says the same whatever it is shown (a 1 on at least 80 % of the cases that deserve
one and of those that do not, likewise a 0, and the lower limit of these errors is at least half); it cannot follow the
form; it errs both ways and is not shown to be better than chance (the interval of sensitivity + specificity − 1 reaches
0); it misses changes; it sees changes that are not there; or it made no such error on too few cases.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cfeval.stats.misclassification import JudgeError, youden
from cfeval.stats.proportions import Share, wilson_limits

LEVEL = 0.95
LEAST_SCORED = 0.9
LEAST_SENSITIVITY = 0.5
LEAST_SPECIFICITY, LEAST_SPECIFICITY_LOW = 0.9, 0.75
CONSTANT = 0.8
FIT, FEW = "fit for use", "too few cases to tell"


@dataclass(frozen=True)
class Task:
    """What came of one task of an exam, over all its cases."""

    n: int
    n_scored: int
    missing: str
    """Why cases have no score, and how many."""
    sensitivity: Share | None
    specificity: Share | None


@dataclass(frozen=True)
class Wording:
    """What the two errors and the two constant answers are called."""

    unscored: str = "cannot follow the form"
    one: str = "says 1 whatever it is shown"
    zero: str = "says 0 whatever it is shown"
    missed: str = "misses changes"
    false_alarm: str = "sees changes that are not there"


JUDGE = Wording()
VERIFIER = Wording(
    unscored="cannot tell",
    one="accepts whatever it is shown",
    zero="rejects whatever it is shown",
    missed="rejects right edits",
    false_alarm="accepts edits that are wrong or were not made",
)


@dataclass(frozen=True)
class ExamError(JudgeError):
    """What an exam says of a judge: the error of its CCS, and that of its comparison of answers."""

    compared: JudgeError | None = None
    faults: tuple[str, ...] = ()
    """In words, why it did not pass in CCS; empty where it did."""
    compared_faults: tuple[str, ...] = ()
    """The same of the comparison."""


@dataclass(frozen=True)
class Verdict:
    """Whether an exam was passed, and in words why."""

    passed: bool
    sentence: str


def verdict(tasks: Mapping[str, Task], wording: Wording = JUDGE) -> Verdict:
    """Whether an exam was passed in all its tasks.

    Args:
        tasks: by name; an empty name is not said.
        wording: what errors are called.
    """
    faults: dict[str, list[str]] = {}
    for name, task in tasks.items():
        for fault in task_faults(task, wording):
            faults.setdefault(fault, []).append(name)
    if not faults:
        return Verdict(True, f"pass: {FIT}. {'; '.join(_figures(tasks))}")
    parts = [
        fault if len(names) == len(tasks) else f"{' and '.join(names)}: {fault}" for fault, names in faults.items()
    ]
    return Verdict(False, f"fail: {'; '.join(parts)}: do not use. {'; '.join(_figures(tasks))}")


def task_faults(task: Task, wording: Wording = JUDGE) -> list[str]:
    """What is wrong with a task; where many replies have no score, of the others only that they are all the same."""
    sensitivity, specificity = task.sensitivity, task.specificity
    same = _constant(sensitivity, specificity, wording) if sensitivity and specificity else ""
    if task.n_scored < LEAST_SCORED * task.n or not task.n_scored:
        return [*([same] if same else []), wording.unscored]
    if same:
        return [same]
    if sensitivity is None or specificity is None:
        return [FEW]
    missed = _low(sensitivity) < LEAST_SENSITIVITY
    alarms = specificity.value < LEAST_SPECIFICITY or _low(specificity) < LEAST_SPECIFICITY_LOW
    errors = [wording.missed] if missed and sensitivity.value < 1 else []
    errors += [wording.false_alarm] if alarms and specificity.value < 1 else []
    if len(errors) == 2 and (youden(sensitivity, specificity, LEVEL).low or 0) <= 0:
        return ["is not shown to be better than chance"]
    return errors or ([FEW] if missed or alarms else [])


def _constant(sensitivity: Share, specificity: Share, wording: Wording) -> str:
    """The constant answer, where also the lower limit of the errors on one side is at least half."""
    false_alarms, misses = (replace(share, value=1 - share.value) for share in (specificity, sensitivity))
    if min(sensitivity.value, false_alarms.value) >= CONSTANT and _low(false_alarms) >= 0.5:
        return wording.one
    if min(specificity.value, misses.value) >= CONSTANT and _low(misses) >= 0.5:
        return wording.zero
    return ""


def _low(share: Share) -> float:
    return wilson_limits(share.value, share.size, LEVEL)[0]


def _figures(tasks: Mapping[str, Task]) -> Iterable[str]:
    for name, task in tasks.items():
        unscored = f"{task.n_scored} of {task.n} replies have a score"
        parts = [f"{unscored} ({task.missing})" if task.missing else unscored] if task.n_scored < task.n else []
        for label, share in (("sensitivity", task.sensitivity), ("specificity", task.specificity)):
            if share is not None:
                low, high = wilson_limits(share.value, share.size, LEVEL)
                parts.append(f"{label} {share.value:.2f} [{low:.2f}, {high:.2f}]")
        text = ", ".join(parts)
        yield f"{name}: {text}" if name else f"{text[:1].upper()}{text[1:]}"
