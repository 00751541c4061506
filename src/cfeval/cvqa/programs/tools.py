"""Vision operations as tools that a chat model calls: their descriptions, how a call is done, and what it gives back.

What a model writes into a call is data: names and arguments are checked, and a call that cannot be done is answered by
one line that says why, as a program's fault would be.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfeval.cvqa.programs.limits import Broken, Budget, Exhausted, Meter, ProgramFault, Trace, clean, cut
from cfeval.cvqa.programs.vision import Eyes, Found, View, Vision, VisionError
from cfeval.inference.chat import Tool, ToolCall

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
    return tuple(_written(text))


def _written(text: str) -> Iterator[ToolCall]:
    for number, call in enumerate(_WRITTEN.findall(text)):
        try:
            content = json.loads(call)
        except (ValueError, RecursionError):
            content = {}
        name, arguments = content.get("name"), content.get("arguments", content.get("parameters", {}))
        if isinstance(name, str):
            yield ToolCall(
                f"written-{number}", name, arguments if isinstance(arguments, str) else json.dumps(arguments)
            )


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
        """The part that a call is about."""
        box = given.get(name)
        if box is None:
            return self._root
        if not (
            isinstance(box, list)
            and len(box) == 4
            and all(
                (isinstance(edge, int | float) and not isinstance(edge, bool) and abs(edge) < 10**6) for edge in box
            )
        ):
            raise ProgramFault(f"{name} must be [left, top, right, bottom] in pixels")
        if place := self._found.get(tuple(map(round, box))):
            return replace(self._root, box=place.box, found=place)
        left, top, right, bottom = self._root.box
        cut_at = (max(left, box[0]), max(top, box[1]), min(right, box[2]), min(bottom, box[3]))
        if cut_at[0] >= cut_at[2] or cut_at[1] >= cut_at[3]:
            raise ProgramFault(f"{name} {box} holds no pixel of the image, which has {right:.0f} × {bottom:.0f}")
        return replace(self._root, box=cut_at)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        raise ProgramFault("the arguments are not JSON") from None
    if not isinstance(given, dict):
        raise ProgramFault("the arguments must be an object")
    return given
