"""Running statements. What ends a block early is handed up as a value: a `Returned`, or `_BREAK`, `_CONTINUE`."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core.errors import nearest
from cfeval.cvqa.programs.calls import call
from cfeval.cvqa.programs.expressions import assign, defined, evaluate, item_of, slice_of
from cfeval.cvqa.programs.limits import PYTHON_ERRORS, Exhausted, ProgramFault, from_python
from cfeval.cvqa.programs.modules import MODULES
from cfeval.cvqa.programs.operators import extended
from cfeval.cvqa.programs.text import text_of
from cfeval.cvqa.programs.values import Error, Frame, Native, iterate, key, kind, stored_names
from cfeval.cvqa.programs.vision import VisionError


@dataclass(frozen=True)
class Returned:
    """What a function returns."""

    value: object


_BREAK, _CONTINUE = object(), object()


def run_block(body: Sequence[ast.stmt], frame: Frame) -> object:
    """Run statements; None where they ran to their end."""
    for statement in body:
        ended = run_statement(statement, frame)
        if ended is not None:
            return ended
    return None


def run_statement(node: ast.stmt, frame: Frame) -> object:
    """Run one statement; whatever goes wrong in it becomes a fault with its line.

    A failed call to a model is no fault of the program and passes as it is.
    """
    frame.machine.meter.step()
    try:
        return _HANDLERS[type(node)](node, frame)
    except ProgramFault as fault:
        fault.line = fault.line or node.lineno
        raise
    except VisionError as error:
        if error.status != "ok":
            raise
        raise ProgramFault(str(error), node.lineno, "VisionError") from None
    except PYTHON_ERRORS as error:
        raise from_python(error, node.lineno) from None


def _function(node: ast.FunctionDef, frame: Frame) -> None:
    parameters = {parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)}
    own = (*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg)))
    local = stored_names(node.body) - parameters - {parameter.arg for parameter in own}
    frame.store(node.name, defined(node.name, node.args, lambda inner: _body(node, inner), frame, local))


def _body(node: ast.FunctionDef, frame: Frame) -> object:
    ended = run_block(node.body, frame)
    if ended is _BREAK or ended is _CONTINUE:
        raise ProgramFault("`break` and `continue` belong in loops", node.lineno, "SyntaxError")
    return ended.value if isinstance(ended, Returned) else None


def _return(node: ast.Return, frame: Frame) -> Returned:
    return Returned(None if node.value is None else evaluate(node.value, frame))


def _assign(node: ast.Assign, frame: Frame) -> None:
    value = evaluate(node.value, frame)
    for target in node.targets:
        assign(target, value, frame)


def _annotated(node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(node.target, evaluate(node.value, frame), frame)


def _augmented(node: ast.AugAssign, frame: Frame) -> None:
    """`target op= value`; the container and index of an item are evaluated once."""
    meter = frame.machine.meter
    if isinstance(node.target, ast.Subscript):
        container, index = evaluate(node.target.value, frame), evaluate(node.target.slice, frame)
        old = item_of(container, index, frame)
        new = extended(node.op, old, evaluate(node.value, frame), meter)
        if not isinstance(container, list | dict):
            raise ProgramFault(f"an item of {kind(container)} cannot be set", kind="TypeError")
        container[index] = new
    elif isinstance(node.target, ast.Name):
        old = frame.find(node.target.id)
        new = extended(node.op, old, evaluate(node.value, frame), meter)
        frame.store(node.target.id, new)


def _delete(node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.find(target.id)
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            container = evaluate(target.value, frame)
            index = target.slice
            of = slice_of(index, frame) if isinstance(index, ast.Slice) else evaluate(index, frame)
            _delete_item(container, of, frame)
        else:
            raise ProgramFault("only names and items can be deleted")


def _delete_item(container: Any, index: Any, frame: Frame) -> None:
    if isinstance(container, list) and isinstance(index, slice):
        frame.machine.meter.step(1 + len(container) // 64)
        del container[index]
    elif isinstance(container, dict):
        del container[key(index, frame.machine.meter)]
    elif isinstance(container, list) and isinstance(index, int):
        frame.machine.meter.step(1 + len(container) // 64)
        del container[index]
    else:
        raise ProgramFault(f"an item of {kind(container)} cannot be deleted", kind="TypeError")


def _for(node: ast.For, frame: Frame) -> object:
    for item in iterate(evaluate(node.iter, frame), frame.machine.meter):
        assign(node.target, item, frame)
        ended = run_block(node.body, frame)
        if ended is _BREAK:
            return None
        if isinstance(ended, Returned):
            return ended
    return run_block(node.orelse, frame)


def _while(node: ast.While, frame: Frame) -> object:
    while evaluate(node.test, frame):
        ended = run_block(node.body, frame)
        if ended is _BREAK:
            return None
        if isinstance(ended, Returned):
            return ended
    return run_block(node.orelse, frame)


def _if(node: ast.If, frame: Frame) -> object:
    return run_block(node.body if evaluate(node.test, frame) else node.orelse, frame)


def _try(node: ast.Try, frame: Frame) -> object:
    """`except` and `finally` see the program's own faults; a used-up budget, and a model that failed, pass both."""
    try:
        ended = _tried(node, frame)
    except Exhausted:
        raise
    except ProgramFault:
        ended = run_block(node.finalbody, frame)
        if ended is None:
            raise
        return ended
    last = run_block(node.finalbody, frame)
    return ended if last is None else last


def _tried(node: ast.Try, frame: Frame) -> object:
    try:
        ended = run_block(node.body, frame)
    except Exhausted:
        raise
    except ProgramFault as fault:
        handler = next((one for one in node.handlers if _handles(one.type, fault.kind)), None)
        if handler is None:
            raise
        return _handle(handler, fault, frame)
    return run_block(node.orelse, frame) if ended is None else ended


def _handle(handler: ast.ExceptHandler, fault: ProgramFault, frame: Frame) -> object:
    """Run the body of an `except`; a bare `raise` in it raises the fault again."""
    machine = frame.machine
    if handler.name:
        frame.store(handler.name, Error(fault.kind, fault.message))
    machine.handled.append(fault)
    try:
        return run_block(handler.body, frame)
    finally:
        machine.handled.pop()
        if handler.name:
            frame.shared.get(handler.name, frame).names.pop(handler.name, None)


def _raise(node: ast.Raise, frame: Frame) -> None:
    if node.exc is None:
        if not frame.machine.handled:
            raise ProgramFault("there is no exception to raise again", kind="RuntimeError")
        raise frame.machine.handled[-1]
    error = evaluate(node.exc, frame)
    if isinstance(error, Native):
        error = call(error, (), {}, frame.machine)
    if not isinstance(error, Error):
        raise ProgramFault(f"only an exception can be raised, not {kind(error)}", kind="TypeError")
    raise ProgramFault(f"the program raised {error.kind}: {error.message}", kind=error.kind, message=error.message)


def _outer(node: ast.Global | ast.Nonlocal, frame: Frame) -> None:
    """Names of the module, or of the nearest function around that has them."""
    for name in node.names:
        outer = frame.outer
        while outer is not None and outer.outer is not None:
            is_module = outer.outer.outer is None
            if is_module or (isinstance(node, ast.Nonlocal) and (name in outer.names or name in outer.local)):
                break
            outer = outer.outer
        if outer is not None:
            frame.shared[name] = outer


_BROADER = {
    "UnboundLocalError": ("NameError",),
    "IndexError": ("LookupError",),
    "KeyError": ("LookupError",),
    "ZeroDivisionError": ("ArithmeticError",),
    "OverflowError": ("ArithmeticError",),
    "NotImplementedError": ("RuntimeError",),
}
"""What else an `except` may name to handle an exception."""


def _handles(named: ast.expr | None, fault: str) -> bool:
    """Whether an `except` is for a fault."""
    names = named.elts if isinstance(named, ast.Tuple) else [named]
    wanted = {name.id for name in names if isinstance(name, ast.Name)}
    return named is None or "Exception" in wanted or bool({fault, *_BROADER.get(fault, ())} & wanted)


def _assert(node: ast.Assert, frame: Frame) -> None:
    if not evaluate(node.test, frame):
        said = "" if node.msg is None else text_of(evaluate(node.msg, frame), frame.machine.meter)
        reason = f"an assertion of the program failed{': ' if said else ''}{said}"
        raise ProgramFault(reason, kind="AssertionError", message=said)


def _import(node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        frame.store(alias.asname or alias.name, MODULES[alias.name])


def _import_from(node: ast.ImportFrom, frame: Frame) -> None:
    module = MODULES[node.module or ""]
    for alias in node.names:
        if alias.name not in module.members:
            reason = f"{module.name} offers no {alias.name!r}; {nearest(alias.name, module.members)}"
            raise ProgramFault(reason, kind="ImportError")
        frame.store(alias.asname or alias.name, module.members[alias.name])


def _expression(node: ast.Expr, frame: Frame) -> None:
    evaluate(node.value, frame)


_HANDLERS: dict[type[ast.stmt], Callable[[Any, Frame], object]] = {
    ast.FunctionDef: _function,
    ast.Return: _return,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Try: _try,
    ast.Raise: _raise,
    ast.Global: _outer,
    ast.Nonlocal: _outer,
    ast.Assert: _assert,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Expr: _expression,
    ast.Pass: lambda *_: None,
    ast.Break: lambda *_: _BREAK,
    ast.Continue: lambda *_: _CONTINUE,
}
