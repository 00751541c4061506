"""Answers counterfactual questions about scenes a second time, from their words, on plain dictionaries."""

import re
from typing import Any

from cfeval_testbed.records import Scene

COLORS = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
SHAPES = ("circle", "square", "triangle", "star", "cross")
SIZES = ("small", "large")
PLACES = ("top left", "top right", "bottom left", "bottom right")
COUNTS = {"a": 1, "an": 1, "one": 1}

Things = list[dict[str, Any]]


def listed(scene: Scene) -> Things:
    """The objects of a scene."""
    pairs = zip(PLACES, scene.slots, strict=True)
    return [{"color": s.color, "shape": s.shape, "size": s.size, "place": p} for p, s in pairs if s.present]


def recount(question: str, scene: Scene) -> str:
    """The answer, read from the words of the question."""
    text = question.lower().rstrip("?")
    condition, asked = _parts(text)
    things = listed(scene)
    if condition:
        things = _supposed(condition, things)
    found = [thing for thing in things if _is(asked, thing)]
    if text.startswith(("how many", "what")) or ", how many" in text or ", what" in text:
        return str(len(found))
    return "yes" if found else "no"


def _parts(text: str) -> tuple[str, str]:
    if text.startswith("if "):
        condition, asked = text[3:].split(", ")
        return condition, asked
    asked, _, condition = text.partition(" if ")
    return condition, asked


def _is(phrase: str, thing: dict[str, Any]) -> bool:
    """Whether a thing has every color, shape, size and place that a phrase names."""
    words = re.findall(r"[a-z]+", phrase)
    names = {"color": COLORS, "shape": SHAPES, "size": SIZES}
    for attribute, known in names.items():
        wanted = [one for one in known if {one, f"{one}s", f"{one}es"} & set(words)]
        if wanted and thing[attribute] not in wanted:
            return False
    area = re.search(r"in the (top|bottom|left|right)(?: (left|right))?", phrase)
    return area is None or all(word in thing["place"] for word in area.groups() if word)


def _described(phrase: str) -> dict[str, Any]:
    words = [word.removesuffix("es") if word == "crosses" else word.removesuffix("s") for word in phrase.split()]
    words = ["cross" if word == "cros" else word for word in words]
    picked = {
        name: [word for word in words if word in known]
        for name, known in {"color": COLORS, "shape": SHAPES, "size": SIZES}.items()
    }
    return {name: found[0] if found else "?" for name, found in picked.items()} | {"place": "?"}


def _supposed(condition: str, things: Things) -> Things:
    first = next((word for word in condition.removeprefix("someone ").split() if word.isdigit() or word in COUNTS), "")
    number = int(first) if first.isdigit() else COUNTS.get(first, 0)
    if " beside " in condition:
        new, every = re.split(r" beside ", condition) if " got " not in condition else condition.split(" got ")[::-1]
        every = every.split("every ")[1] if "every " in every else every
        new = new.removesuffix(" beside it")
        return things + [_described(new.split(" a ")[-1].split(" an ")[-1]) for one in things if _is(every, one)]
    for word, factor in (("doubled", 2), ("twice", 2), ("tripled", 3), ("three times", 3)):
        if word in condition:
            of = condition.split("number of ")[1] if "number of " in condition else condition.split(" as many ")[1]
            return things + [one for one in things if _is(of, one)] * (factor - 1)
    for verb, attribute in (("painted", "color"), ("turned", "shape"), ("made", "size")):
        if verb in condition:
            value = _described(condition.split()[-1])[attribute]
            target = condition.rpartition(" ")[0]
            target = target.split(" into")[0]
            return [one | {attribute: value} if _is(target, one) else one for one in things]
    if "only the" in condition or "all objects but" in condition:
        return [one for one in things if _is(condition, one)]
    if "removed" in condition or "away" in condition:
        if number:
            return things[number:]
        return [one for one in things if not _is(condition, one)]
    assert "added" in condition or "put in" in condition, condition
    return things + [_described(condition.removesuffix(" were added"))] * number
