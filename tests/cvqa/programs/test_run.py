"""Either language through one door: the fall-back, failed models, and records that can always be written."""

import json

import pytest

from cfeval.core.records import Status
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View, VisionError
from cfeval.cvqa.records import Language
from tests.cvqa.programs.scripted import ROOT, Scripted

PROGRAMS: dict[Language, str] = {
    "vipergpt": "def execute_command(image):\n    return ImagePatch(image).simple_query('How many?')\n",
    "visprog": "A=VQA(image=IMAGE,question='How many?')\n",
}
LANGUAGES = list(PROGRAMS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_that_fails_falls_back_to_the_question_about_the_whole_image(language: Language) -> None:
    vision = Scripted(answers={"What is it?": "A Cat"})
    run = run_program(language, "this is no program", ROOT, vision, question="What is it?")
    assert (run.result, run.fallback, run.calls) == ("a cat", True, 1)
    assert run.fault.startswith("line 1: not Python")
    assert vision.asked == [("ask", ROOT.box, "What is it?")]
    step = run.trace[-1]
    assert (step.line, step.call, step.arguments, step.result) == (0, "fallback", "'What is it?'", "'A Cat'")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_that_runs_does_not_fall_back(language: Language) -> None:
    run = run_program(language, PROGRAMS[language], ROOT, Scripted(answers={"How many?": "3"}), question="Q?")
    assert (run.result, run.fallback, run.fault, run.calls, run.language) == ("3", False, "", 1, language)


def test_the_fall_back_can_be_left_out() -> None:
    run = run_program("vipergpt", "?", ROOT, Scripted(), question="Q?", fallback=False)
    assert (run.result, run.fallback) == ("", False)
    assert run_program("vipergpt", "?", ROOT, Scripted()).fallback is False


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_vision_does_not_offer_is_the_programs_fault(language: Language) -> None:
    vision = Scripted(fails=VisionError("no questions can be asked\nhere"))
    run = run_program(language, PROGRAMS[language], ROOT, vision, question="Q?")
    assert (run.result, run.fallback) == ("", True)
    assert run.fault.endswith(
        "no questions can be asked here; the fall-back failed too: no questions can be asked here"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_failed_is_no_fault_of_the_program(language: Language) -> None:
    vision = Scripted(fails=VisionError("the line is dead", Status.TRANSPORT_ERROR))
    with pytest.raises(VisionError, match="the line is dead"):
        run_program(language, PROGRAMS[language], ROOT, vision, question="Q?")
    with pytest.raises(VisionError, match="the line is dead"):
        run_program(language, "no program", ROOT, vision, question="Q?")


def test_a_program_cannot_catch_a_model_that_failed_but_can_catch_what_is_not_offered() -> None:
    body = (
        "def execute_command(image):\n    try:\n        return llm_query('a')\n    except:\n        return 'caught'\n"
    )
    assert run_program("vipergpt", body, ROOT, Scripted(fails=VisionError("not offered"))).result == "caught"
    with pytest.raises(VisionError):
        run_program("vipergpt", body, ROOT, Scripted(fails=VisionError("dead", Status.REFUSED)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_defect_of_a_vision_keeps_its_traceback(language: Language) -> None:
    with pytest.raises(TypeError, match="a defect"):
        run_program(language, PROGRAMS[language], ROOT, Scripted(fails=TypeError("a defect")), question="Q?")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_record_can_be_written_whatever_the_program_and_the_model_say(language: Language) -> None:
    said = "half \ud83d a pair"
    run = run_program(language, PROGRAMS[language], ROOT, Scripted(answers={"How many?": said}))
    assert json.loads(run.model_dump_json())["result"] == "half \\ud83d a pair"
    broken = run_program(language, "A = '\ud83d'", ROOT, Scripted(answers={"Q?": said}), question="Q?")
    assert json.loads(broken.model_dump_json())["fallback"] is True


def test_the_root_may_be_a_part_of_an_image() -> None:
    vision = Scripted()
    part = type(ROOT)(ROOT.image, (50, 20, 150, 80))
    body = ("p = ImagePatch(image)", "p.crop(30, 30, 40, 40).simple_query('?')", "return p.width")
    code = "\n    ".join(("def execute_command(image):", *body))
    assert run_program("vipergpt", code, part, vision).result == "100"
    assert vision.asked == [("ask", (70, 30, 100, 60), "?")]


class Deep(Scripted):
    """A vision that needs as much of the stack as a neural network does."""

    def ask(self, view: View, question: str) -> str:
        return self._down(150)

    def _down(self, left: int) -> str:
        return self._down(left - 1) if left else "3"


def test_no_program_that_recurses_into_a_vision_operation_ends_the_study() -> None:
    ran = []
    for nesting in range(0, 40, 3):
        for depth in (2, 20, 22):
            value = "[" * nesting + "f(n - 1)" + "]" * nesting
            body = f"    if n == 0:\n        return ImagePatch(image).simple_query('?')\n    x = {value}\n    return 1"
            code = f"def execute_command(image):\n    return f({depth})\ndef f(n):\n{body.replace('image)', 'IMAGE)')}"
            code = code.replace("    return f(", "    global IMAGE\n    IMAGE = image\n    return f(", 1)
            run = run_program("vipergpt", code, ROOT, Deep())
            assert run.result == "1" or "nested too deeply" in run.fault, run.fault
            ran.append(run.result)
    assert set(ran) == {"1", ""}
