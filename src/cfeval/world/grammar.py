"""The grammar as the built-in writer and judge use it: explanations, instructions and the reasoning that joins them."""

from cfeval.world.instructions import describe, parse_instruction
from cfeval.world.language import (
    is_true,
    normalize,
    parse_answer,
    parse_explanation,
    parse_referent,
    referent_phrase,
    word_answer,
    word_claim,
)
from cfeval.world.questions import parse_question
from cfeval.world.reasoning import Expectation, answer_follows, choose_edit, expected_answer, reflects

__all__ = [
    "Expectation",
    "answer_follows",
    "choose_edit",
    "describe",
    "expected_answer",
    "is_true",
    "normalize",
    "parse_answer",
    "parse_explanation",
    "parse_instruction",
    "parse_question",
    "parse_referent",
    "referent_phrase",
    "reflects",
    "word_answer",
    "word_claim",
]
