"""Reads what a chat model was asked to write: JSON, whole or in a fenced block, or lines that start with a label.

Nothing is evaluated and nothing is guessed: what is not there in the form that was asked for is not read. The time is
linear in the length of the text, whatever the text.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

M = TypeVar("M", bound=BaseModel)
StrictBinary = Literal[0, 1]
# A text that is not empty.
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TEXT = {"type": "string"}
# JSON schemas.
BINARY = {"type": "integer", "minimum": 0, "maximum": 1}  # Gemini refuses a list of integers (enum)


class Concept(BaseModel):
    """What an instruction changes; the instruction's parts come with each protocol."""

    model_config = ConfigDict(frozen=True)

    concept: Text


E = TypeVar("E", bound=Concept)


class Edits(BaseModel, Generic[E]):
    """Several instructions."""

    model_config = ConfigDict(frozen=True)

    edits: tuple[E, ...]


_BULLET = r"(?:(?:[-*•]|[0-9]{1,2}[.)]|#{1,6})[ \t]+)?"
# Markdown's bold, italics and code around a label or value.
_MARKS = r"[*_`]{0,3}"
# ASCII: no other script's digits or letters that count as equal.
_FLAGS = re.ASCII | re.IGNORECASE


def object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def json_objects(text: str, kind: type[M]) -> Iterator[tuple[int, int, M]]:
    """Every JSON object of a kind that is the whole text, the whole of a fenced block, or the end of a paragraph.

    Letter case does not matter in keys. An object that gives one key several values is none.

    Yields:
        The numbers of the lines it begins and ends on, from 0, and the object.
    """
    for start, end, content in raw_objects(text):
        try:
            yield start, end, kind.model_validate_json(json.dumps(content))
        except (ValueError, RecursionError):
            continue


def raw_objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """As `json_objects`, of whatever kind, with keys in lower case."""
    for start, end, block in _json_blocks(text):
        try:
            yield start, end, json.loads(block, object_pairs_hook=_one_value_a_key)
        except (ValueError, RecursionError):
            continue


def _json_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """What may be a JSON object, with the numbers of its first and last line; a fence belongs to its block."""
    lines = text.split("\n")
    if text.lstrip().startswith("{"):
        yield 0, len(lines) - 1, text
    opened: int | None = None
    begun: int | None = None
    for number, line in enumerate([*lines, ""]):
        bare = line.strip()
        if begun is not None and (not bare or bare.startswith("```")):
            block = "\n".join(lines[begun:number])
            if block.rstrip().endswith("}"):
                yield begun, number - 1, block
            begun = None
        elif begun is None and bare.startswith("{"):
            begun = number
        if opened is None and bare.lower() in ("```", "```json"):
            opened = number
        elif opened is not None and bare == "```":
            yield opened, number, "\n".join(lines[opened + 1 : number])
            opened = None


def _one_value_a_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with its keys in lower case; ValueError where one has several values."""
    whole: dict[str, Any] = {}
    for key, value in pairs:
        if whole.setdefault(key.lower(), value) != value:
            raise ValueError(f"'{key}' has several values")
    return whole


L = TypeVar("L", bound=Edits[Any])


def read_edits(text: str, kind: type[L], edit_kind: type[Concept], most: int) -> L | None:
    """The instructions of a writer's reply, or None.

    None where there are none, where there are too many, where two name the same concept, or where several lists differ.

    Args:
        text: the reply: JSON, or a group of lines for each instruction.
        kind: the list.
        edit_kind: what stands in it.
        most: how many there may be.
    """
    lists = {edits for *_, edits in json_objects(text, kind)} | {kind(edits=tuple(text_groups(text, edit_kind)))}
    written = [edits for edits in lists if edits.edits]
    if len(written) != 1 or len(written[0].edits) > most:
        return None
    distinct = {edit.concept.casefold() for edit in written[0].edits}
    return written[0] if len(distinct) == len(written[0].edits) else None


def text_groups(text: str, kind: type[M], labels: Sequence[str] = ()) -> list[M]:
    """Every complete group of lines `FIELD: TEXT`, one for each field of `kind` in order.

    A text may go on over several lines; it ends at the next label, at a blank line, or at a fence or rule.

    Args:
        text: a writer's reply.
        kind: a model whose fields are texts.
        labels: lower-case labels besides the fields; one of them between two fields breaks a group.
    """
    fields = list(kind.model_fields)
    groups: list[M] = []
    run: dict[str, str] = {}
    for label, value in _labelled(text, [*fields, *labels]):
        if label != fields[len(run)] or not value:
            run = {}
        if label == fields[len(run)] and value:
            run[label] = value
        if len(run) == len(fields):
            with contextlib.suppress(ValidationError):  # half a character (a lone surrogate) makes no record
                groups.append(kind.model_validate(run))
            run = {}
    return groups


def _labelled(text: str, labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    pattern = re.compile(rf"{_BULLET}{_MARKS}({'|'.join(labels)})(?:[ \t](?:prompt|part))?{_MARKS}[ \t]*:(.*)", _FLAGS)
    label, pieces = "", list[str]()
    for line in [*text.split("\n"), ""]:
        match = pattern.fullmatch(line.strip())
        piece = " ".join((match[2] if match else line).split())
        blank = not piece.strip("-=*_` ")
        if label and (match or (blank and pieces)):
            yield label, _bare(" ".join(pieces))
            label = ""
        if match:
            label, pieces = match[1].lower(), []
        if label and not blank:
            pieces.append(piece)
    if label:
        yield label, ""


def _bare(text: str) -> str:
    """A text without the Markdown or the quotation marks around the whole of it."""
    text = text.strip("*_` ")
    inner = text[1:-1]
    quoted = len(text) > 1 and text[0] in '"“' and text[-1] in '"”' and not set(inner) & set('"“”')
    return inner.strip() if quoted else text
