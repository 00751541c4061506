"""How a program ended, before its result is made into an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from cfeval.programs.budget import Meter
from cfeval.programs.trace import Trace
from cfeval.records.programs import TraceStep


@dataclass(frozen=True)
class Outcome:
    """The answer's text, or why there is none; what was used and called either way."""

    result: str
    fault: str
    steps: int
    calls: int
    trace: Sequence[TraceStep]


def outcome(result: str, fault: str, meter: Meter, trace: Trace) -> Outcome:
    """With what was used and called."""
    return Outcome(result, fault, meter.steps, meter.calls, tuple(trace.steps))
