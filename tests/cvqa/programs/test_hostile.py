"""Hostile programs are refused or stopped within their budget, say why, and touch nothing."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.cvqa.programs.limits import Budget
from cfeval.cvqa.programs.parser import NOWHERE
from cfeval.cvqa.records import ProgramRun
from tests.cvqa.programs.hostile import BODIES, INJECTIONS, LINES, WHOLE
from tests.cvqa.programs.scripted import Scripted, python, steps, whole
from tests.cvqa.programs.test_classes import BODIES as WITH_CLASSES
from tests.cvqa.programs.test_python_subset import BODIES as SIMPLE
from tests.slow import examples

BYTES = b"the canary sings\n"
WATCHED = ("open", "os.", "exec", "import", "socket.", "subprocess.", "shutil.", "ctypes.", "sys._", "marshal.", "pty.")
_events: list[str] = []
_watching = False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith(WATCHED) and event != "sys._getframe" and arguments[:1] != (NOWHERE,):
        _events.append(f"{event} {arguments}"[:200])


sys.addaudithook(_watch)


@contextmanager
def watched() -> Iterator[None]:
    """Nothing within may open, import, execute or start anything."""
    global _watching
    _events.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert not _events


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "canary.txt"
    path.write_bytes(BYTES)
    yield path
    assert path.read_bytes() == BYTES


def check(run: ProgramRun, reason: str, budget: Budget) -> None:
    """It failed for that reason, in one line, with no answer, within its budget."""
    assert any(part in run.fault for part in reason.split("|")), run.fault
    assert "\n" not in run.fault
    assert len(run.fault) <= 320
    assert run.result == ""
    assert run.calls <= budget.calls + 1
    assert run.steps <= 3 * budget.steps


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_function_is_stopped_and_says_why(name: str, canary: Path) -> None:
    code, reason = BODIES[name]
    with watched():
        run = python(code.replace("CANARY", str(canary)), Scripted())
    check(run, reason, Budget())


@pytest.mark.parametrize("name", WHOLE)
def test_a_hostile_module_is_stopped_and_says_why(name: str, canary: Path) -> None:
    code, reason = WHOLE[name]
    with watched():
        run = whole(code.replace("CANARY", str(canary)), Scripted())
    check(run, reason, Budget())


@pytest.mark.parametrize("name", LINES)
def test_a_hostile_visprog_program_is_stopped_and_says_why(name: str, canary: Path) -> None:
    code, reason = LINES[name]
    budget = Budget(calls=100)
    with watched():
        run = steps(code.replace("CANARY", str(canary)), Scripted(), budget)
    check(run, reason, budget)


@pytest.mark.parametrize("answer", INJECTIONS)
def test_what_a_model_answers_is_a_text_in_eval_and_never_code(answer: str, canary: Path) -> None:
    said = answer.replace("CANARY", str(canary))
    vision = Scripted(answers={"What?": said})
    code = "A=VQA(image=IMAGE,question='What?')\nB=EVAL(expr=\"'same' if {A} == {A} and {A} != 'no' else 'other'\")"
    with watched():
        run = steps(code, vision)
    assert (run.result, run.fault) == ("same", "")


@pytest.mark.parametrize("answer", INJECTIONS)
def test_what_a_model_answers_is_a_text_in_python_and_never_code(answer: str, canary: Path) -> None:
    said = answer.replace("CANARY", str(canary))
    vision = Scripted(answers={"What?": said})
    with watched():
        run = python("a = ImagePatch(image).simple_query('What?')\nreturn f'<{a}>' == '<' + a + '>'", vision)
    assert (run.result, run.fault) == ("yes", "")


def test_there_are_well_over_seventy_of_them() -> None:
    assert len(BODIES) + len(WHOLE) + len(LINES) > 200


def test_the_watch_sees_a_file_that_is_opened(canary: Path) -> None:
    with pytest.raises(AssertionError), watched():
        canary.read_bytes()


def test_a_refused_program_asks_no_model() -> None:
    vision = Scripted()
    run = python("n = ImagePatch(image).simple_query('?')\nimport os\nreturn os.getcwd() + n", vision)
    assert re.match(r"line 3: import of 'os' is not supported", run.fault)
    assert vision.asked == []


def test_the_clock_stops_a_program_between_steps() -> None:
    run = python("while True:\n    pass", Scripted(), Budget(seconds=0.0))
    assert "more than 0 s of computing" in run.fault
    assert run.steps < 200


def test_every_budget_can_be_made_smaller() -> None:
    budgets = {
        "nodes": (Budget(nodes=5), "more than 5 nodes"),
        "steps": (Budget(steps=5), "more than 5 steps"),
        "calls": (Budget(calls=1), "more than 1 calls"),
        "depth": (Budget(depth=4), "nested more than 8 deep"),
        "container": (Budget(container=2), "at most 2 are allowed"),
        "string": (Budget(string=150), "at most 150 are allowed"),
        "memory": (Budget(memory=100), "more than 100 bytes"),
        "bits": (Budget(bits=4), "at most 4 are allowed"),
    }
    code = (
        "p = ImagePatch(image)\na = p.simple_query('?') + p.simple_query('?')\nb = [[[[1, 2, 3]]]]\n"
        "return (a * 20, 15 + 15, len(b) + (1 + (1 + (1 + (1 + 1)))))"
    )
    for budget, reason in budgets.values():
        assert reason in python(code, Scripted(answers={"?": "answered"}), budget).fault


VALID = SIMPLE | WITH_CLASSES
TOKENS = (
    *("execute_command", "image", "ImagePatch", "x", "find", "len", "sorted", "max", "__class__", "eval", "math", "e"),
    *("def", "return", "for", "in", "if", "else", "while", "lambda", "try", "except", "import", "del", "and", "not"),
    *("class", "self", "yield", "yield from", "match", "case", "with", "@", "super()", "__init__", "__eq__", "_", "as"),
    *("(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "+=", "**", "*", "//", "<", "==", "-", "~", "<<"),
    *("0", "1", "1e308", "99999999999", "'a'", "f'{x}'", "''", "\n", "\n    ", "\n        ", "\\", "\0", "#"),
)
SOUP = st.lists(st.sampled_from(TOKENS), max_size=40).map(" ".join)
SMALL = Budget(steps=2_000, calls=20)


@examples(200)
@given(st.one_of(st.text(max_size=80), SOUP, SOUP.map(lambda soup: f"def execute_command(image):\n    return {soup}")))
def test_whatever_the_text_a_run_is_a_record(code: str) -> None:
    for run in (whole(code, Scripted(), SMALL), steps(code, Scripted(), SMALL)):
        assert run.model_dump_json()


@examples(200)
@given(st.sampled_from(sorted(VALID)), st.integers(0, 400), st.sampled_from(TOKENS), st.integers(0, 12))
def test_a_good_program_with_a_piece_replaced_is_a_record_too(name: str, place: int, token: str, length: int) -> None:
    code = VALID[name]
    start = place % len(code)
    assert python(code[:start] + token + code[start + length :], Scripted(), SMALL).model_dump_json()
