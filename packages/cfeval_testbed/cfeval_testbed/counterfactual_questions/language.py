"""The words of counterfactual questions about scenes: written from templates, read back exactly.

A template holds literal words and placeholders; one table serves both ways. Reading ignores case and punctuation and is
strict otherwise: what no template can have written means nothing.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cfeval_testbed.counterfactual_questions.meaning import (
    HALVES,
    Add,
    Change,
    Join,
    Keep,
    Kind,
    Meaning,
    Multiply,
    Remove,
    Supposition,
    Take,
)
from cfeval_testbed.language.explanations import article
from cfeval_testbed.language.questions import QUESTION_TEMPLATES
from cfeval_testbed.records import COLORS, POSITIONS, SHAPES, SIZES

IF_FIRST = 1 / 8
"""Share of questions that begin with the condition."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

ORIGINAL: dict[str, tuple[str, ...]] = {
    "count": tuple(text.replace("objects", "{asked_plural}") for text in QUESTION_TEMPLATES["count"]),
    "presence": tuple(text.replace("{a_thing}", "{an_asked}") for text in QUESTION_TEMPLATES["presence"]),
}
"""The questions that the world's own model is asked; counts of a kind of objects are worded alike."""
SUPPOSING: dict[str, tuple[str, ...]] = {
    "count": (
        "How many {asked_plural} would there be",
        "How many {asked_plural} would the picture show",
        "What would the number of {asked_plural} be",
    ),
    "presence": (
        "Would there be {an_asked}",
        "Would the picture show {an_asked}",
        "Could you see {an_asked}",
    ),
}
CONDITIONS: dict[str, tuple[str, ...]] = {
    "add one": ("{a_kind} were added", "one {kind} were put in", "someone added {a_kind}"),
    "add": ("{number} {plural} were added", "{number} {plural} were put in", "someone added {number} {plural}"),
    "take one": ("one {kind} were removed", "one of the {plural} were taken away", "someone removed one {kind}"),
    "take": (
        "{number} {plural} were removed",
        "{number} of the {plural} were taken away",
        "someone removed {number} {plural}",
    ),
    "double": (
        "the number of {plural} doubled",
        "there were twice as many {plural}",
        "someone doubled the number of {plural}",
    ),
    "triple": (
        "the number of {plural} tripled",
        "there were three times as many {plural}",
        "someone tripled the number of {plural}",
    ),
    "remove the": ("the {kind} were removed", "the {kind} were taken away", "someone took away the {kind}"),
    "remove every": ("all {plural} were removed", "every {kind} were taken away", "someone took away all {plural}"),
    "keep": ("only the {plural} were left", "all objects but the {plural} were removed", "only the {plural} were kept"),
    "color the": ("the {kind} were painted {color}", "someone painted the {kind} {color}"),
    "color every": (
        "every {kind} were painted {color}",
        "all {plural} were painted {color}",
        "someone painted every {kind} {color}",
    ),
    "shape the": ("the {kind} were turned into {a_shape}", "someone turned the {kind} into {a_shape}"),
    "shape every": (
        "every {kind} were turned into {a_shape}",
        "all {plural} were turned into {shapes}",
        "someone turned every {kind} into {a_shape}",
    ),
    "size the": ("the {kind} were made {size}", "someone made the {kind} {size}"),
    "size every": (
        "every {kind} were made {size}",
        "all {plural} were made {size}",
        "someone made every {kind} {size}",
    ),
    "join": (
        "{a_new} were put beside every {kind}",
        "every {kind} got {a_new} beside it",
        "someone put {a_new} beside every {kind}",
    ),
}


def wordings(meaning: Meaning) -> list[str]:
    """All wordings of a question, those that begin with the condition last."""
    fields = {"asked_plural": plural(meaning.kind), "an_asked": article(singular(meaning.kind))}
    if meaning.supposed is None:
        return [template.format_map(fields) for template in ORIGINAL[meaning.asked]]
    asked = [template.format_map(fields) for template in SUPPOSING[meaning.asked]]
    supposed = conditions(meaning.supposed)
    after = [f"{main} if {condition}?" for main in asked for condition in supposed]
    return after + [f"If {condition}, {main[0].lower()}{main[1:]}?" for main in asked for condition in supposed]


def word(meaning: Meaning, rng: random.Random) -> str:
    """The question in one of its wordings."""
    said = wordings(meaning)
    if meaning.supposed is None:
        return rng.choice(said)
    half = len(said) // 2
    return rng.choice(said[half:] if rng.random() < IF_FIRST else said[:half])


def conditions(supposed: Supposition) -> list[str]:
    """All wordings of what is supposed, as a clause behind `if`."""
    name, fields = _clause(supposed)
    return [template.format_map(fields) for template in CONDITIONS[name]]


def singular(kind: Kind) -> str:
    """The noun phrase of one such object, without article: `large red circle in the top half`."""
    return _phrase(kind, kind.shape or "object")


def plural(kind: Kind) -> str:
    """The noun phrase of several such objects: `large red circles in the top half`."""
    return _phrase(kind, _plural(kind.shape or "object"))


def parse(text: str) -> Meaning | None:
    """What a question asks and supposes; None where no template can have written it."""
    words = " ".join(re.findall(r"[a-z0-9]+|,", text.lower()))
    if words.startswith("if "):
        condition, _, main = words.removeprefix("if ").rpartition(" , ")
    else:
        main, _, condition = words.partition(" if ")
    if " if " not in f" {words}":
        return _read_question(ORIGINAL, main)
    asked, supposed = _read_question(SUPPOSING, main), parse_condition(condition)
    return None if asked is None or supposed is None else Meaning(asked.asked, asked.kind, supposed)


def parse_condition(text: str) -> Supposition | None:
    """What a clause behind `if` supposes; None where no template can have written it."""
    for name, pattern in _patterns(CONDITIONS):
        found = pattern.fullmatch(text)
        supposed = _READ[name](found.groupdict()) if found else None
        if supposed is not None:
            return supposed
    return None


def _phrase(kind: Kind, noun: str) -> str:
    words = " ".join(word for word in (kind.size, kind.color, noun) if word)
    return words if kind.area is None else f"{words} in the {kind.area}"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def _clause(supposed: Supposition) -> tuple[str, dict[str, str]]:
    """The name of the templates, and what they are filled with."""
    kind = supposed.kind
    fields = {"kind": singular(kind), "plural": plural(kind), "a_kind": article(singular(kind))}
    match supposed:
        case Add(number) | Take(number):
            name = "add" if isinstance(supposed, Add) else "take"
            return (f"{name} one" if number == 1 else name), fields | {"number": str(number)}
        case Multiply(factor):
            return ("double" if factor == 2 else "triple"), fields
        case Remove(which):
            return f"remove {which}", fields
        case Keep():
            return "keep", fields
        case Change(which, _, attribute, value):
            shape = {"a_shape": article(value), "shapes": _plural(value)}
            return f"{attribute} {which}", fields | {attribute: value} | shape
        case Join(new):
            return "join", fields | {"a_new": article(singular(new))}


def _read_question(table: Mapping[str, Sequence[str]], words: str) -> Meaning | None:
    for asked, pattern in _patterns(table):
        found = pattern.fullmatch(words)
        if found is not None:
            return Meaning("count" if asked == "count" else "presence", _kind(found.groupdict(), "asked"))
    return None


_Words = Mapping[str, str | None]


def _kind(words: _Words, name: str = "kind") -> Kind:
    """The kind that a phrase names; a plural has lost its ending."""
    shape = words[f"{name}_shape"]
    area = words.get(f"{name}_area")
    return Kind(words[f"{name}_color"], None if shape == "object" else shape, words[f"{name}_size"], area)


def _number(words: _Words) -> int:
    said = words["number"] or ""
    return int(said) if said.isdecimal() else _NUMBERS.index(said)


def _change(attribute: Any, which: Any) -> Callable[[_Words], Supposition | None]:
    return lambda words: Change(which, _kind(words), attribute, words[attribute] or "")


_READ: dict[str, Callable[[_Words], Supposition | None]] = {
    "add one": lambda words: Add(1, _kind(words)),
    "add": lambda words: Add(_number(words), _kind(words)),
    "take one": lambda words: Take(1, _kind(words)),
    "take": lambda words: Take(_number(words), _kind(words)),
    "double": lambda words: Multiply(2, _kind(words)),
    "triple": lambda words: Multiply(3, _kind(words)),
    "remove the": lambda words: Remove("the", _kind(words)),
    "remove every": lambda words: Remove("every", _kind(words)),
    "keep": lambda words: Keep(_kind(words)),
    "join": lambda words: Join(_kind(words, "new"), _kind(words)),
    **{f"{name} {which}": _change(name, which) for name in ("color", "shape", "size") for which in ("the", "every")},
}


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _noun(name: str, ending: str) -> str:
    """A kind as groups `NAME_size`, `NAME_color`, `NAME_shape`, `NAME_area`."""
    return (
        rf"(?:(?P<{name}_size>{_any(SIZES)}) )?(?:(?P<{name}_color>{_any(COLORS)}) )?"
        rf"(?P<{name}_shape>{_any((*SHAPES, 'object'))}){ending}"
        rf"(?: in the (?P<{name}_area>{_any((*HALVES, *POSITIONS))}))?"
    )


_ENDING = "(?:(?<=s)es|(?<!s)s)"
_GROUPS = {
    "asked_plural": _noun("asked", _ENDING),
    "an_asked": f"an? {_noun('asked', '')}",
    "kind": _noun("kind", ""),
    "a_kind": f"an? {_noun('kind', '')}",
    "plural": _noun("kind", _ENDING),
    "a_new": f"an? {_noun('new', '')}",
    "number": rf"(?P<number>[0-9]{{1,4}}|{_any(_NUMBERS)})",
    "color": f"(?P<color>{_any(COLORS)})",
    "size": f"(?P<size>{_any(SIZES)})",
    "a_shape": f"an? (?P<shape>{_any(SHAPES)})",
    "shapes": f"(?P<shape>{_any(SHAPES)}){_ENDING}",
}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    bare = template.replace("?", "").lower()
    return re.compile(re.sub(r"\{(\w+)\}", lambda found: _GROUPS[found[1]], bare), re.ASCII)


def _patterns(table: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, re.Pattern[str]]]:
    return ((name, _pattern(template)) for name, templates in table.items() for template in templates)
