"""Which interpreter runs the programs of `cvqa`: ours beside `pydantic-monty`, on idioms, replies and hostile texts.

Of the kept replies, each program in each habit of code models, also the traces are compared: which operations of the
vision were called with which texts, in which order.

uv pip install pydantic-monty; python -m bench.sandboxes
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import uuid4

from tests.cvqa.programs.hostile import BODIES
from tests.cvqa.programs.idioms import IDIOMS
from tests.cvqa.programs.replies import HABITS, PROGRAMS, VISION
from tests.cvqa.programs.scripted import ROOT
from tests.cvqa.programs.test_python_subset import pythons

from cfeval.cvqa.programs.image_patch import normalise
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.programs.run import run_program

SECONDS = 3.0
LOOKS = ("find", "exists", "simple_query", "compute_depth")
"""The operations of a vision that the kept replies call."""
Call = tuple[str, str]
"""An operation, and the texts it was called with."""
USE = {
    "any() stops at the first": "return any(p.exists('mug') for p in ImagePatch(image).find('mug'))",
    "sort by an operation": "return len(sorted(ImagePatch(image).find('mug'), key=lambda p: p.compute_depth()))",
    "next() of a generator": "return next(p.simple_query('What color?') for p in ImagePatch(image).find('mug'))",
    "a patch as a key": "return len({p: 1 for p in ImagePatch(image).find('mug')})",
    "del of an item": "l = ImagePatch(image).find('mug')\ndel l[0]\nreturn len(l)",
    "loop of 3,000": "t = 0\nfor i in range(3000):\n    t += i\nreturn t",
}


@dataclass
class Ran:
    """What a program gave, what it called, and how long it took; `trace` has its looks at the image."""

    result: str
    fault: str
    calls: int
    seconds: float
    trace: tuple[Call, ...] = ()


def ours(code: str) -> Ran:
    """A whole program by our interpreter."""
    VISION.answers["Is this a mug?"] = "yes"
    began = time.perf_counter()
    run = run_program("vipergpt", code, ROOT, VISION, fallback=False)
    looks = tuple((one.call, one.arguments.partition("), ")[2]) for one in run.trace if one.call in LOOKS)
    return Ran(run.result, run.fault, run.calls, time.perf_counter() - began, looks)


def montys(code: str) -> Ran:
    """The same by `pydantic-monty`, with the operations that `USE` and `PROGRAMS` need as methods of a host object."""
    monty: Any = import_module("pydantic_monty")

    class ImagePatch:
        left = 0

    calls, made = 0, monty.ClassType(ImagePatch, init=True)
    looks: list[Call] = []

    def patch() -> Any:
        return monty.ClassInstance(ImagePatch(), eager_attrs=("left",), class_type=made, id=uuid4())

    def reply(name: str, arguments: tuple[object, ...]) -> dict[str, object]:
        nonlocal calls
        calls += name not in ("__call__", "coerce_to_numeric", "bool_to_yesno")
        said = str(arguments[0]) if arguments else ""
        if name in LOOKS:
            looks.append((name, ", ".join(map(repr, arguments))))
        replies: dict[str, object] = {
            "__call__": patch(),
            "find": [patch() for _ in VISION.things.get(said, [])],
            "simple_query": VISION.answers.get(said),
            "exists": True,
            "compute_depth": 0.0,
            "coerce_to_numeric": 7,
            "bool_to_yesno": "yes" if arguments[:1] == (True,) else "no",
        }
        known = name in replies
        return {"return_value": replies[name]} if known else {"exception": NameError(f"name '{name}' is not defined")}

    global _POOL
    _POOL = _POOL or monty.Monty().__enter__()
    began = time.perf_counter()
    try:
        limits = {"max_memory": 64_000_000, "max_feed_duration_secs": SECONDS, "max_recursion_depth": 100}
        with _POOL.checkout(limits=limits) as session:
            inputs = {"ImagePatch": made, "image": "image"}
            shot = session.feed_start(f"{code}\nexecute_command(image)", inputs=inputs, print_callback=lambda *_: None)
            while not isinstance(shot, monty.MontyComplete):
                if isinstance(shot, monty.FunctionSnapshot) and not shot.is_os_function:
                    shot = shot.resume(reply(str(shot.function_name), shot.args))
                else:
                    shot = shot.resume_auto()
            return Ran(normalise(shot.output), "", calls, time.perf_counter() - began, tuple(looks))
    except ProgramFault as fault:
        return Ran("", str(fault), calls, time.perf_counter() - began)
    except monty.MontyError as error:
        return Ran("", f"{error}"[:100], calls, time.perf_counter() - began)


_POOL: Any = None


def _command(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"import math\ndef command():\n{lines}\ndef execute_command(image):\n    return str(command())"


def _body(body: str) -> str:
    return "def execute_command(image):\n" + "\n".join(f"    {line}" for line in body.split("\n"))


def corpus() -> dict[str, tuple[str, str]]:
    """Every kept reply: the program that is cut out of it, and its answer."""
    return {
        f"{program}, {habit}": (cut_program(wrap(code), "vipergpt"), answer)
        for program, (code, answer) in PROGRAMS.items()
        for habit, wrap in HABITS.items()
    }


def compared(runners: dict[str, Callable[[str], Ran]]) -> None:
    """Print how many of the kept replies each runs, and whose traces differ where all run."""
    replies = corpus()
    found = {name: {one: run(code) for one, (code, _) in replies.items()} for name, run in runners.items()}
    well = {name: [one for one, ran in of.items() if ran.result == replies[one][1]] for name, of in found.items()}
    for name, of in well.items():
        print(f"{name}: kept replies {len(of)} of {len(replies)}")
    both = [one for one in replies if all(one in of for of in well.values())]
    unlike = [one for one in both if len({of[one].trace for of in found.values()}) > 1]
    print(f"equal traces: {len(both) - len(unlike)} of {len(both)}; not: {', '.join(unlike[:9])}")


def main() -> None:
    """Print the table."""
    runners: dict[str, Callable[[str], Ran]] = {"ours": ours, "monty": montys}
    for name, run in runners.items():
        idioms = [idiom for idiom, body in IDIOMS.items() if run(_command(body)).result != pythons(body)]
        programs = [one for one, (code, answer) in PROGRAMS.items() if run(code).result != answer]
        print(f"{name}: idioms {len(IDIOMS) - len(idioms)} of {len(IDIOMS)}; not: {', '.join(idioms)}")
        print(f"{name}: programs {len(PROGRAMS) - len(programs)} of {len(PROGRAMS)}; not: {', '.join(programs)}")
        slow, open_ = [], []
        for one, (body, _) in BODIES.items():
            ran = run(_body(body))
            slow += [one] if ran.seconds > SECONDS + 1.5 else []
            open_ += [one] if not ran.fault else []
        print(f"{name}: of {len(BODIES)} hostile programs over {SECONDS:g} s: {', '.join(slow)}")
        print(f"{name}: ran to an end: {', '.join(open_)}")
        for use, body in USE.items():
            run(_body(body))
            ran = run(_body(body))
            print(f"{name}: {use}: {ran.result or ran.fault}; {ran.calls} calls, {1000 * ran.seconds:.1f} ms")
    compared(runners)


if __name__ == "__main__":
    main()
