"""Running a program in either language, with the paper's fall-back: the question put to the whole image."""

from dataclasses import replace

from cfeval.cvqa.programs import visprog
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
    calls_of_step,
    clean,
    cut,
    failed,
    from_python,
    returned,
)
from cfeval.cvqa.programs.modules import OFFERED
from cfeval.cvqa.programs.parser import names_read, parse
from cfeval.cvqa.programs.statements import run as run_statements
from cfeval.cvqa.programs.values import Frame, Function, Image, Machine
from cfeval.cvqa.programs.vision import Eyes, View, Vision, VisionError
from cfeval.cvqa.records import Language, ProgramRun, TraceStep

ENTRY = "execute_command"


def run_vipergpt(code: str, root: View, vision: Vision, budget: Budget) -> Outcome:
    """Run a program on an image. What it does wrong is the outcome's `fault`, one line.

    Raises:
        VisionError: a call to a model failed (its status is not `ok`); that is no fault of the program.
    """
    meter, trace = Meter(budget), Trace()
    machine = Machine(meter, trace, Eyes(vision, meter, root), surface=SURFACE)
    try:
        tree = parse(code, budget)
        machine.read = frozenset(names_read(tree))
        frame = Frame(machine, Frame(machine, names=OFFERED | SURFACE))
        run_statements(tree.body, frame)
        function = frame.names.get(ENTRY)
        if not isinstance(function, Function):
            raise ProgramFault(f"there is no function {ENTRY}(image)")
        # What the function returns; parameters beyond the first are what the surface calls by that name, as upstream.
        extra = function.names[1 : len(function.names) - len(function.defaults)]
        named = {name: frame.find(name) for name in extra}
        value = call(function, [Image(root)], named, machine)
        return returned(normalise(value), meter, trace, nothing=value is None)
    except ProgramFault as fault:
        return failed(fault, meter, trace)
    except RecursionError as error:
        return failed(from_python(error, 0), meter, trace)
    except Broken as broken:
        raise broken.error from None


_RUNNERS = {"vipergpt": run_vipergpt, "visprog": visprog.run_visprog}
DEFAULT = Budget()
# The fault of a program that ran to its end without an answer.
NOTHING = "the program returned nothing; end it with `return` and the answer"


def run_program(
    language: Language,
    code: str,
    root: View,
    vision: Vision,
    budget: Budget = DEFAULT,
    question: str = "",
    fallback: bool = True,
    none_is_fault: bool = False,
) -> ProgramRun:
    """Run a program on an image; where it fails and there is a question, ask that of the whole image instead.

    A program that returns nothing answers `no`, as in ViperGPT, or has failed where `none_is_fault`. The same program
    on the same vision gives the same record. Where the fall-back fails too, `result` is empty.

    Raises:
        VisionError: a call to a model failed (its status is not `ok`).
    """
    done = _RUNNERS[language](code, root, vision, budget)
    if done.nothing and none_is_fault:
        done = replace(done, result="", fault=NOTHING)
    run = ProgramRun(
        language=language,
        code=clean(code),
        result=done.result,
        nothing=done.nothing,
        fault=clean(done.fault),
        unsupported=done.unsupported,
        steps=done.steps,
        calls=done.calls,
        trace=tuple(done.trace),
    )
    return _fallen_back(run, root, vision, question) if run.fault and fallback and question else run


def _fallen_back(run: ProgramRun, root: View, vision: Vision, question: str) -> ProgramRun:
    """The run with the answer to the question about the whole image; its step in the trace has line 0."""
    calls_of_step()  # those of an operation that failed belong to no step
    try:
        answer = vision.ask(root, question)
    except VisionError as error:
        if error.status != "ok":
            raise
        fault = clean(f"{run.fault}; the fall-back failed too: {' '.join(str(error).split())}")
        return run.model_copy(update={"fault": fault, "fallback": True})
    step = TraceStep(
        line=0, call="fallback", arguments=cut(repr(question)), result=cut(repr(answer)), calls=calls_of_step()
    )
    return run.model_copy(
        update={
            "result": normalise(answer),
            "fallback": True,
            "calls": run.calls + 1,
            "trace": (*run.trace, step),
        }
    )
