"""A program answers: a program generator writes it from the question alone, our interpreter runs it on vision
operations.

As ViperGPT and VisProg do (C-VQA, Section 4; Tables 3 and 6), but with our own interpreters, under budgets. A program
that fails falls back to the question put to the whole image, as ViperGPT's does, and the reply says so. Where that is
asked for, its generator may first repair it, once.

Where vision operations call models outside, the programs of many questions are under way at the same time: one computes
while others wait for a reply. Where all is on this machine, one runs after the other.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.records import Status
from cfeval.core.registry import Component
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import (
    AnswerReply,
    AnswerRequest,
    FailedProgram,
    ProgramGenerator,
    ProgramReply,
    ProgramRequest,
    Solver,
    several_images,
)
from cfeval.cvqa.programs.called import calls_of_program
from cfeval.cvqa.programs.limits import Budget
from cfeval.cvqa.programs.turns import Workers
from cfeval.cvqa.programs.vision import View, Vision, VisionError
from cfeval.cvqa.records import Language


class Plugin(plugin.Plugin):
    """Who writes, in which language, and what the programs run on."""

    program_generator: dict[str, Any] = plugin.component("program_generators")
    """Who writes the programs: its plugin and options (family `program_generators`)."""
    vision: dict[str, Any] = plugin.component("vision_tools")
    """What their operations are: its plugin and options (family `vision`)."""
    language: Language = "vipergpt"
    """Whose surface the programs are written for."""
    fallback: bool = True
    """Whether a program that fails is replaced by the question put to the whole image."""
    repair: bool = False
    """Whether the generator of a program that fails is told why, and may write it anew, once."""
    none_is_fault: bool = False
    """Whether a program that returns nothing has failed; otherwise it answers `no`, as ViperGPT's does."""
    calls: int = Field(1_000, ge=1, le=10_000)
    """Vision operations that one program may call; `inside` of every flower and polygon counts."""
    seconds: float = Field(10, gt=0)
    """How long one program may compute; waiting for a vision operation is not its time."""

    def texts_only(self) -> tuple[Component, ...]:
        """Who writes the programs: from the question alone."""
        return (("program_generators", self.program_generator),)

    def build(self) -> Solver:
        """The solver."""
        return Program(
            registry.build("program_generators", self.program_generator),
            registry.build("vision_tools", self.vision),
            self,
        )


class Program:
    """Has programs written, and runs them."""

    def __init__(self, program_generator: ProgramGenerator, vision: Vision, options: Plugin) -> None:
        self.program_generator = program_generator
        self.vision = vision
        self.options = options
        self.budget = Budget(calls=options.calls, seconds=options.seconds)
        self._workers = Workers(bool(registry.estimate_calls("vision_tools", options.vision)))

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Answer a question by a program of its own; programs run in threads beside the event loop."""
        if refusal := several_images(request):
            return refusal
        how = self.options
        wanted = ProgramRequest(
            request.item, request.question, request.type, how.language, derive_seed(request.seed, "program")
        )
        written = await self.program_generator.write(wanted)
        reply = await self._run(request, written, how.fallback and not how.repair)
        fault = _fault(reply) if how.repair else ""
        if not fault:
            return reply
        again = await self.program_generator.write(replace(wanted, failed=FailedProgram(written.completion, fault)))
        used = again if again.status != Status.UNPARSABLE else written
        second = await self._run(request, used, how.fallback)
        run = second.program and second.program.model_copy(update={"first_fault": fault})
        calls = tuple(dict.fromkeys((*reply.calls, *again.calls, *second.calls)))
        return replace(second, program=run, calls=calls)

    async def _run(self, request: AnswerRequest, written: ProgramReply, fallback: bool) -> AnswerReply:
        return await self._workers.run(partial(self._answered, request, written, fallback))

    def _answered(self, request: AnswerRequest, written: ProgramReply, fallback: bool) -> AnswerReply:
        from cfeval.cvqa.programs.run import run_program  # the interpreters, which a look at parameters does not need

        reply = AnswerReply(request.question, model=written.model, calls=written.calls)
        if written.status != Status.OK:
            return replace(reply, status=written.status, reason=written.reason)
        height, width = request.image.pixels.shape[:2]
        view = View(request.image, (0, 0, width, height), item=request.item, seed=derive_seed(request.seed, "vision"))
        how = self.options
        with calls_of_program() as called:
            try:
                run = run_program(
                    how.language,
                    written.code,
                    view,
                    self.vision,
                    self.budget,
                    request.question,
                    fallback,
                    how.none_is_fault,
                )
            except VisionError as error:  # a call to a model failed: neither the program's fault nor an answer
                return replace(reply, status=error.status, reason=str(error), calls=(*written.calls, *called.keys))
        reply = replace(reply, calls=(*written.calls, *called.keys))
        if not run.result:
            return replace(reply, program=run, status=Status.UNPARSABLE, reason=run.fault or "no result")
        return replace(reply, text=run.result, program=run)


def _fault(reply: AnswerReply) -> str:
    """Why a program did not run, or why there is none in what its generator replied; empty where it ran."""
    if reply.program is not None:
        return reply.program.fault
    return reply.reason if reply.status == Status.UNPARSABLE else ""
