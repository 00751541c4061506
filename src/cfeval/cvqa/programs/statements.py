"""Running statements. What ends a block early is returned as a value: a `Returned`, or `_BREAK`, `_CONTINUE`.

A block is a generator of Python's, so that a function of a program that yields can stop within it and go on; a function
that does not yield runs it to its end.
"""

import ast
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core.errors import nearest
from cfeval.cvqa.programs.builtins import call, instantiate, is_exception
from cfeval.cvqa.programs.classes import close_class, delete_member, open_class, set_member
from cfeval.cvqa.programs.expressions import CLASS, assign, defined, evaluate, item_of, matches, slice_of
from cfeval.cvqa.programs.limits import PYTHON_ERRORS, Exhausted, ProgramFault, Unsupported, from_python
from cfeval.cvqa.programs.methods import attribute
from cfeval.cvqa.programs.modules import MODULES
from cfeval.cvqa.programs.operators import extended, text_of
from cfeval.cvqa.programs.parser import EXCEPTIONS, exists
from cfeval.cvqa.programs.values import (
    Class,
    Error,
    Frame,
    Instance,
    Lazy,
    Machine,
    Native,
    Suppressed,
    iterate,
    key,
    kind,
    stored_names,
)
from cfeval.cvqa.programs.vision import VisionError

# A block as it runs: it yields what the program yields, and returns what ended it.
Block = Generator[object, None, object]


@dataclass(frozen=True)
class Returned:
    """What a function returns."""

    value: object


_BREAK, _CONTINUE = object(), object()


def run(body: Sequence[ast.stmt], frame: Frame) -> object:
    """Run statements to their end, or to what ends them early."""
    try:
        next(_block(body, frame))
    except StopIteration as end:
        return end.value
    raise AssertionError("a block without `yield` yields nothing")


def _block(body: Sequence[ast.stmt], frame: Frame) -> Block:
    """Run statements; None where they ran to their end. Whatever goes wrong in one becomes a fault with its line."""
    for statement in body:
        frame.machine.meter.step()
        try:
            if isinstance(getattr(statement, "value", None), ast.Yield | ast.YieldFrom):
                ended = yield from _yield(statement, frame)
            elif type(statement) in _COMPOUND:
                ended = yield from _COMPOUND[type(statement)](statement, frame)
            else:
                ended = _SIMPLE[type(statement)](statement, frame)
        except Exception as error:
            raise _located(error, statement.lineno) from None
        if ended is not None:
            return ended
    return None


def _located(error: Exception, line: int) -> Exception:
    """An error as the program's fault, with its line; a failed call to a model is no fault of the program."""
    if isinstance(error, ProgramFault):
        error.line = error.line or line
        return error
    if isinstance(error, VisionError):
        return error if error.status != "ok" else ProgramFault(str(error), line, "VisionError")
    return from_python(error, line) if isinstance(error, PYTHON_ERRORS) else error


def _yield(node: Any, frame: Frame) -> Block:
    """`yield`, alone or assigned; nothing is ever sent in."""
    if isinstance(node.value, ast.YieldFrom):
        yield from iterate(evaluate(node.value.value, frame), frame.machine.meter)
    else:
        yield None if node.value.value is None else evaluate(node.value.value, frame)
    for target in getattr(node, "targets", ()):
        assign(target, None, frame)
    return None


def _function(node: ast.FunctionDef, frame: Frame) -> None:
    parameters = {parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)}
    own = (*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg)))
    local = stored_names(node.body) - parameters - {parameter.arg for parameter in own}
    body = (lambda node, frame: Lazy(_resumed(_block(node.body, frame), frame.machine))) if _yields(node) else _body
    function = defined(node.name, node.args, lambda inner: body(node, inner), frame, local)
    frame.store(node.name, _decorated(function, node.decorator_list, frame))


def _decorated(value: object, decorators: Sequence[ast.expr], frame: Frame) -> object:
    for decorator in reversed([evaluate(node, frame) for node in decorators]):
        value = call(decorator, [value], {}, frame.machine)
    return value


def _yields(node: ast.FunctionDef) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(part))
    return False


def _body(node: ast.FunctionDef, frame: Frame) -> object:
    ended = run(node.body, frame)
    return ended.value if isinstance(ended, Returned) else None


def _resumed(block: Block, machine: Machine) -> Iterator[object]:
    """What a function yields; going on in it is as deep as calling it."""
    while True:
        if machine.level >= machine.meter.budget.depth:
            raise Exhausted(f"functions called within each other more than {machine.meter.budget.depth} deep")
        machine.level += 1
        try:
            item = next(block)
        except StopIteration:
            return
        finally:
            machine.level -= 1
        yield item


def _class(node: ast.ClassDef, frame: Frame) -> None:
    bases = [evaluate(base, frame) for base in node.bases if not (isinstance(base, ast.Name) and base.id == "object")]
    cls = open_class(node.name, bases, frame.machine)
    methods = Frame(frame.machine, frame.methods or frame, {CLASS: cls})
    inner = Frame(frame.machine, frame, methods=methods)
    run(node.body, inner)
    annotated = [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not any(
            "ClassVar" in (getattr(part, "id", ""), getattr(part, "attr", ""))
            for part in ast.walk(statement.annotation)
        )
    ]
    frame.store(node.name, _decorated(close_class(cls, inner.names, annotated, bases), node.decorator_list, frame))


def _assign(node: ast.Assign, frame: Frame) -> None:
    value = evaluate(node.value, frame)
    for target in node.targets:
        assign(target, value, frame)


def _annotated(node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(node.target, evaluate(node.value, frame), frame)


def _augmented(node: ast.AugAssign, frame: Frame) -> None:
    """`target op= value`; the container and index of an item, and the object of an attribute, are evaluated once."""
    meter = frame.machine.meter
    if isinstance(node.target, ast.Subscript):
        container, index = evaluate(node.target.value, frame), evaluate(node.target.slice, frame)
        old = item_of(container, index, frame)
        new = extended(node.op, old, evaluate(node.value, frame), meter)
        if isinstance(container, Instance) and container.has("__setitem__"):
            container.invoke("__setitem__", index, new)
            return
        if not isinstance(container, list | dict):
            raise ProgramFault(f"an item of {kind(container)} cannot be set", kind="TypeError")
        container[index] = new
    elif isinstance(node.target, ast.Attribute):
        value = evaluate(node.target.value, frame)
        old = attribute(value, node.target.attr)
        set_member(value, node.target.attr, extended(node.op, old, evaluate(node.value, frame), meter), frame.machine)
    elif isinstance(node.target, ast.Name):
        old = frame.find(node.target.id)
        new = extended(node.op, old, evaluate(node.value, frame), meter)
        frame.store(node.target.id, new)


def _delete(node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.find(target.id)
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            delete_member(evaluate(target.value, frame), target.attr)
        elif isinstance(target, ast.Subscript):
            container = evaluate(target.value, frame)
            index = target.slice
            place = slice_of(index, frame) if isinstance(index, ast.Slice) else evaluate(index, frame)
            if isinstance(container, list) and isinstance(place, slice):
                frame.machine.meter.step(1 + len(container) // 64)
                del container[place]
            elif isinstance(container, dict):
                del container[key(place, frame.machine.meter)]
            elif isinstance(container, list) and isinstance(place, int):
                frame.machine.meter.step(1 + len(container) // 64)
                del container[place]
            else:
                raise ProgramFault(f"an item of {kind(container)} cannot be deleted", kind="TypeError")
        else:
            raise ProgramFault("only names, items and attributes can be deleted")


def _for(node: ast.For, frame: Frame) -> Block:
    for item in iterate(evaluate(node.iter, frame), frame.machine.meter):
        assign(node.target, item, frame)
        ended = yield from _block(node.body, frame)
        if ended is _BREAK:
            return None
        if isinstance(ended, Returned):
            return ended
    return (yield from _block(node.orelse, frame))


def _while(node: ast.While, frame: Frame) -> Block:
    while evaluate(node.test, frame):
        ended = yield from _block(node.body, frame)
        if ended is _BREAK:
            return None
        if isinstance(ended, Returned):
            return ended
    return (yield from _block(node.orelse, frame))


def _if(node: ast.If, frame: Frame) -> Block:
    return (yield from _block(node.body if evaluate(node.test, frame) else node.orelse, frame))


def _match(node: ast.Match, frame: Frame) -> Block:
    value = evaluate(node.subject, frame)
    for case in node.cases:
        if matches(case.pattern, value, frame) and (case.guard is None or evaluate(case.guard, frame)):
            return (yield from _block(case.body, frame))
    return None


def _with(node: ast.With, frame: Frame) -> Block:
    """`with` of the program's own objects, and of `contextlib.suppress`; several are within each other."""
    first, *rest = node.items
    manager = evaluate(first.context_expr, frame)
    if isinstance(manager, Suppressed):
        entered: object = None
    elif isinstance(manager, Instance) and manager.has("__enter__") and manager.has("__exit__"):
        entered = manager.invoke("__enter__")
    else:
        raise ProgramFault(f"`with` cannot take {kind(manager)}", kind="TypeError")
    if first.optional_vars is not None:
        assign(first.optional_vars, entered, frame)
    inner = [ast.With(rest, node.body, lineno=node.lineno)] if rest else node.body
    try:
        ended = yield from _block(inner, frame)
    except Unsupported:
        raise
    except ProgramFault as fault:
        if _left(manager, fault):
            return None
        raise
    _left(manager, None)
    return ended


def _left(manager: object, fault: ProgramFault | None) -> bool:
    """End a `with`; whether its fault is dropped."""
    if isinstance(manager, Suppressed):
        return fault is not None and any(_matches_fault(name, fault) for name in manager.kinds)
    assert isinstance(manager, Instance)
    error = None if fault is None else _error(fault)
    return bool(manager.invoke("__exit__", error, error, None))


def _try(node: ast.Try, frame: Frame) -> Block:
    """`except` and `finally` see the program's own faults; what is not supported and failed models pass both."""
    try:
        try:
            ended = yield from _block(node.body, frame)
        except Unsupported:
            raise
        except ProgramFault as fault:
            handler = next((option for option in node.handlers if _handles(option.type, fault, frame)), None)
            if handler is None:
                raise
            ended = yield from _handle(handler, fault, frame)
        else:
            if ended is None:
                ended = yield from _block(node.orelse, frame)
    except Unsupported:
        raise
    except ProgramFault:
        ended = yield from _block(node.finalbody, frame)
        if ended is None:
            raise
        return ended
    last = yield from _block(node.finalbody, frame)
    return ended if last is None else last


def _handle(handler: ast.ExceptHandler, fault: ProgramFault, frame: Frame) -> Block:
    """Run the body of an `except`; a bare `raise` in it raises the fault again."""
    machine = frame.machine
    if handler.name:
        frame.store(handler.name, _error(fault))
    machine.handled.append(fault)
    try:
        return (yield from _block(handler.body, frame))
    finally:
        if fault in machine.handled:
            machine.handled.remove(fault)
        if handler.name:
            frame.shared.get(handler.name, frame).names.pop(handler.name, None)


def _error(fault: ProgramFault) -> object:
    return Error(fault.kind, fault.message) if fault.value is None else fault.value


def _handles(named: ast.expr | None, fault: ProgramFault, frame: Frame) -> bool:
    if named is None:
        return True
    wanted = evaluate(named, frame)
    return any(_matches_fault(type_, fault) for type_ in (wanted if isinstance(wanted, tuple) else (wanted,)))


def _matches_fault(wanted: object, fault: ProgramFault) -> bool:
    if isinstance(wanted, Class) and wanted.exception:
        return isinstance(fault.value, Instance) and fault.value.cls.extends(wanted)
    if not isinstance(wanted, Native) or wanted.name not in EXCEPTIONS:
        raise ProgramFault(f"`except` takes exceptions, not {kind(wanted)}", kind="TypeError")
    return is_exception(fault.kind, wanted.name)


def _raise(node: ast.Raise, frame: Frame) -> None:
    machine = frame.machine
    if node.exc is None:
        if not machine.handled:
            raise ProgramFault("there is no exception to raise again", kind="RuntimeError")
        raise machine.handled[-1]
    error = evaluate(node.exc, frame)
    if isinstance(error, Native):
        error = call(error, (), {}, machine)
    if isinstance(error, Class) and error.exception:
        error = instantiate(error, (), {}, machine)
    if isinstance(error, Instance) and error.cls.exception:
        message = text_of(error, machine.meter)
        reason = f"the program raised {error.cls.name}: {message}"
        raise ProgramFault(reason, kind=error.cls.exception, message=message, value=error)
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


def _assert(node: ast.Assert, frame: Frame) -> None:
    if not evaluate(node.test, frame):
        message = "" if node.msg is None else text_of(evaluate(node.msg, frame), frame.machine.meter)
        reason = f"an assertion of the program failed{': ' if message else ''}{message}"
        raise ProgramFault(reason, kind="AssertionError", message=message)


def _import(node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        if alias.name in MODULES:
            frame.store(alias.asname or alias.name, MODULES[alias.name])
        else:
            _check_exists(alias.name)


def _import_from(node: ast.ImportFrom, frame: Frame) -> None:
    """Names of a module; what exists elsewhere is imported for annotations only, or the parser has refused it."""
    offered = frame.machine.surface
    module = MODULES.get(node.module or "")
    for alias in node.names:
        bound = alias.asname or alias.name
        if module is not None and alias.name in module.members:
            frame.store(bound, module.members[alias.name])
        elif module is None and alias.name in offered:
            frame.store(bound, offered[alias.name])
        elif module is None:
            _check_exists(node.module or "")
        elif alias.name not in module.real:
            reason = f"{module.name} has no {alias.name!r}; {nearest(alias.name, module.members)}"
            raise ProgramFault(reason, kind="ImportError")
        elif bound in frame.machine.read:
            raise Unsupported(f"{module.name} has no {alias.name!r} here; {nearest(alias.name, module.members)}")


def _check_exists(module: str) -> None:
    if not exists(module):
        raise ProgramFault(f"there is no module {module!r}", kind="ModuleNotFoundError")


def _expression(node: ast.Expr, frame: Frame) -> None:
    evaluate(node.value, frame)


_COMPOUND: dict[type[ast.stmt], Callable[[Any, Frame], Block]] = {
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Match: _match,
    ast.With: _with,
    ast.Try: _try,
}
_SIMPLE: dict[type[ast.stmt], Callable[[Any, Frame], object]] = {
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Return: lambda node, frame: Returned(None if node.value is None else evaluate(node.value, frame)),
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
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
