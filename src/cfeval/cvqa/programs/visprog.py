"""Running VisProg's programs (CVPR 2023): lines `OUT=STEP(name=value,…)`, each value a variable or a text.

A line is read as a syntax tree of exactly that form; the output of the last line is the program's answer. Unlike
upstream, boxes are those of the whole image also within crops, and an error in a line says what is allowed.
"""

import ast
from dataclasses import dataclass

from cfeval.core.errors import nearest
from cfeval.cvqa.programs.coercion import normalise
from cfeval.cvqa.programs.limits import (
    PYTHON_ERRORS,
    Broken,
    Budget,
    Exhausted,
    Meter,
    Outcome,
    ProgramFault,
    Trace,
    failed,
    from_python,
    returned,
)
from cfeval.cvqa.programs.parser import parsed
from cfeval.cvqa.programs.text import glimpse
from cfeval.cvqa.programs.values import Frame, Machine
from cfeval.cvqa.programs.vision import Eyes, View, Vision, VisionError
from cfeval.cvqa.programs.visprog_steps import STEPS, Step


@dataclass(frozen=True)
class Line:
    """One line of a program: where it stands, the variable it writes, its step and arguments."""

    number: int
    output: str
    step: str
    arguments: dict[str, ast.Name | ast.Constant]


def run(code: str, root: View, vision: Vision, budget: Budget) -> Outcome:
    """Run a program on an image. What it does wrong is the outcome's `fault`, one line.

    Raises:
        VisionError: a call to a model failed (its status is not `ok`); that is no fault of the program.
    """
    meter, trace = Meter(budget), Trace()
    machine = Machine(meter, trace, Eyes(vision, meter, root))
    try:
        return returned(_answer(read(code, budget), Frame(machine, names={"IMAGE": root})), meter, trace)
    except ProgramFault as fault:
        return failed(fault, meter, trace)
    except Broken as broken:
        raise broken.error from None


def read(code: str, budget: Budget) -> list[Line]:
    """The lines of a program, each checked before the first is run.

    Raises:
        ProgramFault: a line that is no step, or a step or argument that there is not.
    """
    tree = parsed("\n".join(line.strip() for line in code.split("\n")), budget)
    nodes = sum(1 for _ in ast.walk(tree))
    if nodes > budget.nodes:
        raise Exhausted(f"a program of {nodes} nodes; at most {budget.nodes} are allowed")
    lines = [_line(node) for node in tree.body]
    if not lines:
        raise ProgramFault("the program is empty; it needs at least one line OUT=STEP(name=value,…)")
    return lines


def _line(node: ast.stmt) -> Line:
    form = "a line has the form OUT=STEP(name=value,…), each value a variable or a text"
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        raise ProgramFault(f"not a step; {form}", node.lineno)
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call.func, ast.Name):
        raise ProgramFault(f"not a step; {form}", node.lineno)
    if target.id.startswith("_"):
        raise ProgramFault(f"{target.id!r}: a variable does not start with an underscore", node.lineno)
    if call.func.id not in STEPS:
        raise ProgramFault(f"there is no step {call.func.id!r}; {nearest(call.func.id, STEPS)}", node.lineno)
    if call.args:
        raise ProgramFault(f"an argument without a name; {form}", node.lineno)
    arguments = {keyword.arg or "**": _value(keyword.value, node.lineno) for keyword in call.keywords}
    _check_arguments(call.func.id, STEPS[call.func.id], set(arguments), node.lineno)
    return Line(node.lineno, target.id, call.func.id, arguments)


def _value(node: ast.expr, line: int) -> ast.Name | ast.Constant:
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise ProgramFault("a text with half a surrogate pair is not allowed", line)
        return node
    raise ProgramFault("the value of an argument is a variable or a text in quotes", line)


def _check_arguments(name: str, step: Step, given: set[str], line: int) -> None:
    if given != set(step.arguments):
        wanted, got = ", ".join(step.arguments), ", ".join(sorted(given)) or "nothing"
        raise ProgramFault(f"{name} takes {wanted}; it was given {got}", line)


def _answer(lines: list[Line], state: Frame) -> str:
    for line in lines:
        _run(line, state)
    return normalise(state.names[lines[-1].output])


def _run(line: Line, state: Frame) -> None:
    machine = state.machine
    machine.meter.step()
    try:
        values = {name: _bound(node, state) for name, node in line.arguments.items()}
        result = STEPS[line.step].run(state, **values)
    except ProgramFault as fault:
        fault.line = line.number
        raise
    except VisionError as error:
        if error.status != "ok":
            raise
        raise ProgramFault(str(error), line.number) from None
    except PYTHON_ERRORS as error:
        raise from_python(error, line.number) from None
    state.names[line.output] = machine.meter.keep(result)
    if line.step == "LOC":
        state.names[f"{line.output}_IMAGE"] = values["image"]
    shown = ", ".join(f"{name}={glimpse(value)}" for name, value in values.items())
    machine.trace.add(line.number, line.step, shown, glimpse(result))


def _bound(node: ast.Name | ast.Constant, state: Frame) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if node.id not in state.names:
        raise ProgramFault(f"{node.id!r} is not defined; {nearest(node.id, state.names)}")
    return state.names[node.id]
