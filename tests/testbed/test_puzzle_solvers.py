"""Who answers the test bed's puzzles: an agent by tools, a writer that slips, a reader; against the known answers."""

from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, RawPair, ReadRequest
from cfeval.cvqa.records import LETTERS, Form, read_choices
from tests.answers import answers


def pairs(**options: Any) -> list[RawPair]:
    of = registry.build("question_sets", {"plugin": "synthetic", "size": 224, **options})
    return list(of.pairs(12, 5))


def asked(solver: dict[str, Any]) -> list[tuple[AnswerReply, str]]:
    """What a solver says to both questions of some puzzles, and the right answers."""
    built = registry.build("solvers", solver)
    sides = [
        (AnswerRequest(one.id, side, one.type, one.image, of.question, number), of.answer)
        for number, one in enumerate(pairs())
        for side, of in (("original", one.original), ("counterfactual", one.counterfactual))
    ]
    replies: list[AnswerReply] = answers(built.answer, [request for request, _ in sides])
    return list(zip(replies, (right for _, right in sides), strict=True))


def test_the_agent_answers_every_puzzle_by_its_tools_alone_within_three_turns() -> None:
    vision = {"plugin": "puzzle"}
    agent = {"plugin": "agent", "calls": 300, "sees": False, "model": {"plugin": "tools"}, "vision": vision}
    for reply, right in asked(agent):
        assert (reply.status, reply.text) == (Status.OK, right), reply.reason
        assert reply.program is not None
        assert reply.program.calls >= 1
        assert reply.program.steps <= 3


def test_a_writer_that_slips_is_told_and_repairs_its_program() -> None:
    def solver(repair: bool) -> dict[str, Any]:
        writer = {"plugin": "grammar", "slips": 0.5}
        return {"plugin": "program", "fallback": False, "repair": repair, "program_generator": writer} | {
            "vision": {"plugin": "puzzle"}
        }

    alone, told = asked(solver(False)), asked(solver(True))
    failed = [reply for reply, _ in alone if reply.program and reply.program.fault]
    repaired = [reply for reply, _ in told if reply.program and reply.program.first_fault]
    assert 4 < len(failed) < 20
    assert len(repaired) == len(failed)
    assert all(reply.status == Status.OK and reply.program and not reply.program.fault for reply, _ in told)


@pytest.mark.parametrize(
    ("reply", "form", "read"),
    [
        ("There are seven of them.", "number", "7"),
        ("I see none.", "number", "0"),
        ("Yes, it would.", "boolean", "yes"),
        ("Blue.", "boolean", None),
        ("It is B.", "choice", "B"),
        ("I counted 12.", "choice", "C"),
        ("I counted 99.", "choice", None),
    ],
)
def test_the_reader_reads_answers_of_the_form_and_nothing_else(reply: str, form: Form, read: str | None) -> None:
    question = "How many? Select the correct answer:A:16  B:17  C:12  D:13"
    reader = registry.build("reply_readers", {"plugin": "grammar"})
    [said] = answers(reader.read, [ReadRequest("i", question, form, reply, 1)])
    assert (said.status, said.read) == (Status.OK, read)


def test_another_draw_gives_other_puzzles_and_the_right_option_stays_right() -> None:
    first, other = pairs(), pairs(draw=1)
    assert [one.type for one in first] == [one.type for one in other]
    assert not {one.image.sha256 for one in first} & {one.image.sha256 for one in other}
    assert pairs(draw=1) == other
    for one in other:
        choices = read_choices(one.original.question)
        assert choices is not None
        assert dict(zip(LETTERS, choices.values, strict=True))[one.original.answer].isdigit()
