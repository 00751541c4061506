"""Running ViperGPT's programs (ICCV 2023): `def execute_command(image)` and what it may use.

A subset of Python, walked as a syntax tree: nothing is compiled or executed, and no name leads anywhere but to the
functions in `builtins`, `modules` and `image_patch` of this package and to the methods in `methods`.
"""

import ast

from cfeval.cvqa.programs.calls import call
from cfeval.cvqa.programs.coercion import normalise
from cfeval.cvqa.programs.image_patch import SURFACE
from cfeval.cvqa.programs.limits import (
    Broken,
    Budget,
    Meter,
    Outcome,
    ProgramFault,
    Trace,
    failed,
    from_python,
    returned,
)
from cfeval.cvqa.programs.modules import OFFERED
from cfeval.cvqa.programs.parser import names_read, parse
from cfeval.cvqa.programs.statements import run as run_statements
from cfeval.cvqa.programs.values import Frame, Function, Image, Machine
from cfeval.cvqa.programs.vision import Eyes, View, Vision

ENTRY = "execute_command"


def run(code: str, root: View, vision: Vision, budget: Budget) -> Outcome:
    """Run a program on an image. What it does wrong is the outcome's `fault`, one line.

    Raises:
        VisionError: a call to a model failed (its status is not `ok`); that is no fault of the program.
    """
    meter, trace = Meter(budget), Trace()
    machine = Machine(meter, trace, Eyes(vision, meter, root), surface=SURFACE)
    try:
        value = _value(parse(code, budget), machine, root)
        return returned(normalise(value), meter, trace, nothing=value is None)
    except ProgramFault as fault:
        return failed(fault, meter, trace)
    except RecursionError as error:
        return failed(from_python(error, 0), meter, trace)
    except Broken as broken:
        raise broken.error from None


def _value(tree: ast.Module, machine: Machine, root: View) -> object:
    machine.read = frozenset(names_read(tree))
    frame = Frame(machine, Frame(machine, names=OFFERED | SURFACE))
    run_statements(tree.body, frame)
    function = frame.names.get(ENTRY)
    if not isinstance(function, Function):
        raise ProgramFault(f"there is no function {ENTRY}(image)")
    return _returned(function, frame, machine, root)


def _returned(function: Function, frame: Frame, machine: Machine, root: View) -> object:
    """What the function returns; parameters beyond the first are what the surface calls by that name, as upstream."""
    extra = function.names[1 : len(function.names) - len(function.defaults)]
    named = {name: frame.find(name) for name in extra}
    return call(function, [Image(root)], named, machine)
