"""Who answers: text as a function of the request, so that a whole study gives the same tables each time.

A persona is a function of a conversation. The server picks it by the model's name: `vlm`, `org/vlm-7b` and `vlm:free`
are all the persona `vlm`; a name that holds none of the known words is `echo`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.loopback.conversation import Conversation
from tests.loopback.image_files import digest

Persona = Callable[[Conversation], str]

COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
THINGS = ("car", "bench", "umbrella", "kite", "sign", "bottle", "dog", "train")
SCORES = (("PCS", "NCC"), ("AC", "EF"), ("ANSWER_MOVED", "EXPLANATION_MOVED", "ANSWER_EVADES"))
"""Of the protocols; which of them are asked for stands in the prompt."""
PARTS = {
    "Constraints:": ("concept", "keep", "change", "how", "constraints"),
    "Evidence:": ("concept", "evidence", "positive", "negative"),
}
"""Of an instruction, by a label that only the prompts of a protocol have."""
CITED = re.compile(rf"\bthe ({'|'.join(COLOURS)}) colour of the ({'|'.join(THINGS)})\b")
"""How the persona `vlm` names its concept."""


@dataclass(frozen=True)
class Edit:
    """What the persona `writer` wants changed."""

    colour: str
    thing: str
    other: str
    """The colour it is to become."""

    @property
    def concept(self) -> str:
        """The cited concept."""
        return f"{self.colour} colour of the {self.thing}"

    @property
    def positive(self) -> str:
        """What to change, and what to keep."""
        return f"Make the {self.thing} {self.other}. Keep everything else exactly as it is."

    @property
    def negative(self) -> str:
        """What must not remain."""
        return f"{self.colour} {self.thing}"

    def values(self) -> dict[str, str]:
        """Its parts under the names that a JSON schema may ask for."""
        return {
            "concept": self.concept,
            "evidence": "object",
            "positive": self.positive,
            "negative": self.negative,
            "instruction": self.positive,
            "keep": "Everything else in the image.",
            "change": self.concept,
            "how": f"Recolour it {self.other}.",
            "constraints": f"No {self.negative} remains.",
        }


def as_lines(edits: Sequence[Edit], asked: str) -> str:
    """Edits as anchored text, with the parts that the prompt asks for."""
    parts = next((parts for label, parts in PARTS.items() if label in asked), ("concept", "positive", "negative"))
    return "\n\n".join("\n".join(f"{part.upper()}: {edit.values()[part]}" for part in parts) for edit in edits)


def echo(conversation: Conversation) -> str:
    """Text from a hash of the body; under a schema, values from it, and scores that do not contradict each other."""
    if conversation.schema is not None:
        return filled(conversation.schema, _verdict(conversation.text), conversation.digest)
    return f"Reply {conversation.digest[:24]}."


def vlm(conversation: Conversation) -> str:
    """The first turn answers from a hash of the image, any later one explains and names the concept it saw."""
    colour, thing = _seen(conversation)
    if conversation.replies == 0:
        return f"{colour} {thing}"
    return (
        f"I looked at the whole image first. The answer follows from one feature: the {colour} colour of the {thing}. "
        f"It stands out against what surrounds it. The {thing} is the only one of its kind in view. "
        "Nothing else in the image bears on the question."
    )


def writer(write: Callable[[Sequence[Edit], str], str] = as_lines) -> Persona:
    """A persona that reads the concept out of the explanation and writes the edit; `write` gives it its format.

    A conversation without a concept it knows gets one by the hash of its text. A second edit is written where the
    prompt asks for up to two or more.
    """

    def persona(conversation: Conversation) -> str:
        edits = _edits(conversation.text)
        if conversation.schema is not None:
            values = edits[0].values() | {"edits": [edit.values() for edit in edits]}
            return filled(conversation.schema, values, conversation.text)
        return write(edits, conversation.text)

    return persona


def judge(conversation: Conversation) -> str:
    """The scores that the prompt names, from a hash of the texts, with their product CCS or, for a control, without it.

    A prompt that names a grade gets one.
    """
    said = _verdict(conversation.text)
    if conversation.schema is not None:
        return filled(conversation.schema, said, conversation.text)
    reason = "The new answer and explanation were compared with the old ones."
    return "\n".join((reason, *(f"{name}: {digit}" for name, digit in said.items())))


def _verdict(asked: str) -> dict[str, int]:
    chosen = digest(asked)
    if "Grade: the digit" in asked:
        return {"Grade": 1 + chosen[0] % 5}
    names = next((pair for pair in SCORES if f"{pair[0]}:" in asked), SCORES[0])
    bits = {name: int(chosen[n] % 4 != 0) for n, name in enumerate(names)}  # three in four are 1
    return bits if names == SCORES[-1] else bits | {"CCS": int(all(bits.values()))}


PERSONAS: dict[str, Persona] = {"echo": echo, "vlm": vlm, "writer": writer(), "judge": judge}


def persona_of(model: str, personas: Mapping[str, Persona]) -> Persona:
    """The persona whose name is a word of the model's name, else `echo`."""
    words = re.split(r"[^a-z0-9]+", model.lower())
    return next((personas[word] for word in words if word in personas), personas.get("echo", echo))


def filled(schema: Mapping[str, Any], values: Mapping[str, Any], seed: str) -> str:
    """A JSON text that follows a schema: known values under their names in any case, the rest from a hash."""
    known = {name.lower(): value for name, value in values.items()}
    return json.dumps(_fill(schema, schema, known, seed, ""), ensure_ascii=False)


def _fill(schema: Mapping[str, Any], root: Mapping[str, Any], known: Mapping[str, Any], seed: str, name: str) -> Any:
    """One value. It follows references, objects, arrays, enumerations and bounds: what models' schemas are made of."""
    number = int.from_bytes(digest(seed, name)[:4], "big")
    match schema:
        case {"$ref": str(reference)}:
            return _fill(_resolved(root, reference), root, known, seed, name)
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first]}:
            return _fill(first, root, known, seed, name)
        case {"const": value}:
            return value
        case {"properties": dict(properties)}:
            return {key: _fill(part, root, known, seed, key) for key, part in properties.items()}
        case {"type": "array", "items": items} if isinstance(several := known.get(name.lower()), list):
            kept = several[: schema.get("maxItems", len(several))]
            return [_fill(items, root, {**known, **one}, seed, name) for one in kept]
        case {"type": "array", "items": items}:
            return [_fill(items, root, known, seed, name) for _ in range(max(1, schema.get("minItems", 1)))]
    if (value := known.get(name.lower())) is not None and _allows(schema, value):
        return value
    match schema:
        case {"enum": list(options)}:
            return options[number % len(options)]
        case {"type": "integer" | "number"}:
            low = schema.get("minimum", 0)
            return low + number % (schema.get("maximum", low + 1) - low + 1)
        case {"type": "boolean"}:
            return bool(number % 2)
    return f"{name or 'text'} {number:08x}"


def _resolved(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    resolved: Mapping[str, Any] = found
    return resolved


def _allows(schema: Mapping[str, Any], value: Any) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    kind = kinds.get(schema.get("type", ""), object)
    return isinstance(value, kind) and value in schema.get("enum", [value])


def _seen(conversation: Conversation) -> tuple[str, str]:
    chosen = digest(*conversation.images[-1:])
    return COLOURS[chosen[0] % len(COLOURS)], THINGS[chosen[1] % len(THINGS)]


def _edits(text: str) -> list[Edit]:
    wanted = re.findall(r"for (?:up to|every such thing, up to) (\d)", text)
    first, second = _edit(text), _edit(digest(text).hex())
    return [first, second] if wanted and int(wanted[0]) > 1 and second.concept != first.concept else [first]


def _edit(text: str) -> Edit:
    chosen = digest(text)
    cited = CITED.findall(text)
    colour, thing = cited[-1] if cited else (COLOURS[chosen[0] % len(COLOURS)], THINGS[chosen[1] % len(THINGS)])
    others = [other for other in COLOURS if other != colour]
    return Edit(colour, thing, others[chosen[2] % len(others)])
