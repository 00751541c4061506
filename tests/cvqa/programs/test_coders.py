"""Of thirty replies of coders every one is told as what it is: right, a limit of ours, or a fault of its own."""

import pytest

from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.records import ProgramRun
from tests.cvqa.programs.coders import EMPTY, FAULT, LIMIT, RIGHT
from tests.cvqa.programs.replies import VISION
from tests.cvqa.programs.scripted import ROOT


def run(reply: str, **options: bool) -> ProgramRun:
    return run_program("vipergpt", cut_program(reply, "vipergpt"), ROOT, VISION, fallback=False, **options)


def test_there_are_thirty_of_them() -> None:
    assert len(RIGHT) + len(LIMIT) + len(FAULT) + len(EMPTY) >= 30


@pytest.mark.parametrize("name", RIGHT)
def test_an_ordinary_program_runs_and_gives_its_answer(name: str) -> None:
    reply, answer = RIGHT[name]
    ran = run(reply)
    assert (ran.result, ran.fault, ran.unsupported, ran.nothing) == (answer, "", False, False)


@pytest.mark.parametrize("name", LIMIT)
def test_what_our_interpreter_cannot_do_is_no_error_of_the_coder(name: str) -> None:
    ran = run(LIMIT[name])
    assert (ran.result, ran.unsupported) == ("", True)
    assert ran.fault.endswith("(a limit of our interpreter)")


@pytest.mark.parametrize("name", FAULT)
def test_an_error_of_the_coder_is_a_fault_and_no_limit(name: str) -> None:
    ran = run(FAULT[name])
    assert (ran.result, ran.unsupported) == ("", False)
    assert ran.fault
    assert "limit" not in ran.fault


@pytest.mark.parametrize("name", EMPTY)
def test_a_program_that_returns_nothing_says_so_by_either_rule(name: str) -> None:
    published, strict = run(EMPTY[name]), run(EMPTY[name], none_is_fault=True)
    assert (published.result, published.fault, published.nothing) == ("no", "", True)
    assert (strict.result, strict.nothing, strict.unsupported) == ("", True, False)
    assert strict.fault.startswith("the program returned nothing")


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    x = 'a'.encode()\nexcept Exception:\n    x = 'b'\nreturn x",
        "try:\n    return open('a').read()\nexcept:\n    return 'none'",
        "return getattr('a', 'encode', None) is None",
        "return hasattr(image, 'convert')",
    ],
)
def test_a_program_cannot_go_on_from_what_is_not_supported_and_be_judged_by_it(body: str) -> None:
    lines = body.replace("\n", "\n    ")
    ran = run(f"def execute_command(image):\n    {lines}")
    assert (ran.result, ran.unsupported) == ("", True)
