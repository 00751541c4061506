"""Evaluating expressions: a walk over the checked tree, a step for each node."""

# ruff: noqa: ARG001 - all functions of a table are called alike

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cfeval.cvqa.programs import text
from cfeval.cvqa.programs.calls import call
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.methods import attribute
from cfeval.cvqa.programs.operators import binary, compare, unary
from cfeval.cvqa.programs.values import Frame, Function, Lazy, Members, iterate, key, kind


def evaluate(node: ast.expr, frame: Frame) -> Any:
    """The value of an expression in a frame."""
    frame.machine.meter.step()
    return _HANDLERS[type(node)](node, frame)


def _constant(node: ast.Constant, frame: Frame) -> object:
    return node.value


def _name(node: ast.Name, frame: Frame) -> object:
    return frame.find(node.id)


def _boolean(node: ast.BoolOp, frame: Frame) -> object:
    """`and`, `or`: the first value that decides, the rest is not evaluated."""
    value: object = None
    for part in node.values:
        value = evaluate(part, frame)
        if bool(value) == isinstance(node.op, ast.Or):
            break
    return value


def _binary(node: ast.BinOp, frame: Frame) -> object:
    return binary(node.op, evaluate(node.left, frame), evaluate(node.right, frame), frame.machine.meter)


def _unary(node: ast.UnaryOp, frame: Frame) -> object:
    return unary(node.op, evaluate(node.operand, frame), frame.machine.meter)


def _conditional(node: ast.IfExp, frame: Frame) -> object:
    return evaluate(node.body if evaluate(node.test, frame) else node.orelse, frame)


def _comparison(node: ast.Compare, frame: Frame) -> bool:
    left = evaluate(node.left, frame)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = evaluate(part, frame)
        if not compare(op, left, right, frame.machine.meter):
            return False
        left = right
    return True


def _list(node: ast.List, frame: Frame) -> list[object]:
    return frame.machine.meter.keep([evaluate(item, frame) for item in node.elts])


def _tuple(node: ast.Tuple, frame: Frame) -> tuple[object, ...]:
    return frame.machine.meter.keep(tuple([evaluate(item, frame) for item in node.elts]))


def _set(node: ast.Set, frame: Frame) -> Members:
    meter = frame.machine.meter
    meter.length(len(node.elts))
    return Members([key(evaluate(item, frame), meter) for item in node.elts])


def _dict(node: ast.Dict, frame: Frame) -> dict[object, object]:
    meter = frame.machine.meter
    items: dict[object, object] = {}
    for name, item in zip(node.keys, node.values, strict=True):
        if name is None:
            raise ProgramFault("`**` within braces is not allowed; write the items out")
        items[key(evaluate(name, frame), meter)] = evaluate(item, frame)
        meter.grow(len(items))
    return items


def _subscript(node: ast.Subscript, frame: Frame) -> object:
    value = evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _sliced(value, node.slice, frame)
    return item_of(value, evaluate(node.slice, frame), frame)


def item_of(value: Any, index: Any, frame: Frame) -> Any:
    """`value[index]`."""
    if isinstance(value, dict):
        return value[key(index, frame.machine.meter)]
    if not isinstance(value, list | tuple | str | range):
        raise ProgramFault(f"a value of type {kind(value)} has no items", kind="TypeError")
    if not isinstance(index, int):
        raise ProgramFault(f"an index is an integer, not {kind(index)}", kind="TypeError")
    return value[index]


def _sliced(value: Any, node: ast.Slice, frame: Frame) -> object:
    if not isinstance(value, list | tuple | str | range):
        raise ProgramFault(f"a value of type {kind(value)} has no slices", kind="TypeError")
    bounds = [None if part is None else evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    wrong = next((bound for bound in bounds if not isinstance(bound, int | None)), None)
    if wrong is not None:
        raise ProgramFault(f"a slice takes integers, not {kind(wrong)}", kind="TypeError")
    frame.machine.meter.step(1 + len(value) // 64)
    return frame.machine.meter.keep(value[slice(*bounds)])


def _joined(node: ast.JoinedStr, frame: Frame) -> str:
    meter = frame.machine.meter
    pieces = [str(evaluate(part, frame)) for part in node.values]
    meter.text(sum(map(len, pieces)))
    return "".join(pieces)


def _formatted(node: ast.FormattedValue, frame: Frame) -> str:
    """One `{…}` of an f-string; a specification that is itself computed is refused."""
    meter = frame.machine.meter
    value = evaluate(node.value, frame)
    if node.conversion in (ord("r"), ord("a")):
        value = text.quoted(value, meter)
    parts = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
    if not all(isinstance(part, ast.Constant) for part in parts):
        raise ProgramFault("a computed format is not allowed; write width and precision out")
    return text.formatted(value, "".join(str(part.value) for part in parts if isinstance(part, ast.Constant)), meter)


def _attribute(node: ast.Attribute, frame: Frame) -> object:
    return attribute(evaluate(node.value, frame), node.attr)


def _lambda(node: ast.Lambda, frame: Frame) -> Function:
    return defined("lambda", node.args, lambda inner: evaluate(node.body, inner), frame)


def defined(
    name: str,
    parameters: ast.arguments,
    body: Callable[[Frame], object],
    frame: Frame,
    local: frozenset[str] = frozenset(),
) -> Function:
    """A function that the program defines; its defaults are evaluated now, as in Python."""
    names = tuple(parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args))
    defaults = tuple([evaluate(default, frame) for default in parameters.defaults])
    return Function(name, names, defaults, body, frame, local)


def _call(node: ast.Call, frame: Frame) -> object:
    function = evaluate(node.func, frame)
    arguments = [evaluate(argument, frame) for argument in node.args]
    named = {keyword.arg: evaluate(keyword.value, frame) for keyword in node.keywords if keyword.arg is not None}
    frame.machine.line = node.lineno
    return call(function, arguments, named, frame.machine)


def assign(target: ast.expr, value: Any, frame: Frame) -> None:
    """Bind a value to a name, an item of a container, or several of these at once."""
    meter = frame.machine.meter
    meter.step()
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
    elif isinstance(target, ast.Subscript):
        container, index = evaluate(target.value, frame), evaluate(target.slice, frame)
        _cache(container, index, value, frame)
    elif isinstance(target, ast.Tuple | ast.List):
        items = list(iterate(value, meter))
        if len(items) != len(target.elts):
            raise ProgramFault(f"{len(items)} values for {len(target.elts)} names", kind="ValueError")
        for part, item in zip(target.elts, items, strict=True):
            assign(part, item, frame)
    else:
        raise ProgramFault("only names and items can be assigned to")


def _cache(container: Any, index: Any, value: object, frame: Frame) -> None:
    if isinstance(container, dict):
        container[key(index, frame.machine.meter)] = value
        frame.machine.meter.grow(len(container))
    elif isinstance(container, list) and isinstance(index, int):
        container[index] = value
    else:
        raise ProgramFault(f"an item of {kind(container)} at {kind(index)} cannot be set", kind="TypeError")


def _bindings(clauses: Sequence[ast.comprehension], first: Iterator[object], frame: Frame) -> Iterator[None]:
    """Bind the targets of a comprehension's clauses, again and again, in the comprehension's own frame."""
    clause, *rest = clauses
    for item in first:
        assign(clause.target, item, frame)
        if not all(evaluate(test, frame) for test in clause.ifs):
            continue
        if rest:
            yield from _bindings(rest, iterate(evaluate(rest[0].iter, frame), frame.machine.meter), frame)
        else:
            yield None


def _opened(clauses: Sequence[ast.comprehension], frame: Frame) -> tuple[Iterator[None], Frame]:
    """A comprehension's bindings and frame; its first iterable is evaluated outside, as in Python."""
    inner = Frame(frame.machine, frame)
    first = iterate(evaluate(clauses[0].iter, frame), frame.machine.meter)
    return _bindings(clauses, first, inner), inner


def _list_comprehension(node: ast.ListComp, frame: Frame) -> list[object]:
    bindings, inner = _opened(node.generators, frame)
    items: list[object] = []
    for _ in bindings:
        items.append(evaluate(node.elt, inner))
        frame.machine.meter.grow(len(items))
    return items


def _set_comprehension(node: ast.SetComp, frame: Frame) -> Members:
    bindings, inner = _opened(node.generators, frame)
    items = Members()
    for _ in bindings:
        items.add(key(evaluate(node.elt, inner), frame.machine.meter))
        frame.machine.meter.grow(len(items))
    return items


def _dict_comprehension(node: ast.DictComp, frame: Frame) -> dict[object, object]:
    bindings, inner = _opened(node.generators, frame)
    items: dict[object, object] = {}
    for _ in bindings:
        name = key(evaluate(node.key, inner), frame.machine.meter)
        items[name] = evaluate(node.value, inner)
        frame.machine.meter.grow(len(items))
    return items


def _generator(node: ast.GeneratorExp, frame: Frame) -> Lazy:
    bindings, inner = _opened(node.generators, frame)
    return Lazy(evaluate(node.elt, inner) for _ in bindings)


_HANDLERS: dict[type[ast.expr], Callable[[Any, Frame], object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BoolOp: _boolean,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.Compare: _comparison,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.Attribute: _attribute,
    ast.Lambda: _lambda,
    ast.Call: _call,
    ast.ListComp: _list_comprehension,
    ast.SetComp: _set_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
}
