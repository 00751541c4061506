"""The grammar as the built-in plug-ins use it: explanations, instructions and the reasoning that joins them."""

from cfeval.world.choosing import background_edits, choose_chain, choose_edit, choose_placebos
from cfeval.world.consistency import Consistency, Said, consistency, moved
from cfeval.world.instructions import describe, parse_instruction, scene_after
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
from cfeval.world.reasoning import Expectation, answer_follows, expected_answer, reflects
from cfeval.world.viewing import View, inferred_edits

__all__ = [
    "Consistency",
    "Expectation",
    "Said",
    "View",
    "answer_follows",
    "background_edits",
    "choose_chain",
    "choose_edit",
    "choose_placebos",
    "consistency",
    "describe",
    "expected_answer",
    "inferred_edits",
    "is_true",
    "moved",
    "normalize",
    "parse_answer",
    "parse_explanation",
    "parse_instruction",
    "parse_question",
    "parse_referent",
    "referent_phrase",
    "reflects",
    "scene_after",
    "word_answer",
    "word_claim",
]
