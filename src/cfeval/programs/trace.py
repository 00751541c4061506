"""What a program did: each call of the offered surface with its line, arguments and result, as short text."""

from collections.abc import Sequence

from cfeval.records.programs import TraceStep

SHOWN = 160
"""Characters of the arguments, and of the result, of a call."""
KEPT = 1_000
"""Calls that are kept; a last entry says that there were more."""


class Trace:
    """The calls of one run."""

    def __init__(self) -> None:
        self._steps: list[TraceStep] = []

    def add(self, line: int, call: str, arguments: str, result: str) -> None:
        """Record a call."""
        if len(self._steps) < KEPT:
            self._steps.append(TraceStep(line=line, call=call, arguments=cut(arguments), result=cut(result)))
        elif len(self._steps) == KEPT:
            self._steps.append(TraceStep(line=line, call="…", arguments="", result="later calls are not kept"))

    @property
    def steps(self) -> Sequence[TraceStep]:
        """The calls so far, in order."""
        return self._steps


def cut(text: str) -> str:
    """A text that a record can hold and a reader take in."""
    return clean(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def clean(text: str) -> str:
    """A text without halves of surrogate pairs, which no file in UTF-8 can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
