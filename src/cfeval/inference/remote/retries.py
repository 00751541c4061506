"""When a call is attempted again, and when it is given up."""

import random
from collections import Counter
from dataclasses import replace

from cfeval.core.config import Calls
from cfeval.core.records import Status
from cfeval.inference.remote.faults import TIMEOUT, Fault, RetryPolicy

_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0
_SOON = (0.1, 0.25)
"""Seconds of a call's first waits, at most, where the server asks for fewer calls and does not say how long: most such
complaints are gone at once, and where they are not it is the pace that spares the server."""


class Patience:
    """What is left of it with one call."""

    def __init__(self, calls: Calls, dice: random.Random) -> None:
        self._calls, self._random = calls, dice
        self._tried: Counter[str] = Counter()

    def renew(self, kind: str) -> None:
        """Faults of this kind were none of the call's own."""
        self._tried[kind] = 0

    def next(self, fault: Fault, seconds_left: float) -> float | Fault:
        """Seconds to wait before a further attempt, or the fault that the call ends with.

        Args:
            fault: how the last attempt ended.
            seconds_left: until the deadline of the call.
        """
        self._tried[fault.kind] += 1
        wait = self._wait(fault)
        why = self._enough(fault, wait, seconds_left)
        if why and fault.kind == TIMEOUT:
            why += f"; where the server is only slow, raise calls.timeout ({self._calls.timeout:g} s)"
        return _given_up(fault, why) if why else wait

    def _enough(self, fault: Fault, wait: float, seconds_left: float) -> str:
        """Why there is no further attempt; empty where there is."""
        total = self._tried.total()
        if total > self._calls.max_retries or self._tried[fault.kind] >= (fault.tries or total + 1):
            return f"{total} attempts" if total > 1 else "1 attempt"
        if wait <= seconds_left:
            return ""
        deadline = f"the deadline of {self._calls.deadline:g} s (calls.deadline)"
        return f"to wait {wait:.0f} s as asked would go over {deadline}" if fault.wait else f"{deadline} is reached"

    def _wait(self, fault: Fault) -> float:
        if fault.wait is not None:
            return fault.wait
        tried = self._tried.total()
        soon = len(_SOON) if fault.throttled else 0
        longest = _SOON[tried - 1] if tried <= soon else min(_LONGEST_BACK_OFF, _BACK_OFF * 2 ** (tried - soon))
        return self._random.uniform(longest / 2, longest)


def _given_up(fault: Fault, why: str) -> Fault:
    reason = f"{fault.reason}; given up: {why}"
    return replace(fault, reaction=RetryPolicy.RECORD, reason=reason, final=fault.status != Status.TRANSPORT_ERROR)
