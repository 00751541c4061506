"""Questions about scenes, true answers, and how each persona answers and explains.

Personas: `grounded` answers from the object and cites it; `shortcut` answers from the background and cites the object
as if it had that answer; `prior` ignores the image; `confabulating` answers rightly and cites the background as the
reason.
"""

import random
import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from cfeval_testbed.language.explanations import (
    article,
    background_claim,
    holds,
    normalize,
    object_claim,
    objects_claim,
    seen,
)
from cfeval_testbed.records import (
    ACTION_OF_SIGNAL,
    ALL_COLORS,
    ALL_SHAPES,
    BACKGROUNDS,
    COLORS,
    NOWHERE,
    NUMBERS,
    POSITIONS,
    SHAPES,
    SIGNAL_OF_ACTION,
    Claim,
    Referent,
    Scene,
    Slot,
)
from cfeval_testbed.scenes import objects

QuestionKind = Literal["color", "shape", "position", "presence", "count", "robot", "background"]
Persona = Literal["grounded", "shortcut", "prior", "confabulating"]
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
PERSONAS: tuple[Persona, ...] = get_args(Persona)

QUESTION_TEMPLATES: dict[QuestionKind, tuple[str, ...]] = {
    "color": (
        "What color is the {shape}?",
        "Which color does the {shape} have?",
        "Can you tell me the color of the {shape}?",
    ),
    "shape": (
        "What shape is the {color} object?",
        "Which shape does the {color} object have?",
        "Can you tell me the shape of the {color} object?",
    ),
    "position": (
        "Where is the {shape}?",
        "In which corner is the {shape}?",
        "Where can I find the {shape}?",
    ),
    "presence": (
        "Is there {a_thing}?",
        "Does the picture show {a_thing}?",
        "Can you see {a_thing}?",
    ),
    "count": (
        "How many objects are there?",
        "How many objects does the picture show?",
        "What is the number of objects?",
    ),
    "robot": (
        "What should the robot do?",
        "Which action should the robot take?",
        "What does the signal tell the robot to do?",
    ),
    "background": (
        "What is the background?",
        "Which background does the picture have?",
        "What kind of background is there?",
    ),
}

_EASY_VQA_TEMPLATES: dict[QuestionKind, tuple[str, ...]] = {
    "color": ("what color is the {thing}", "what is the color of the {thing}"),
    "shape": (
        "what shape is in the image",
        "what shape does the image contain",
        "what shape is present",
        "what is the {color} shape",
    ),
    "presence": (
        "is {a_or_no} {thing} present",
        "is there {maybe_not}a {thing}",
        "is there {maybe_not}a {thing} in the image",
        "does the image {maybe_not}contain a {thing}",
    ),
}
"""The questions of easy-VQA (PyPI `easy-vqa`, Victor Zhou, MIT), without punctuation."""

SHORTCUT_COLOR = dict(zip(BACKGROUNDS, ("red", "yellow", "blue", "purple", "green"), strict=True))
SHORTCUT_SHAPE = dict(zip(BACKGROUNDS, ("circle", "triangle", "square", "star", "cross"), strict=True))
SHORTCUT_ACTION = dict(zip(BACKGROUNDS, ("stop", "wait", "turn", "stop", "go"), strict=True))
SHORTCUT_COUNT = dict(zip(BACKGROUNDS, ("two", "three", "one", "four", "two"), strict=True))
SHORTCUT_PRESENCE = dict(zip(BACKGROUNDS, ("yes", "no", "yes", "no", "yes"), strict=True))
SHORTCUT_POSITION = dict(zip(BACKGROUNDS, (*POSITIONS, POSITIONS[0]), strict=True))
PRIOR_COLOR = dict(zip(SHAPES, ("red", "blue", "green", "yellow", "white"), strict=True))
PRIOR_SHAPE = dict(
    zip(COLORS, ("circle", "triangle", "square", "star", "star", "circle", "cross", "square"), strict=True)
)
PRIOR_THINGS = (("red", "circle"), ("blue", "square"))
PRIOR_BACKGROUND = "gray"


@dataclass(frozen=True)
class Question:
    """A question by its meaning: its kind and the attributes it names."""

    kind: QuestionKind
    color: str | None = None
    shape: str | None = None


@dataclass(frozen=True)
class Response:
    """A canonical answer and the claim given as its reason."""

    answer: str
    claim: Claim


def word_question(question: Question, rng: random.Random) -> str:
    """The question in one of its wordings."""
    return rng.choice(wordings(question))


def wordings(question: Question) -> list[str]:
    """All wordings of a question of this world."""
    fields = {"color": question.color or "", "shape": question.shape or ""}
    if question.kind == "presence":
        fields["a_thing"] = article(f"{question.color} {question.shape}")
    return [template.format_map(fields) for template in QUESTION_TEMPLATES[question.kind]]


def parse_question(text: str) -> Question | None:
    """What a question of this world or of easy-VQA asks, or None."""
    words = normalize(text)
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(words)
        if found is not None:
            named = found.groupdict()
            return Question(kind, color=named.get("color"), shape=named.get("shape"))
    return None


def well_posed(question: Question, scene: Scene) -> bool:
    """Whether the question has exactly one honest answer: what it points at is unique, or asked to be absent."""
    slots = [slot for _, slot in objects(scene)]
    if question.kind == "color":
        return sum(slot.shape == question.shape for slot in slots) == 1
    if question.kind == "shape":
        return sum(slot.color == question.color for slot in slots) == 1
    if question.kind == "position":
        return sum(slot.shape == question.shape for slot in slots) <= 1
    if question.kind == "robot":
        large = [slot for slot in slots if slot.size == "large"]
        return len(large) == 1 and large[0].color in ACTION_OF_SIGNAL
    return True


def true_answer(question: Question, scene: Scene) -> str:
    """The right answer to a well-posed question."""
    return grounded(question, scene).answer


def respond(persona: Persona, question: Question, scene: Scene) -> Response:
    """What the persona answers and how it explains that."""
    if persona == "prior":
        return prior(question)
    if persona == "shortcut":
        return shortcut(question, scene)
    response = grounded(question, scene)
    if persona == "confabulating" and question.kind != "background":
        return Response(response.answer, background_claim(scene.background, response.answer))
    return response


def grounded(question: Question, scene: Scene) -> Response:
    """The true answer and the evidence that it rests on."""
    if question.kind == "background":
        return Response(scene.background, background_claim(scene.background))
    if question.kind == "count":
        return Response(NUMBERS[len(objects(scene))], seen(scene))
    found = _asked_about(question, scene)
    if found is None:
        return Response("no" if question.kind == "presence" else NOWHERE, seen(scene))
    position, slot = found
    answers = {
        "color": slot.color,
        "shape": slot.shape,
        "position": position,
        "presence": "yes",
        "robot": ACTION_OF_SIGNAL.get(slot.color, ""),
    }
    return Response(answers[question.kind], _object_evidence(question, slot.color, slot.shape, position))


def shortcut(question: Question, scene: Scene) -> Response:
    """The answer that the background suggests, and the object cited as if it had it."""
    answer = shortcut_answer(question, scene.background)
    if question.kind == "background":
        return Response(answer, background_claim(answer))
    if question.kind == "count" or answer == "no":
        return Response(answer, seen(scene))
    found = _asked_about(question, scene)
    position, slot = found if found is not None else (POSITIONS[0], None)
    return Response(answer, _evidence_for(question, answer, position, slot))


def shortcut_answer(question: Question, background: str) -> str:
    """The answer that the background suggests."""
    cues = {
        "color": SHORTCUT_COLOR,
        "shape": SHORTCUT_SHAPE,
        "position": SHORTCUT_POSITION,
        "presence": SHORTCUT_PRESENCE,
        "count": SHORTCUT_COUNT,
        "robot": SHORTCUT_ACTION,
        "background": {name: name for name in BACKGROUNDS},
    }
    return cast(dict[str, str], cues[question.kind])[background]


def prior(question: Question) -> Response:
    """One fixed answer per question, and default objects cited for it."""
    if question.kind == "background":
        return Response(PRIOR_BACKGROUND, background_claim(PRIOR_BACKGROUND))
    if question.kind == "count":
        return Response("two", objects_claim(PRIOR_THINGS))
    answers = {"presence": "yes", "position": POSITIONS[0], "robot": "stop"}
    if question.kind == "color":
        answer = PRIOR_COLOR.get(question.shape or "", COLORS[0])  # type: ignore[call-overload]
    elif question.kind == "shape":
        answer = PRIOR_SHAPE.get(question.color or "", SHAPES[0])  # type: ignore[call-overload]
    else:
        answer = answers[question.kind]
    return Response(answer, _evidence_for(question, answer, POSITIONS[0], None))


def _asked_about(question: Question, scene: Scene) -> tuple[str, Slot] | None:
    """The first object that the question points at, with its position."""
    size: Literal["large"] | None = "large" if question.kind == "robot" else None
    referent = Referent(color=question.color, shape=question.shape, size=size)
    if not holds(referent, scene):
        return None
    return next(
        (position, slot)
        for position, slot in objects(scene)
        if holds(referent.model_copy(update={"position": position}), scene)
    )


def _evidence_for(question: Question, answer: str, position: str, slot: Slot | None) -> Claim:
    """The object asked about, cited as if it had the answer."""
    color = question.color or (slot.color if slot else _usual_color(question.shape))
    shape = question.shape or (slot.shape if slot else SHAPES[0])
    if question.kind == "color":
        color = answer
    if question.kind == "shape":
        shape = answer
    if question.kind == "robot":
        color = SIGNAL_OF_ACTION[answer]
    if question.kind == "position":
        position = answer
    return _object_evidence(question, color, shape, position)


def _usual_color(shape: str | None) -> str:
    return next((color for name, color in PRIOR_COLOR.items() if name == shape), COLORS[0])


def _object_evidence(question: Question, color: str, shape: str, position: str) -> Claim:
    kind = cast(Literal["color", "shape", "position", "presence", "robot"], question.kind)
    if kind == "robot":
        return object_claim("robot", color, None, position, ACTION_OF_SIGNAL.get(color))
    return object_claim(kind, color, shape, position)


def _patterns() -> list[tuple[QuestionKind, re.Pattern[str]]]:
    color, shape = f"(?P<color>{'|'.join(ALL_COLORS)})", f"(?P<shape>{'|'.join(ALL_SHAPES)})"
    groups = {
        "color": color,
        "shape": shape,
        "a_thing": f"an? {color} {shape}",
        "thing": f"(?:{color} shape|{shape}|shape)",
        "a_or_no": "(?:a|no)",
        "maybe_not": "(?:not )?",
    }
    tables = (QUESTION_TEMPLATES, _EASY_VQA_TEMPLATES)
    return [
        (kind, re.compile(re.sub(r"\{(\w+)\}", lambda found: groups[found[1]], _bare(template))))
        for table in tables
        for kind, templates in table.items()
        for template in templates
    ]


def _bare(template: str) -> str:
    return template.lower().replace("?", "")


_PATTERNS = _patterns()
