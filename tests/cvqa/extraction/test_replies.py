"""The better reader on whole replies as today's models write them: those it was written on, and those held out."""

import pytest

from cfeval.cvqa.stages.scores import read_both
from tests.cvqa.extraction.corpus import judge
from tests.cvqa.extraction.development_replies import DEVELOPMENT
from tests.cvqa.extraction.heldout_replies import HELD_OUT


def test_replies_that_were_not_used_in_writing_it_are_read_as_they_were_meant() -> None:
    found = judge(HELD_OUT)
    assert sum(one.answer is not None for one in HELD_OUT) >= 150
    assert found.right >= 0.95, found.failed
    assert found.wrong <= 0.01, found.failed
    assert found.guessed <= 0.05, found.failed


def test_replies_it_was_written_on_are_read_and_none_is_guessed() -> None:
    found = judge(DEVELOPMENT)
    assert found.right >= 0.98, found.failed
    assert (found.wrong, found.guessed) == (0, 0), found.failed


def test_no_held_out_reply_was_developed_on() -> None:
    questions = {one.asked for one in DEVELOPMENT} & {one.asked for one in HELD_OUT}
    assert not questions


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<think>Is it 3? No, 4 cats.</think>5", "5"),
        ("so 3 at first</think> 5", "5"),
        ("◁think▷3, no 4◁/think▷ 5", "5"),
        ("[THINK]3[/THINK]5", "5"),
        ("<|channel|>analysis<|message|>3<|end|><|start|>assistant<|channel|>final<|message|>5", "5"),
        ("<think>3, or 4, or", None),
    ],
)
def test_neither_reader_reads_thoughts(reply: str, wanted: str | None) -> None:
    assert read_both(reply, "number") == {"reference": wanted, "robust": wanted}


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<answer>3</answer> <answer>4</answer>", None),  # two answers
        ('{"answer": "3"} {"answer": "4"}', None),
        ("<answer>3</answer> although I counted 4 and 5 cats.", "3"),  # the tag counts, whatever stands around it
        ("Four cats.\n<answer>3</answer>", "3"),
        ("I cannot be sure, but my best guess: <answer>3</answer>", "3"),
        ('<tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>', None),  # a tool that takes no answer
    ],
)
def test_what_is_set_apart_as_the_answer_counts_before_what_stands_around_it(reply: str, wanted: str | None) -> None:
    assert read_both(reply, "number")["robust"] == wanted
