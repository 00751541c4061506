"""The language of the test bed: phrases, answers and explanations, written from templates, parsed back exactly.

A template holds the literal words and placeholders; one table serves writing and parsing. Parsing ignores case and
punctuation and is strict otherwise: what no template can have written is None.
"""

import random
import re
from collections.abc import Mapping, Sequence

from cfeval_testbed.records import (
    ACTIONS,
    ALL_COLORS,
    ALL_SHAPES,
    BACKGROUNDS,
    NOWHERE,
    NUMBERS,
    POSITIONS,
    SIGNAL_OF_ACTION,
    SIZES,
    Claim,
    ClaimKind,
    Fact,
    PositionName,
    Referent,
    Scene,
    SizeName,
)
from cfeval_testbed.scenes import matches, objects, resolve

ANSWER_TEMPLATES = ("{answer}", "it is {answer}", "i think {answer}", "the answer is {answer}")
"""Wordings of an answer; the canonical answer alone comes first."""

CANONICAL_ANSWERS = tuple(
    dict.fromkeys((*ALL_COLORS, *ALL_SHAPES, *POSITIONS, NOWHERE, "yes", "no", *NUMBERS, *BACKGROUNDS, *ACTIONS))
)

EXPLANATION_TEMPLATES: dict[ClaimKind, tuple[str, ...]] = {
    "color": (
        "the {shape} {place} is {color}",
        "the color of the {shape} {place} is {color}",
        "i looked at the {shape} {place} and it is {color}",
        "the {shape} {place} shows the color {color}",
    ),
    "shape": (
        "the {color} object {place} is {a_shape}",
        "the {color} object {place} has the shape of {a_shape}",
        "i looked at the {color} object {place} and it is {a_shape}",
        "what is {color} {place} is {a_shape}",
    ),
    "presence": (
        "there is {a_thing} {place}",
        "i can see {a_thing} {place}",
        "{a_thing} can be found {place}",
    ),
    "position": (
        "the {color} {shape} is {place}",
        "i found the {color} {shape} {place}",
        "the {color} {shape} sits {place}",
    ),
    "objects": (
        "i see {things}",
        "all i can find is {things}",
        "the picture holds {things}",
    ),
    "robot": (
        "the large object {place} is {color} and {color} means {action}",
        "the signal is the large object {place} , it is {color} so {action}",
        "i follow the large object {place} whose {color} color tells me to {action}",
    ),
    "background": (
        "the background is {background} so the answer is {answer}",
        "because the background is {background} i say {answer}",
        "the answer is {answer} since the background is {background}",
        "the whole background looks {background}",
        "behind everything the color is {background}",
        "the background is {background}",
    ),
}
"""Wordings of an explanation by what it cites; the first three about the background also state the answer it led to."""

STATING_BACKGROUND = EXPLANATION_TEMPLATES["background"][:3]
"""Explanations that give the background as the reason for an answer."""


def article(noun: str) -> str:
    """The noun phrase with `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def place_phrase(position: str | None) -> str:
    """`in the top left`, or `in the picture` where no position is named."""
    return f"in the {position or 'picture'}"


def referent_phrase(referent: Referent) -> str:
    """The noun phrase that points at an object, such as `the large red circle in the top left`."""
    words = [referent.size, referent.color, referent.shape or "object"]
    phrase = "the " + " ".join(word for word in words if word)
    return phrase if referent.position is None else f"{phrase} in the {referent.position}"


def parse_referent(phrase: str) -> Referent | None:
    """What a noun phrase points at; the inverse of `referent_phrase`."""
    found = _REFERENT.fullmatch(normalize(phrase))
    return (
        None
        if found is None
        else Referent.model_validate(
            {name: None if value == "object" else value for name, value in found.groupdict().items()}
        )
    )


def normalize(text: str) -> str:
    """Lower-case words, one blank between them, no punctuation."""
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def parse_answer(text: str) -> str | None:
    """The canonical answer in any of its wordings, or None."""
    found = _ANSWER.fullmatch(normalize(text))
    if found is None:
        return None
    return next(value for value in found.groupdict().values() if value is not None)


def word_answer(answer: str, rng: random.Random) -> str:
    """The answer in one of its wordings."""
    return rng.choice(ANSWER_TEMPLATES).format(answer=answer)


def word_claim(claim: Claim, rng: random.Random) -> str:
    """The claim in one of its wordings; the inverse of `parse_explanation` up to the wording."""
    return rng.choice(wordings(claim))


def wordings(claim: Claim) -> list[str]:
    """All wordings of a claim."""
    templates: Sequence[str] = EXPLANATION_TEMPLATES[claim.kind]
    if claim.kind == "background":
        split = len(STATING_BACKGROUND)
        templates = templates[:split] if claim.answer else templates[split:]
    return [template.format_map(_fields(claim)).replace(" ,", ",") for template in templates]


def _fields(claim: Claim) -> dict[str, str]:
    """The words for every placeholder that the claim's kind can use."""
    if claim.kind == "objects":
        things = ", ".join(article(f"{fact.referent.color} {fact.referent.shape}") for fact in claim.facts)
        return {"things": things or "nothing"}
    fact = claim.facts[0]
    if claim.kind == "background":
        return {"background": fact.value, "answer": claim.answer or ""}
    described = description(fact)
    color, shape = described.color or "", described.shape or ""
    return {
        "color": color,
        "shape": shape,
        "a_shape": article(shape) if shape else "",
        "a_thing": article(f"{color} {shape}"),
        "place": place_phrase(described.position),
        "action": claim.answer or "",
    }


def description(fact: Fact) -> Referent:
    """The object as the fact describes it: the referent together with the deciding attribute."""
    if fact.attribute in ("color", "shape", "position"):
        return Referent.model_validate(fact.referent.model_dump() | {fact.attribute: fact.value})
    return fact.referent


def parse_explanation(text: str) -> Claim | None:
    """What an explanation claims, or None where no template can have written it."""
    words = normalize(text)
    for kind, patterns in _EXPLANATIONS.items():
        for pattern in patterns:
            found = pattern.fullmatch(words)
            if found is not None:
                return _claim(kind, found.groupdict())
    return None


def _claim(kind: ClaimKind, words: Mapping[str, str | None]) -> Claim | None:
    """The claim of a matched template; None where the words contradict each other."""
    if kind == "objects":
        return objects_claim(_THING.findall(words["things"] or ""))
    if kind == "background":
        return background_claim(words["background"] or "", words.get("answer"))
    if kind == "robot" and SIGNAL_OF_ACTION[words["action"] or ""] != words["color"]:
        return None
    return object_claim(kind, words.get("color"), words.get("shape"), words["place"], words.get("action"))


def objects_claim(things: Sequence[tuple[str, str]]) -> Claim:
    """An enumeration of everything seen, each thing a color and a shape."""
    facts = (
        Fact(referent=Referent(color=color, shape=shape), attribute="presence", value="yes") for color, shape in things
    )
    return Claim(kind="objects", facts=tuple(facts))


def background_claim(background: str, answer: str | None = None) -> Claim:
    """The background cited, with the answer it is said to have led to."""
    return Claim(
        kind="background", facts=(Fact(referent=Referent(), attribute="background", value=background),), answer=answer
    )


def object_claim(
    kind: ClaimKind, color: str | None, shape: str | None, place: str | None, answer: str | None = None
) -> Claim:
    """One object cited for its color, shape, presence, position, or as the robot's signal.

    Args:
        kind: what decides; the attribute of that name becomes the fact's value and leaves its referent.
        color: needed except where the claim leaves it open.
        shape: as color.
        place: a position, or `picture` or None for no position.
        answer: the action, for `robot`.
    """
    position = _position(place)
    size: SizeName | None = "large" if kind == "robot" else None
    if kind == "shape":
        fact = Fact(referent=Referent(color=color, position=position), attribute="shape", value=shape or "")
    elif kind == "presence":
        fact = Fact(referent=Referent(color=color, shape=shape, position=position), attribute="presence", value="yes")
    elif kind == "position":
        fact = Fact(referent=Referent(color=color, shape=shape), attribute="position", value=position or "picture")
    else:
        referent = Referent(shape=shape, size=size, position=position)
        fact = Fact(referent=referent, attribute="color", value=color or "")
    return Claim(kind=kind, facts=(fact,), answer=answer)


def _position(place: str | None) -> PositionName | None:
    for position in POSITIONS:
        if place == position:
            return position
    return None


def is_true(claim: Claim, scene: Scene) -> bool:
    """Whether the evidence cited is really in the scene; an enumeration must be complete."""
    if claim.kind == "objects":
        said = sorted((fact.referent.color, fact.referent.shape) for fact in claim.facts)
        return said == sorted((slot.color, slot.shape) for _, slot in objects(scene))
    if claim.kind == "background":
        return all(fact.value == scene.background for fact in claim.facts)
    return all(resolve(scene, description(fact)) for fact in claim.facts)


def seen(scene: Scene) -> Claim:
    """The enumeration of everything in the scene, in reading order."""
    return objects_claim([(slot.color, slot.shape) for _, slot in objects(scene)])


def holds(referent: Referent, scene: Scene) -> bool:
    """Whether something in the scene fits the referent."""
    return any(matches(referent, position, slot) for position, slot in objects(scene))


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_COLOR, _SHAPE = f"(?:{_any(ALL_COLORS)})", f"(?:{_any(ALL_SHAPES)})"
_THING = re.compile(rf"an? ({_COLOR}) ({_SHAPE})")
_REFERENT = re.compile(
    rf"the (?:(?P<size>{_any(SIZES)}) )?(?:(?P<color>{_COLOR}) )?(?P<shape>{_SHAPE}|object)"
    rf"(?: in the (?P<position>{_any(POSITIONS)}))?"
)
_ANSWER = re.compile(
    "|".join(
        template.format(answer=f"(?P<answer{number}>{_any(CANONICAL_ANSWERS)})")
        for number, template in enumerate(ANSWER_TEMPLATES)
    )
)
_GROUPS = {
    "color": f"(?P<color>{_COLOR})",
    "shape": f"(?P<shape>{_SHAPE})",
    "a_shape": f"an? (?P<shape>{_SHAPE})",
    "a_thing": f"an? (?P<color>{_COLOR}) (?P<shape>{_SHAPE})",
    "place": f"in the (?P<place>{_any((*POSITIONS, 'picture'))})",
    "things": f"(?P<things>nothing|an? {_COLOR} {_SHAPE}(?: an? {_COLOR} {_SHAPE})*)",
    "action": f"(?P<action>{_any(ACTIONS)})",
    "background": f"(?P<background>{_any(BACKGROUNDS)})",
    "answer": f"(?P<answer>{_any(CANONICAL_ANSWERS)})",
}


def _pattern(template: str) -> re.Pattern[str]:
    """The template as an expression; a placeholder that comes again must match the same words."""
    known: set[str] = set()

    def group(found: re.Match[str]) -> str:
        name = found[1]
        if name in known:
            return f"(?P={name})"
        known.add(name)
        return _GROUPS[name]

    return re.compile(re.sub(r"\{(\w+)\}", group, template.replace(" ,", "")))


_EXPLANATIONS: dict[ClaimKind, list[re.Pattern[str]]] = {
    kind: [_pattern(template) for template in templates] for kind, templates in EXPLANATION_TEMPLATES.items()
}
