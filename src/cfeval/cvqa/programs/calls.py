"""Calling functions: those that are offered, which are recorded where they are traced, and the program's own."""

import inspect
from collections.abc import Sequence
from typing import Any

from cfeval.cvqa.programs import text
from cfeval.cvqa.programs.limits import Exhausted, ProgramFault
from cfeval.cvqa.programs.objects import Class, Instance
from cfeval.cvqa.programs.values import Frame, Function, Machine, Native, kind


def call(function: object, arguments: Sequence[object], named: dict[str, object], machine: Machine) -> Any:
    """Call a function: one that is offered, or one of the program's own."""
    if isinstance(function, Native):
        line = machine.line
        try:
            result = function.run(machine, *function.receiver, *arguments, **named)
        except TypeError:
            # Say so where a call failed because it does not fit what the function takes.
            signature = inspect.signature(function.run)
            try:
                signature.bind(None, *function.receiver, *arguments, **named)
            except TypeError:
                taken = [str(name) for name in signature.parameters][1 + len(function.receiver) :]
                raise ProgramFault(
                    f"{function.name} takes ({', '.join(taken)}) and was called otherwise", kind="TypeError"
                ) from None
            raise
        if function.traced:
            shown = [text.glimpse(value) for value in (*function.receiver, *arguments)]
            shown += [f"{name}={text.glimpse(value)}" for name, value in named.items()]
            machine.trace.add(line, function.name, ", ".join(shown), text.glimpse(result))
        return machine.meter.keep(result)
    if isinstance(function, Class):
        return instantiate(function, arguments, named, machine)
    if isinstance(function, Instance) and (method := function.cls.find("__call__")):
        return call(method[1], [function, *arguments], named, machine)
    if not isinstance(function, Function):
        raise ProgramFault(f"a value of type {kind(function)} cannot be called", kind="TypeError")
    if machine.level >= machine.meter.budget.depth:
        raise Exhausted(f"functions called within each other more than {machine.meter.budget.depth} deep")
    bound = _bound(function, arguments, named)
    inner = Frame(machine, function.outer, bound, function.local, function=function)
    machine.level += 1
    try:
        return function.body(inner)
    finally:
        machine.level -= 1


def instantiate(cls: Class, arguments: Sequence[object], named: dict[str, object], machine: Machine) -> Instance:
    """An object of a program's class; of an enumeration the member with that value."""
    if cls.enumeration:
        members = [member for member in cls.members.values() if isinstance(member, Instance)]
        wanted = list(arguments) + list(named.values())
        chosen = next((member for member in members if [member.names["value"]] == wanted), None)
        if chosen is None:
            raise ProgramFault(f"{cls.name} has no member with this value", kind="ValueError")
        return chosen
    machine.meter.length(len(cls.members))
    instance = Instance(cls)
    method = cls.find("__init__")
    if cls.exception:
        instance.names["args"] = tuple(arguments)
    if method is not None:
        call(method[1], [instance, *arguments], named, machine)
    elif (arguments or named) and not cls.exception:
        raise ProgramFault(f"{cls.name}() takes no arguments", kind="TypeError")
    return instance


def _bound(function: Function, arguments: Sequence[object], named: dict[str, object]) -> dict[str, object]:
    names, defaults = function.names, function.defaults
    bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | dict(function.by_name)
    given = dict(zip(names, arguments, strict=False))
    missing = [name for name in (*names, *function.only) if name not in bound | given | named]
    extra = {name: value for name, value in named.items() if name not in (*names, *function.only)}
    twice = given.keys() & named.keys()
    if missing or twice or (extra and not function.named) or (len(arguments) > len(names) and not function.rest):
        taken = [*names, *function.only]
        raise ProgramFault(f"{function.name} takes ({', '.join(taken)}) and was called otherwise", kind="TypeError")
    rest: dict[str, object] = {function.rest: tuple(arguments[len(names) :])} if function.rest else {}
    rest |= {function.named: extra} if function.named else {}
    return bound | given | {name: value for name, value in named.items() if name not in extra} | rest
