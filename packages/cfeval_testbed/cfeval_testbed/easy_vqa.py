"""easy-VQA: images of one colored shape, questions about them (PyPI `easy-vqa`, Victor Zhou, MIT), what they show.

The package states no shapes and colors; they follow from the questions that name them and their answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cfeval_testbed.language.explanations import object_claim
from cfeval_testbed.language.questions import Question, parse_question
from cfeval_testbed.records import EASY_VQA_COLORS, EASY_VQA_SHAPES, Claim

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Example:
    """A question about an image, its answer, and the evidence for it."""

    image: int
    """The image's number in its split."""
    question: str
    answer: str
    claim: Claim


def image_paths(split: Split) -> dict[int, Path]:
    """The image files of a split by their numbers; 64×64 RGB."""
    import easy_vqa

    found = easy_vqa.get_train_image_paths() if split == "train" else easy_vqa.get_test_image_paths()
    return {number: Path(path) for number, path in found.items()}


def examples(split: Split) -> list[Example]:
    """Every question of a split about an image whose shape and color its questions give away (nine in ten)."""
    rows = rows_of(split)
    shapes = _shown(rows, "shape", EASY_VQA_SHAPES)
    colors = _shown(rows, "color", EASY_VQA_COLORS)
    known = [row for row in rows if row[0] in shapes and row[0] in colors]
    return [
        Example(image, text, answer, evidence(question, colors[image], shapes[image]))
        for image, text, question, answer in known
    ]


def evidence(question: Question, color: str, shape: str) -> Claim:
    """The object cited for the attribute that the question asks about."""
    about_color = question.kind == "color" or (question.kind == "presence" and question.color is not None)
    return object_claim("color" if about_color else "shape", color, shape, None)


Row = tuple[int, str, Question, str]


def rows_of(split: Split) -> list[Row]:
    """All questions of a split: image number, text, meaning and answer."""
    import easy_vqa

    texts, answers, images = easy_vqa.get_train_questions() if split == "train" else easy_vqa.get_test_questions()
    parsed = [parse_question(text) for text in texts]
    together = zip(images, texts, parsed, answers, strict=True)
    return [(image, text, question, answer) for image, text, question, answer in together if question is not None]


def _shown(rows: Sequence[Row], attribute: Literal["shape", "color"], values: Sequence[str]) -> dict[int, str]:
    """What each image shows of an attribute, as far as its questions say."""
    shown: dict[int, str] = {}
    excluded: dict[int, set[str]] = {}
    for image, text, question, answer in rows:
        named = getattr(question, attribute)
        if question.kind == attribute:
            shown[image] = answer
        elif named and (question.kind != "presence" or says_it_is_there(text, answer)):
            shown[image] = named
        elif named:
            excluded.setdefault(image, set()).add(named)
    for image, absent in excluded.items():
        if image not in shown and len(left := [value for value in values if value not in absent]) == 1:
            shown[image] = left[0]
    return shown


def says_it_is_there(text: str, answer: str) -> bool:
    """Whether a yes-or-no question and its answer say that the thing is in the image."""
    negated = " not " in text or text.startswith("is no ")
    return (answer == "yes") != negated
