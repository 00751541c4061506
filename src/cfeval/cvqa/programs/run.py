"""Running a program in either language, with the paper's fall-back: the question put to the whole image."""

from cfeval.cvqa.programs.builtins import call
from cfeval.cvqa.programs.image_patch import SURFACE, normalise
from cfeval.cvqa.programs.limits import (
    Broken,
    Budget,
    Meter,
    ProgramFault,
    Trace,
    Unsupported,
    calls_of_step,
    clean,
    cut,
    from_python,
)
from cfeval.cvqa.programs.modules import OFFERED
from cfeval.cvqa.programs.parser import names_read, parse
from cfeval.cvqa.programs.statements import run as run_statements
from cfeval.cvqa.programs.values import Frame, Function, Image, Machine
from cfeval.cvqa.programs.vision import Eyes, View, Vision, VisionError
from cfeval.cvqa.programs.visprog import run_visprog
from cfeval.cvqa.records import Language, ProgramRun, TraceStep

ENTRY = "execute_command"


def run_vipergpt(code: str, machine: Machine) -> object:
    """What a program's function returns for an image.

    Raises:
        ProgramFault: what the program does wrong.
        VisionError: a call to a model failed (its status is not `ok`); that is no fault of the program.
    """
    machine.surface = SURFACE
    tree = parse(code, machine.meter.budget)
    machine.read = frozenset(names_read(tree))
    frame = Frame(machine, Frame(machine, names=OFFERED | SURFACE))
    run_statements(tree.body, frame)
    function = frame.names.get(ENTRY)
    if not isinstance(function, Function):
        raise ProgramFault(f"there is no function {ENTRY}(image)")
    # Parameters beyond the first are what the surface calls by that name, as upstream.
    extra = function.names[1 : len(function.names) - len(function.defaults)]
    named = {name: frame.find(name) for name in extra}
    return call(function, [Image(machine.eyes.root)], named, machine)


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
    meter, trace = Meter(budget), Trace()
    machine = Machine(meter, trace, Eyes(vision, meter, root))
    result, nothing, fault = "", False, None
    try:
        if language == "vipergpt":
            value = run_vipergpt(code, machine)
            nothing = value is None
        else:
            value = run_visprog(code, machine)
        result = normalise(value)
        if nothing and none_is_fault:
            raise ProgramFault(NOTHING)
    except ProgramFault as error:
        result, fault = "", error
    except RecursionError as error:
        fault = from_python(error, 0)
    except Broken as broken:
        raise broken.error from None
    run = ProgramRun(
        language=language,
        code=clean(code),
        result=result,
        nothing=nothing,
        fault="" if fault is None else clean(str(fault)),
        unsupported=isinstance(fault, Unsupported),
        steps=meter.steps,
        calls=meter.calls,
        trace=tuple(trace.steps),
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
        update={"result": normalise(answer), "fallback": True, "calls": run.calls + 1, "trace": (*run.trace, step)}
    )
