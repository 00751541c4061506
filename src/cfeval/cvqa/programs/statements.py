"""Running statements. What ends a block early is handed up as a value: a `Returned`, or `_BREAK`, `_CONTINUE`."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core.errors import nearest
from cfeval.cvqa.programs.expressions import assign, defined, evaluate, item_of
from cfeval.cvqa.programs.limits import PYTHON_ERRORS, Exhausted, ProgramFault, from_python
from cfeval.cvqa.programs.math_module import MATH
from cfeval.cvqa.programs.operators import extended
from cfeval.cvqa.programs.values import Frame, iterate, key, kind, stored_names
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
    local = stored_names(node.body) - parameters
    frame.names[node.name] = defined(node.name, node.args, lambda inner: _body(node, inner), frame, local)


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
        frame.names[node.target.id] = extended(node.op, old, evaluate(node.value, frame), meter)


def _delete(node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.find(target.id)
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            _delete_item(evaluate(target.value, frame), evaluate(target.slice, frame), frame)
        else:
            raise ProgramFault("only names and items can be deleted")


def _delete_item(container: Any, index: Any, frame: Frame) -> None:
    if isinstance(container, dict):
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
    """`except` sees the program's own faults; a budget that is used up, and a model that failed, pass."""
    try:
        ended = run_block(node.body, frame)
    except Exhausted:
        raise
    except ProgramFault as fault:
        handler = next((one for one in node.handlers if _handles(one.type, fault.kind)), None)
        if handler is None:
            raise
        return run_block(handler.body, frame)
    return run_block(node.orelse, frame) if ended is None else ended


_BROADER = {"UnboundLocalError": "NameError"}


def _handles(named: ast.expr | None, fault: str) -> bool:
    """Whether an `except` is for a fault."""
    names = named.elts if isinstance(named, ast.Tuple) else [named]
    wanted = {name.id for name in names if isinstance(name, ast.Name)}
    return named is None or "Exception" in wanted or bool({fault, _BROADER.get(fault, fault)} & wanted)


def _assert(node: ast.Assert, frame: Frame) -> None:
    if not evaluate(node.test, frame):
        raise ProgramFault("an assertion of the program failed", kind="AssertionError")


def _import(node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        frame.names[alias.asname or alias.name] = MATH


def _import_from(node: ast.ImportFrom, frame: Frame) -> None:
    for alias in node.names:
        if alias.name not in MATH.members:
            raise ProgramFault(f"math offers no {alias.name!r}; {nearest(alias.name, MATH.members)}")
        frame.names[alias.asname or alias.name] = MATH.members[alias.name]


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
    ast.Assert: _assert,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Expr: _expression,
    ast.Pass: lambda *_: None,
    ast.Break: lambda *_: _BREAK,
    ast.Continue: lambda *_: _CONTINUE,
}
