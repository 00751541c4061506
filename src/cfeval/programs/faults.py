"""Why a program failed: one clear line that says where, what, and what is allowed."""

_LONGEST = 300
"""Characters of a reason; what a program names in it can be long."""

PYTHON_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError, MemoryError)
"""What an operation on a program's own values can raise; `RecursionError` is a `RuntimeError`."""


class ProgramFault(Exception):  # noqa: N818 - a program's fault, no error of cfeval
    """A program that cannot be read, asks for what is not allowed, or fails as it runs.

    `line` is the program's line, from 1 (0: none known yet); `kind` names Python's exception where there is one, so
    that `except ValueError` of a program works.
    """

    def __init__(self, reason: str, line: int = 0, kind: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.kind = kind

    def __str__(self) -> str:
        """The reason as one line, with the line number."""
        where = f"line {self.line}: " if self.line else ""
        text = where + " ".join(self.reason.split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class Exhausted(ProgramFault):
    """A budget is used up. No `except` of a program catches it."""


class Broken(BaseException):
    """An implementation of `Vision` raised what is no `VisionError`: a defect, carried past the program's faults."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def from_python(error: Exception, line: int) -> ProgramFault:
    """The fault for an exception that Python raised over the program's values."""
    kind = type(error).__name__
    if isinstance(error, RecursionError):
        return Exhausted("functions, generators or values are nested too deeply", line, kind)
    if isinstance(error, MemoryError):
        return Exhausted("out of memory", line, kind)
    if isinstance(error, KeyError):
        return ProgramFault(f"there is no key {error}", line, kind)
    return ProgramFault(f"{kind}: {error}", line, kind)
