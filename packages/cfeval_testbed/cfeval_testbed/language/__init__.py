"""The grammar as the built-in plugins use it: explanations, instructions and the reasoning that joins them."""

from cfeval_testbed.language.edit_choice import background_edits, choose_chain, choose_edit, uncited_edits
from cfeval_testbed.language.explanations import (
    is_true,
    normalize,
    parse_answer,
    parse_explanation,
    parse_referent,
    referent_phrase,
    word_answer,
    word_claim,
)
from cfeval_testbed.language.instructions import View, describe, inferred_edits, parse_instruction, scene_after
from cfeval_testbed.language.questions import parse_question
from cfeval_testbed.language.reasoning import (
    Consistency,
    Expectation,
    StatedAnswer,
    answer_follows,
    consistency,
    expected_answer,
    moved,
    reflects,
)

__all__ = [
    "Consistency",
    "Expectation",
    "StatedAnswer",
    "View",
    "answer_follows",
    "background_edits",
    "choose_chain",
    "choose_edit",
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
    "uncited_edits",
    "word_answer",
    "word_claim",
]
