"""Only prose and fences are cut from a coder's reply: code that does not parse is a fault, wherever the break is."""

# ruff: noqa: E501 - a program is one text

from collections.abc import Callable

import pytest

from cfeval.cvqa.programs.reply import cut_program
from tests.cvqa.programs.replies import HABITS, PROGRAMS, STEP_HABITS, STEPS, VISION
from tests.cvqa.programs.scripted import steps, whole


def _last_return(code: str, change: Callable[[str], str]) -> str:
    """A program whose last `return` is written otherwise."""
    before, _, after = code.rpartition("return ")
    line, _, rest = after.partition("\n")
    return f"{before}{change(f'return {line}')}\n{rest}".rstrip("\n")


BREAKS: dict[str, Callable[[str], str]] = {
    "operators in a row": lambda code: _last_return(code, lambda line: f"{line} -* 1"),
    "parenthesis that stays open": lambda code: _last_return(code, lambda line: f"{line} + len(("),
    "parenthesis too many": lambda code: _last_return(code, lambda line: f"{line})"),
    "text that stays open": lambda code: _last_return(code, lambda line: f"{line} or 'no"),
    "cut within a word": lambda code: _last_return(code, lambda line: "if len(patch"),
    "no colon behind the head": lambda code: _without_colon(code),
    "wrong margin": lambda code: _last_return(code, lambda line: f"pass\n      {line}"),
    "words for code": lambda code: _last_return(code, lambda line: "return the number of mugs that are left"),
    "another language": lambda code: _last_return(code, lambda line: f"{line};}} else {{ return 0; }}"),
    "return at the margin": lambda code: _at_margin(code),
    "loop control without a loop": lambda code: _last_return(code, lambda line: f"break;{line}"),
    "assignment to a call": lambda code: _last_return(code, lambda line: f"len(x) = 3;{line}"),
}


def _without_colon(code: str) -> str:
    before, _, after = code.partition("def execute_command")
    return f"{before}def execute_command{after.replace('):', ')', 1).replace(') -> int:', ') -> int', 1)}"


def _at_margin(code: str) -> str:
    """The program with its last line, a `return`, at the margin."""
    before, _, after = code.rpartition("\n    return ")
    return f"{before}\n    pass\nreturn {after}"


@pytest.mark.parametrize("name", BREAKS)
def test_a_program_with_a_break_is_a_fault_in_whatever_form_it_comes(name: str) -> None:
    ran = {}
    for program, (code, _) in PROGRAMS.items():
        for habit, wrap in HABITS.items():
            run = whole(cut_program(wrap(BREAKS[name](code)), "vipergpt"), VISION)
            if "not Python" not in run.fault or run.unsupported or run.result:
                ran[program, habit] = (run.result, run.fault)
    assert not ran


@pytest.mark.parametrize("habit", STEP_HABITS)
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("cut", [")", "')", "(", "="])
def test_a_step_with_a_break_is_a_fault_and_never_left_out(habit: str, number: int, cut: str) -> None:
    lines = STEPS.split("\n")
    if cut not in lines[number]:
        return
    start, _, end = lines[number].rpartition(cut)
    lines[number] = start + end
    run = steps(cut_program(STEP_HABITS[habit]("\n".join(lines)), "visprog"), VISION)
    assert run.fault
    assert not run.result


@pytest.mark.parametrize(
    "reply",
    [
        "patch = ImagePatch(image)\nreturn len(patch.find('mug')) -* 1",
        "    patch = ImagePatch(image)\n    return len(patch.find('mug')",
        "```python\npatch = ImagePatch(image)\nreturn len(patch.find('mug') -* 1\n```",
        "```python\ndef execute_command(image):\n    return 3\n```\nBetter:\n```python\ndef execute_command(image):\n    return 3 -* 1\n```",
        "def execute_command(image):\n    return count(image)\n\ndef count(image)\n    return 3",
        "LIMITS = {'a': 1\n\ndef execute_command(image):\n    return LIMITS['a']",
        "import math as\n\ndef execute_command(image):\n    return math.floor(3.5)",
        "@functools.\ndef execute_command(image):\n    return 3",
        "def execute_command(image):\n    try:\n        return 3\n",
        "def execute_command(image)\n    return 3\n\nThis counts the mugs.",
    ],
)
def test_a_break_anywhere_else_is_a_fault_too(reply: str) -> None:
    run = whole(cut_program(reply, "vipergpt"), VISION)
    assert "not Python" in run.fault
    assert run.result == ""


@pytest.mark.parametrize(
    "around",
    [
        "{code}\n\nThis function counts the mugs. It looks at the image first.",
        "{code}\n\n    This function counts the mugs.",
        "I would count them:\n\n    {indented}\n\nThat is all.",
        "import what you need first.\n{code}\nNote: the result = 3 mugs here.",
        "For each mug we look.\n{code}\nif that fails, the whole image is asked instead",
        "```\nHere is the function:\n{code}\n```",
        "```python\n{code}\n\nThis function counts the mugs.",
        "{code}\n\nfind('mug') returns all mugs\nImagePatch(image) covers the whole image",
        "def execute_command(image):\n    n = 3\nNow the answer is returned.\n    return n",
        "{code}\n\nUse it like this:\n\n  found = execute_command(picture)\n  print(found)",
        "{code}\n\nExplanation:\n- find the mugs\n- count them\n1. done",
    ],
)
def test_prose_around_a_program_is_cut(around: str) -> None:
    code = "def execute_command(image):\n    patch = ImagePatch(image)\n    return len(patch.find('mug'))"
    reply = around.replace("{code}", code).replace("{indented}", code.replace("\n", "\n    "))
    run = whole(cut_program(reply, "vipergpt"), VISION)
    assert (run.result, run.fault) == ("3", "")


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (
            "N = {}\nfor k in ['mug', 'dog']:\n    N[k] = 2\nN.update(cat=1)\n\ndef execute_command(image):\n    return sum(N.values())",
            "5",
        ),
        (
            "def main():\n    img = Image.open('a.png')\n    print(execute_command(img))\n\ndef execute_command(image):\n    return 3",
            "3",
        ),
        (
            "from PIL import Image\nimport numpy as np\n\ndef execute_command(image: Image.Image) -> str:\n    return 'a'",
            "a",
        ),
        (
            "from PIL import Image\n\ndef execute_command(image: Image.Image):\n    return isinstance(image, Image.Image)",
            "yes",
        ),
        (
            "class Helper:\n    def n(self):\n        return 4\n\nh = Helper()\n\ndef execute_command(image):\n    return h.n()",
            "4",
        ),
        (
            "total = 0\n\ndef add(n):\n    global total\n    total += n\n\ndef execute_command(image):\n    add(2)\n    return total",
            "2",
        ),
        ("if True:\n    K = 2\nelse:\n    K = 3\n\ndef execute_command(image):\n    return K", "2"),
    ],
)
def test_what_a_program_needs_of_its_module_comes_with_it_and_nothing_else(reply: str, result: str) -> None:
    for text in (reply, f"```python\n{reply}\n```"):
        run = whole(cut_program(text, "vipergpt"), VISION)
        assert (run.result, run.fault) == (result, "")
