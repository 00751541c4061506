"""The built-in model that calls tools: reads the synthetic puzzles by their grammar, and looks and counts by its tools.

It never sees the image: what it knows of it, the tools told it, in two turns: what there is, then what is in what. It
does not sample, and answers with the letter of an option where one says its number, else with the number.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.cvqa.records import LETTERS, read_choices
from cfeval.cvqa.synthetic.records import FLOWER_TYPES
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest, ToolCall
from cfeval_testbed.puzzles.programs import Asked, parse

_NAME = "cfeval-tools"
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""
Step = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


class Plugin(plugin.Plugin):
    """Without options: there is one such model."""

    takes_tools: ClassVar[bool] = True

    def build(self) -> ChatModel:
        """The model."""
        return Looker()


class Looker:
    """Calls for what it has to know, and then says how many there are."""

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Reply to a request; a question that is none of the puzzles' is `unparsable`."""
        question = request.turns[0].text.strip().rpartition("\n\n")[2]
        choices = read_choices(question)
        asked = parse(choices.stem if choices else question)
        if asked is None:
            reason = "the question is none of the puzzles' templates"
            return ChatReply(model=_NAME, status=Status.UNPARSABLE, reason=reason)
        heard = [list(_results(turn, request.turns)) for turn in request.turns if turn.tool_calls]
        steps = _first(asked) if not heard else _second(asked, heard[0]) if len(heard) == 1 else []
        if steps:
            numbered = enumerate(steps, 1)
            calls = tuple(ToolCall(f"{len(heard)}-{n}", name, json.dumps(given)) for n, (name, given) in numbered)
            return ChatReply(model=_NAME, tool_calls=calls)
        number = str(_flowers(asked, heard) if asked.type in FLOWER_TYPES else _dots(asked, heard))
        options = zip(LETTERS, choices.values, strict=True) if choices else ()
        letters = [letter for letter, value in options if value == number]
        return ChatReply(text=letters[0] if letters else number, model=_NAME)


def _results(turn: ChatMessage, turns: Sequence[ChatMessage]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The arguments of each call of a turn, and what it gave."""
    answers = {one.answers: one.text for one in turns if one.role == "tool"}
    for call in turn.tool_calls:
        yield json.loads(call.arguments), json.JSONDecoder().raw_decode(answers[call.id])[0]


def _first(asked: Asked) -> list[Step]:
    """What is there: flowers and polygons, or circles."""
    if asked.type not in FLOWER_TYPES:
        return [("find", {"name": "circle"})]
    recolored = asked.type == "abs_counting_1" and asked.changed
    names = ["flower", "polygon" if recolored else f"{asked.first} polygon"]
    names += [f"{asked.second} polygon"] if asked.second else []
    return [("find", {"name": name}) for name in names]


def _second(asked: Asked, heard: Sequence[tuple[dict[str, Any], Any]]) -> list[Step]:
    """Whether each flower is in each polygon; how many dots each circle has that counts."""
    found = [boxes for _, boxes in heard]
    if asked.type in FLOWER_TYPES:
        outlines = [box for boxes in found[1:] for box in boxes]
        return [("inside", {"inner": flower, "outer": outline}) for outline in outlines for flower in found[0]]
    return [("find", {"name": "dot", "box": circle}) for circle in _counted(asked, found[0])]


def _counted(asked: Asked, circles: Sequence[Box]) -> list[Box]:
    """The circles whose dots count; of the two rows the upper one, without the two circles farthest to the right."""
    if asked.type != "abs_counting_5":
        return list(circles)
    upper = sorted(circles, key=lambda box: box[1] + box[3])[:3]
    limit = sorted(box[0] + box[2] for box in circles)[-2] if asked.changed else None
    return [box for box in upper if limit is None or box[0] + box[2] < limit]


def _flowers(asked: Asked, heard: Sequence[Sequence[tuple[dict[str, Any], Any]]]) -> int:
    polygons = [{tuple(box) for box in boxes} for _, boxes in heard[0][1:]]
    flowers = [tuple(box) for box in heard[0][0][1]]
    within = {
        (tuple(given["inner"]), tuple(given["outer"])) for given, inside in (heard[1] if heard[1:] else []) if inside
    }
    lies = [[any((flower, outline) in within for outline in of) for of in polygons] for flower in flowers]
    if asked.type == "abs_counting_1":
        return sum(not one[0] for one in lies)
    return sum(one[0] and not any(one[1:]) for one in lies) - asked.removed


def _dots(asked: Asked, heard: Sequence[Sequence[tuple[dict[str, Any], Any]]]) -> int:
    counts = sorted(len(boxes) for _, boxes in (heard[1] if heard[1:] else []))
    if asked.type == "abs_counting_6":
        return counts[-2] if asked.changed else counts[-1]
    return sum(counts) - asked.removed
