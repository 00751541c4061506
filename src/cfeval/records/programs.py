"""Records of programs that answered a question: what was written, what ran, what came of it."""

from typing import Literal

from pydantic import Field

from cfeval.records.common import Record

Language = Literal["vipergpt", "visprog"]
"""Whose surface a program is written for (specs: ViperGPT, ICCV 2023; VisProg, CVPR 2023)."""


class TraceStep(Record):
    """One call of a program: the line it stands in (from 1), what was called, its arguments and result, as text.

    Texts are cut to a length that a reader can take in.
    """

    line: int = Field(ge=0)
    call: str
    arguments: str
    result: str


class ProgramRun(Record):
    """A program and how it ran.

    `result` is what it returned, normalised to text (ViperGPT's rules: the first of a list, or `no`; yes and no for
    booleans; lower case). Where it failed, `fault` says why in one line, and `fallback` that the answer came from the
    question put to the whole image instead, as in ViperGPT.
    """

    language: Language
    code: str
    result: str = ""
    fault: str = ""
    fallback: bool = False
    steps: int = Field(0, ge=0)
    """Interpreter steps taken."""
    calls: int = Field(0, ge=0)
    """Calls of vision operations."""
    trace: tuple[TraceStep, ...] = ()
