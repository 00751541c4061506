"""Solvers that answer by vision operations: a program that was written for the question, or an agent, call by call."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.errors import InputError, PluginError
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
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
from cfeval.cvqa.programs.limits import (
    Broken,
    Budget,
    Exhausted,
    Meter,
    ProgramFault,
    Trace,
    calls_of_program,
    clean,
    cut,
    name_calls,
)
from cfeval.cvqa.programs.turns import Workers
from cfeval.cvqa.programs.vision import Eyes, Found, View, Vision, VisionError
from cfeval.cvqa.records import Language, ProgramRun
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest, Tool, ToolCall
from cfeval.inference.prompts import fill, load_prompt, prompt_file

_BOX = {
    "type": "array",
    "items": {"type": "integer"},
    "minItems": 4,
    "maxItems": 4,
    "description": "left, top, right, bottom in pixels of the whole image; left out: the whole image",
}
_TEXT = {"type": "string"}


def _tool(name: str, description: str, required: Sequence[str], /, **properties: Any) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(required)})


# The operations of `cfeval.cvqa.programs.vision.Vision` that look at the image.
TOOLS = (
    _tool("find", "Where things of a name are: a box for each, the surest first.", ["name"], name=_TEXT, box=_BOX),
    _tool("ask", "A short answer to a simple question about the part.", ["question"], question=_TEXT, box=_BOX),
    _tool(
        "match",
        "How well each of several texts describes the part; the numbers sum to 1.",
        ["texts"],
        texts={"type": "array", "items": _TEXT},
        box=_BOX,
    ),
    _tool("depth", "How far away the part is, on a scale of its own; larger is farther.", [], box=_BOX),
    _tool(
        "inside",
        "Whether the thing found in one box lies within the outline of the thing found in another.",
        ["inner", "outer"],
        inner=_BOX,
        outer=_BOX,
    ),
)
_WRITTEN = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
# Characters of a result that the model gets.
_LONGEST = 2_000


def written_calls(text: str) -> tuple[ToolCall, ...]:
    """Calls that a model wrote into its reply as `<tool_call>{"name": …, "arguments": {…}}</tool_call>`."""
    calls = []
    for number, call in enumerate(_WRITTEN.findall(text)):
        try:
            content = json.loads(call)
        except (ValueError, RecursionError):
            content = {}
        name, arguments = content.get("name"), content.get("arguments", content.get("parameters", {}))
        if isinstance(name, str):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            calls.append(ToolCall(f"written-{number}", name, text))
    return tuple(calls)


class Toolbox:
    """The tools of one question, what they were called with, and what they gave.

    Args:
        vision: what does the operations.
        root: the whole image.
        calls: how many calls of operations there may be.
    """

    def __init__(self, vision: Vision, root: View, calls: int) -> None:
        self.meter, self.trace = Meter(Budget(calls=calls, seconds=float("inf"))), Trace()
        self.written: list[str] = []
        self._eyes, self._root = Eyes(vision, self.meter, root), root
        self._found: dict[tuple[int, ...], Found] = {}
        self._does: Mapping[str, Callable[[dict[str, Any]], Any]] = {
            "find": lambda given: self._boxes(self._eyes.find(self._view(given), given["name"])),
            "ask": lambda given: self._eyes.ask(self._view(given), given["question"]),
            "match": self._match,
            "depth": lambda given: round(self._eyes.depth(self._view(given)), 4),
            "inside": lambda given: self._eyes.inside(self._view(given, "inner"), self._view(given, "outer")),
        }

    def do(self, call: ToolCall, turn: int) -> str:
        """Do a call of a turn (from 1); the result as JSON, or a line that begins with `error: `.

        Raises:
            VisionError: a call to a model failed (its status is not `ok`).
            Exhausted: there were too many calls.
        """
        try:
            given = _arguments(call)
            self.written.append(cut(f"{call.name}({json.dumps(given, ensure_ascii=False)})"))
            result = json.dumps(self._done(call.name, given), ensure_ascii=False)
        except VisionError as error:
            if error.status != "ok":
                raise
            result = f"error: {error}"
        except Exhausted:
            raise
        except ProgramFault as fault:
            result = f"error: {fault}"
        except Broken as broken:
            raise broken.error from broken
        self.trace.add(turn, cut(call.name), cut(call.arguments), cut(result))
        return clean(result if len(result) <= _LONGEST else f"{result[:_LONGEST]}…")

    def _done(self, name: str, given: dict[str, Any]) -> Any:
        if name not in self._does:
            raise ProgramFault(f"there is no tool {name[:60]!r}; there are {', '.join(self._does)}")
        wanted = next(tool for tool in TOOLS if tool.name == name).parameters["required"]
        if missing := [key for key in wanted if key not in given]:
            raise ProgramFault(f"{name} needs {', '.join(missing)}")
        return self._does[name](given)

    def _boxes(self, places: Sequence[Found]) -> list[list[int]]:
        """The boxes of findings in whole pixels, by which they are known later."""
        whole = [tuple(map(round, place.box)) for place in places]
        self._found.update(zip(whole, places, strict=True))
        return [list(box) for box in whole]

    def _match(self, given: dict[str, Any]) -> dict[str, float]:
        texts = given["texts"]
        if not isinstance(texts, list) or not texts:
            raise ProgramFault("texts must be a list of texts")
        scores = self._eyes.match(self._view(given), texts)
        return {text: round(score, 4) for text, score in zip(texts, scores, strict=True)}

    def _view(self, given: dict[str, Any], name: str = "box") -> View:
        box = given.get(name)
        if box is None:
            return self._root
        if not (isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))):
            raise ProgramFault(f"{name} must be [left, top, right, bottom] in pixels")
        if place := self._found.get(tuple(map(round, box))):
            return replace(self._root, box=place.box, found=place)
        left, top, right, bottom = self._root.box
        cut_at = (max(left, box[0]), max(top, box[1]), min(right, box[2]), min(bottom, box[3]))
        if cut_at[0] >= cut_at[2] or cut_at[1] >= cut_at[3]:
            raise ProgramFault(f"{name} {box} holds no pixel of the image, which has {right:.0f} × {bottom:.0f}")
        return replace(self._root, box=cut_at)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**6


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        raise ProgramFault("the arguments are not JSON") from None
    if not isinstance(given, dict):
        raise ProgramFault("the arguments must be an object")
    return given


class ProgramPlugin(plugin.Plugin):
    """A program answers: a program generator writes it from the question alone, our interpreter runs it on vision
    operations.

    As ViperGPT and VisProg do (C-VQA, Section 4; Tables 3 and 6), but with our own interpreters, under budgets. A
    program that fails falls back to the question put to the whole image, as ViperGPT's does, and the reply says so.
    Where that is asked for, its generator may first repair it, once.

    Where vision operations call models outside, the programs of many questions are under way at the same time: one
    computes while others wait for a reply. Where all is on this machine, one runs after the other.
    """

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

    def __init__(self, program_generator: ProgramGenerator, vision: Vision, options: ProgramPlugin) -> None:
        self.program_generator = program_generator
        self.vision = vision
        self.options = options
        self.budget = Budget(calls=options.calls, seconds=options.seconds)
        self._workers = Workers(bool(registry.estimate_calls("vision_tools", options.vision)))

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Answer a question by a program of its own; programs run in threads beside the event loop."""
        if refusal := several_images(request):
            return refusal
        options = self.options
        wanted = ProgramRequest(
            request.item, request.question, request.type, options.language, derive_seed(request.seed, "program")
        )
        written = await self.program_generator.write(wanted)
        reply = await self._run(request, written, options.fallback and not options.repair)
        fault = _program_fault(reply) if options.repair else ""
        if not fault:
            return reply
        again = await self.program_generator.write(replace(wanted, failed=FailedProgram(written.completion, fault)))
        used = again if again.status != Status.UNPARSABLE else written
        second = await self._run(request, used, options.fallback)
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
        options = self.options
        with calls_of_program() as called:
            try:
                run = run_program(
                    options.language,
                    written.code,
                    view,
                    self.vision,
                    self.budget,
                    request.question,
                    fallback,
                    options.none_is_fault,
                )
            except VisionError as error:  # a call to a model failed: neither the program's fault nor an answer
                return replace(reply, status=error.status, reason=str(error), calls=(*written.calls, *called.keys))
        reply = replace(reply, calls=(*written.calls, *called.keys))
        if not run.result:
            return replace(reply, program=run, status=Status.UNPARSABLE, reason=run.fault or "no result")
        return replace(reply, text=run.result, program=run)


def _program_fault(reply: AnswerReply) -> str:
    """Why a program did not run, or why there is none in what its generator replied; empty where it ran."""
    if reply.program is not None:
        return reply.program.fault
    return reply.reason if reply.status == Status.UNPARSABLE else ""


# Of the template and its folder.
AGENT = "agent"
_PLACEHOLDERS = ("question", "width", "height", "turns")
_LAST_TURN = "\n\nNo more tools can be called. Reply with the answer alone."
_NO_TOOLS = "agent: the chat model takes no tools; name one of plugin openai, anthropic or google"


class AgentPlugin(plugin.Plugin):
    """An agent answers: a chat model that may call vision operations as tools, turn by turn, before it replies.

    The same operations that programs have, but chosen one after the other by what came before. Turns and calls are
    bounded; what was called, with what result and by which stored call, is recorded like the trace of a program.
    """

    model: dict[str, Any] = plugin.component("chat")
    """The chat model: its plugin and options. It must take tools: openai, anthropic and google do."""
    vision: dict[str, Any] = plugin.component("vision_tools")
    """What the tools are: its plugin and options (family `vision`)."""
    sees: bool = True
    """Whether the model is shown the image itself beside its tools."""
    turns: int = Field(8, ge=1, le=100)
    """How many of its replies may call tools."""
    calls: int = Field(100, ge=1, le=10_000)
    """Vision operations that it may call for one question."""
    prompts: str = ""
    """Folder with an own template, agent.md, which names {question} and may name {width}, {height} and {turns}; empty:
    the package's."""

    def texts_only(self) -> tuple[Component, ...]:
        """The chat model, where it is not shown the image."""
        return () if self.sees else (("chat", self.model),)

    def dependencies(self) -> tuple[str, ...]:
        """The template."""
        return (str(prompt_file(AGENT, protocol=AGENT, study="cvqa", folder=self._own)),)

    def diagnose(self) -> Iterator[Diagnostic]:
        """A model without tools, a template that cannot be filled."""
        if not registry.takes_tools(self.model):
            yield Diagnostic(False, _NO_TOOLS)
        try:
            fill(self.template(), **dict.fromkeys(_PLACEHOLDERS, ""))
        except InputError as error:
            yield Diagnostic(False, str(error))

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """Typically two turns, at most all of them, with a call of the tools' models in each but the last."""
        model = registry.estimate_calls("chat", self.model)
        looks = registry.estimate_calls("vision_tools", self.vision)
        rest = tuple(replace(call, repair=True) for call in (*model, *looks))
        return (*model, *looks, *model, *(rest * (self.turns - 1)))

    def build(self) -> Solver:
        """The solver.

        Raises:
            PluginError: the model takes no tools.
        """
        if not registry.takes_tools(self.model):
            raise PluginError(_NO_TOOLS)
        return Agent(registry.build("chat", self.model), registry.build("vision_tools", self.vision), self)

    def template(self) -> str:
        """What the model is told."""
        return load_prompt(AGENT, protocol=AGENT, study="cvqa", folder=self._own)

    @property
    def _own(self) -> Path | None:
        return Path(self.prompts) if self.prompts else None


@dataclass
class _Conversation:
    """How far the agent is with one question."""

    asked: str
    tools: Toolbox
    turns: list[ChatMessage]
    calls: dict[str, None] = field(default_factory=dict)
    turn: int = 0

    def ended(self, reply: ChatReply, text: str, fault: str = "", status: Status = Status.OK) -> AnswerReply:
        """The reply to the question, with all that was called."""
        tools = self.tools
        written = "\n".join([*tools.written, *([f"answer({text!r})"] if text else [])])
        run = ProgramRun(
            language="tools",
            code=clean(written),
            result=text,
            fault=clean(fault),
            steps=self.turn,
            calls=tools.meter.calls,
            trace=tuple(tools.trace.steps),
        )
        return AnswerReply(self.asked, text, reply.model, status, clean(fault), tuple(self.calls), run)


class Agent:
    """Asks a chat model, does what it calls for, and tells it what came of it, until it answers."""

    def __init__(self, model: ChatModel, vision: Vision, options: AgentPlugin) -> None:
        self.model, self.vision, self.options = model, vision, options
        self._template = options.template()
        self._workers = Workers(bool(registry.estimate_calls("vision_tools", options.vision)))

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Answer a question within the turns; an agent that still calls tools afterwards is `unparsable`."""
        if refusal := several_images(request):
            return refusal
        height, width = request.image.pixels.shape[:2]
        view = View(request.image, (0, 0, width, height), item=request.item, seed=derive_seed(request.seed, "vision"))
        values = {"width": str(width), "height": str(height), "turns": str(self.options.turns)}
        text = fill(self._template, question=request.question, **values)
        first = ChatMessage("user", text, request.image if self.options.sees else None)
        course = _Conversation(text, Toolbox(self.vision, view, self.options.calls), [first])
        while True:
            course.turn += 1
            seed = derive_seed(request.seed, "agent", course.turn)
            reply = await self.model.generate(ChatRequest(request.item, tuple(course.turns), seed, tools=TOOLS))
            course.calls |= dict.fromkeys(reply.calls)
            if reply.status != Status.OK:
                return course.ended(reply, "", reply.reason, reply.status)
            wanted = reply.tool_calls or written_calls(reply.text)
            if not wanted:
                answer = reply.text.strip()
                return course.ended(reply, answer, *(() if answer else ("empty reply", Status.UNPARSABLE)))
            if course.turn > self.options.turns:
                fault = f"no answer within {self.options.turns} turns of tools"
                return course.ended(reply, "", fault, Status.UNPARSABLE)
            try:
                done = await self._workers.run(partial(self._done, course, reply, wanted))
            except VisionError as error:  # a call to a model failed: neither the agent's fault nor an answer
                return replace(course.ended(reply, "", str(error), error.status), program=None)
            except Exhausted as fault:
                return course.ended(reply, "", fault.reason, Status.UNPARSABLE)
            course.turns += self._turns(course, reply, wanted, done)

    def _done(self, course: _Conversation, reply: ChatReply, wanted: tuple[ToolCall, ...]) -> list[str]:
        """What the tools give; the first step of a turn also names the call by which the model decided on it."""
        with calls_of_program() as called:
            name_calls(reply.calls)
            try:
                return [course.tools.do(call, course.turn) for call in wanted]
            finally:
                course.calls |= dict.fromkeys(called.keys)

    def _turns(
        self, course: _Conversation, reply: ChatReply, wanted: tuple[ToolCall, ...], done: list[str]
    ) -> list[ChatMessage]:
        """The model's turn and what its calls gave, in the form in which it called."""
        last = _LAST_TURN if course.turn == self.options.turns else ""
        if not reply.tool_calls:
            results = "\n".join(f"<tool_response>{result}</tool_response>" for result in done)
            return [ChatMessage("assistant", reply.text), ChatMessage("user", results + last)]
        messages = [ChatMessage("tool", result, answers=call.id) for call, result in zip(wanted, done, strict=True)]
        messages[-1] = replace(messages[-1], text=messages[-1].text + last)
        return [ChatMessage("assistant", reply.text, tool_calls=wanted, parts=reply.parts), *messages]
