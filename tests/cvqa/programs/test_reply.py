"""A program is taken whole out of a reply, whatever stands around it, and then runs as it was written."""

import pytest

from cfeval.cvqa.programs.reply import cut_program
from tests.cvqa.programs.replies import HABITS, PROGRAMS, STEP_HABITS, STEPS, VISION
from tests.cvqa.programs.scripted import steps, whole

REPLIES = {
    f"{program}, {habit}": (wrap(code), answer)
    for program, (code, answer) in PROGRAMS.items()
    for habit, wrap in HABITS.items()
}


def _ran(reply: str, answer: str) -> bool:
    run = whole(cut_program(reply, "vipergpt"), VISION)
    return (run.result, run.fault) == (answer, "")


def test_98_percent_of_many_hundred_replies_run_and_answer_what_the_program_answers() -> None:
    failed = [name for name, (reply, answer) in REPLIES.items() if not _ran(reply, answer)]
    assert len(REPLIES) > 500
    assert len(failed) <= 0.02 * len(REPLIES), f"{len(failed)} of {len(REPLIES)}: {failed}"


@pytest.mark.parametrize("habit", STEP_HABITS)
def test_steps_run_in_whatever_form_they_come(habit: str) -> None:
    run = steps(cut_program(STEP_HABITS[habit](STEPS), "visprog"), VISION)
    assert (run.result, run.fault) == ("2", "")
