"""Where a reply sets its answer apart: in answer tags, a box, JSON or a tool call, on a line.

The forms are those that models of 2024 to 2026 are trained on or asked for: `<think>` and its kin, `<answer>`, GLM's
box, `\boxed{}`, `{"answer": …}`, a call of a tool that takes the answer. All of it takes time that grows with the
length of the reply alone.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_TAG = re.compile(
    r"<(?P<tag>answer|final_answer|final-answer|finalanswer|conclusion|choice|option|response|result|output)\s*>"
    r"(?P<in>[^<]*)</(?P=tag)\s*>"
    r"|<\|begin_of_box\|>(?P<box>[^<]*)<\|end_of_box\|>|<\|begin_of_solution\|>(?P<solution>[^<]*)<\|end_of_solution\|>",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_TEX = re.compile(r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}|\\[ ,;!]|~")
_KEYS = re.compile(
    r"(?:final|correct|my|the|your)?[ _-]?(?:answer|choice|option|letter|prediction|selection|selected[ _]option)",
    re.IGNORECASE,
)
# Keys of an answer in JSON, and names of tools that take one.
_TOOL = re.compile(r"\w*(?:answer|submit|final|select|respond|finish|choose|choice)\w*", re.IGNORECASE)
_CALLED = re.compile(
    rf"^\W*{_TOOL.pattern}\(\s*(?:\w+\s*=\s*)?[\"']?([^()\"'\n]{{1,80}})[\"']?\s*\)\W*$", re.IGNORECASE | re.MULTILINE
)
_NAMED_CALL = re.compile(
    r"<(?:tool_call>\s*|function=|invoke name=\")(?P<name>\w+)(?P<arguments>[^\n]*(?:\n[^\n]*){0,12})", re.IGNORECASE
)
_ARGUMENT = re.compile(r"<(?:parameter[^>]*|arg_value)>\s*([^<]*?)\s*</", re.IGNORECASE)
_TOOL_CALL = re.compile(
    r"<tool_call>.*?(?:</tool_call>|\Z)|<function=.*?(?:</function>|\Z)|<invoke .*?(?:</invoke>|\Z)"
    r"|(?:\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call[^|]*\|>).*|^\s*\{\s*\"name\"\s*:[^{}]*\{[^{}]*\}\s*\}\s*$",
    re.DOTALL,
)
# JSON objects that are looked at.
_MOST = 20


def without_calls(text: str) -> str:
    """A text without the calls of tools in it, which are no answer where the tool takes none."""
    return _TOOL_CALL.sub(" ", text)


def set_apart_answer(reply: str) -> str:
    """The one answer that a reply sets apart, or the whole reply."""
    apart = set(answers(reply))
    return apart.pop() if len(apart) == 1 else reply


def answers(text: str) -> tuple[str, ...]:
    """What a text sets apart as its answer; empty where it does not do so.

    Of several forms the most deliberate one counts: tags, then JSON and tool calls, then boxes.
    """
    tags = [
        next(part for part in match.group("in", "box", "solution") if part is not None) for match in _TAG.finditer(text)
    ]
    return (
        tuple(_untexed(tag).strip() for tag in tags)
        or tuple(_plain(value) for content in _objects(text) for value in _answers_of(content))
        or _in_calls(text)
        or tuple(_untexed(match).strip() for match in _BOX.findall(text))
    )


def _untexed(text: str) -> str:
    """Without the markup of TeX: `\\boxed{\\text{B}}` is `B`."""
    inner = _BOX.sub(r"\1", text)
    return _TEX.sub(lambda match: match.group(1) or " ", inner).replace("$", "")


def _in_calls(text: str) -> tuple[str, ...]:
    """The arguments of tools that take an answer, not written as JSON."""
    tagged = [
        value
        for call in _NAMED_CALL.finditer(text)
        if _TOOL.fullmatch(call.group("name"))
        for value in _ARGUMENT.findall(call.group("arguments"))
    ]
    return tuple(tagged or _CALLED.findall(text))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, the first ones of many."""
    decoder, place = json.JSONDecoder(), 0
    for _ in range(_MOST):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            content, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(content, dict):
            yield content


def _answers_of(content: dict[str, Any]) -> list[Any]:
    """The answer that an object holds: under its key, or as an argument of a tool that takes it."""
    arguments = content.get("arguments", content.get("parameters"))
    if isinstance(arguments, dict):
        values = list(arguments.values())
        return values if _TOOL.fullmatch(str(content.get("name", ""))) and len(values) == 1 else _answers_of(arguments)
    return [
        value for key, value in content.items() if _KEYS.fullmatch(key.strip()) and not isinstance(value, dict | list)
    ]


def _plain(value: Any) -> str:
    """A JSON value as a person would say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


_LIST = re.compile(r"\W*(?:[-*•]|\d+[.)]|step\b)\s", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|however|but|sorry|correction|oops|hmm|no longer sure|on second thought|alternatively|or)\b",
    re.I,
)


def lone_line(text: str, bare: re.Pattern[str]) -> str | None:
    """The last line of several that is a bare value, or the first one where no text after it takes it back.

    None where bare values follow each other: that is a list, and no answer.

    Args:
        text: a reply without markup.
        bare: what a bare value is, matched against a whole line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    plain = [bare.fullmatch(line) is not None for line in lines]
    if (
        plain[-1]
        and not plain[-2]
        and not _LIST.match(lines[-2])
        and re.search(r"\b(?:or|maybe|perhaps|possibly|and|not)\W*$", lines[-2], re.IGNORECASE)
        is None  # the line is not over
    ):
        return lines[-1] if sum(plain) == 1 or not plain[0] else None
    if plain[0] and not any(plain[1:]) and not _TAKEN_BACK.search(" ".join(lines[1:])):
        return lines[0]
    return None
