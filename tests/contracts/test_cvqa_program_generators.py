"""Every program writer passes the family's contract: a program or a status for every request, each on its own."""

from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import ProgramGenerator, ProgramReply, ProgramRequest
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View
from cfeval.cvqa.records import Language
from cfeval.cvqa.synthetic.drawing import png_of
from cfeval.cvqa.synthetic.puzzles import counterfactual_of, make_puzzle, original_of
from tests.answers import answers

CODE = "def execute_command(image):\n    return 3\n\nA=EVAL(expr='3')"
EXAMPLES: dict[str, dict[str, Any]] = {
    "grammar": {},
    "mock": {},
    "chat": {"model": {"plugin": "mock", "replies": [CODE]}},
}
"""For every plugin the options with which it is put to the test."""
NAMES = registry.names("program_generators")
LANGUAGES: tuple[Language, Language] = ("vipergpt", "visprog")
PUZZLES = [make_puzzle(3, number, kind) for number, kind in enumerate(("abs_counting_2", "abs_counting_4"), 1)]  # type: ignore[arg-type]


def built(name: str) -> ProgramGenerator:
    writer: ProgramGenerator = registry.build("program_generators", {"plugin": name, **EXAMPLES[name]})
    return writer


def requests(language: Language) -> list[ProgramRequest]:
    questions = [side(puzzle).question for puzzle in PUZZLES for side in (original_of, counterfactual_of)]
    questions += ["", "What is this?", "</script>", "{question} {0.__class__}", "How many 'dots' are \"there\"?\n"]
    return [ProgramRequest(f"i{n}", question, "direct", language, n) for n, question in enumerate(questions)]


def test_every_plug_in_has_a_contract_test() -> None:
    assert set(NAMES) == set(EXAMPLES)


def test_an_unknown_plug_in_or_option_is_named() -> None:
    with pytest.raises(ParamsError, match="unknown program_generators plugin 'gramar'; did you mean 'grammar'"):
        registry.build("program_generators", {"plugin": "gramar"})
    for name in NAMES:
        with pytest.raises(ParamsError, match="here: unknown option 'no_such_option'"):
            registry.check("program_generators", {"plugin": name, **EXAMPLES[name], "no_such_option": 1}, "here")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_written_for_each_request_on_its_own(name: str, language: Language) -> None:
    writer, asked = built(name), requests(language)
    together = answers(writer.write, asked)
    assert answers(writer.write, []) == []
    assert [answers(writer.write, [request])[0] for request in asked] == together
    assert answers(writer.write, asked[::-1]) == together[::-1]
    for reply in together:
        assert isinstance(reply, ProgramReply)
        assert reply.model
        assert bool(reply.code) == (reply.status == Status.OK) == (not reply.reason)
    assert all(reply.status == Status.OK for reply in together[:4])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_for_a_known_question_can_be_run(name: str, language: Language) -> None:
    vision = registry.build("vision_tools", {"plugin": "puzzle" if name == "grammar" else "mock"})
    for puzzle, place in zip(PUZZLES, (0, 2), strict=True):
        image = Image(png_of(puzzle))
        view = View(image, (0, 0, puzzle.size, puzzle.size))
        for reply in answers(built(name).write, requests(language)[place : place + 2]):
            run = run_program(language, reply.code, view, vision, fallback=False)
            assert run.result, run.fault


def test_a_scripted_writer_fails_where_it_is_told_to() -> None:
    options = {"statuses": {"i0": "refused"}, "programs": {"visprog": "A=EVAL(expr='1')"}}
    writer = registry.build("program_generators", {"plugin": "mock", **options})
    assert [reply.status for reply in answers(writer.write, requests("visprog")[:2])] == [Status.REFUSED, Status.OK]
    assert answers(writer.write, requests("vipergpt")[1:2])[0].status == Status.UNPARSABLE
