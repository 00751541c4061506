"""Reference pages that the code writes: commands, parameters and plugins, each with all of its options."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module, metadata
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import cfeval
from cfeval import verbs
from cfeval.config import Params
from cfeval.core import registry
from cfeval.core.extras import load
from cfeval.core.plugin import Plugin
from cfeval.report.tables import meanings
from cfeval.results import FRAMES, dtype_of
from cfeval.vce.method import PRESETS, Method, Parts, Preset

INTERFACES = (*("cfeval.core.plugin", "cfeval.edct.interfaces", "cfeval.cvqa.interfaces", "cfeval.inference.chat"),)
"""The modules that plugins import."""


def commands() -> str:
    """Every command, with its arguments, options and defaults."""
    lines = [
        "# Commands",
        "",
        "Every command and option of `cfeval`. `cfeval COMMAND --help` prints the same.",
        "",
        "An exit status of 0 means that all went well, 1 that `cfeval status` found outdated results, 2 that the "
        "command ended with one line that says what is wrong.",
        "",
    ]
    for group in ("", *verbs.GROUPS):
        if group:
            lines += [f"## cfeval {group}", "", verbs.GROUPS[group], ""]
        if group in verbs.STEPS:
            lines += ["First the steps of the pipeline, in order, then the other commands.", ""]
        for name, dotted in verbs.commands(group).items():
            lines += _command(f"cfeval {group} {name}".replace("  ", " "), dotted)
    return "\n".join(lines).rstrip() + "\n"


def _command(words: str, dotted: str) -> Iterator[str]:
    app = typer.Typer(add_completion=False)
    app.command()(load(dotted))
    command = typer.main.get_command(app)
    about, _, more = inspect.cleandoc(command.help or "").partition("\n\n")
    yield from (f"### {words}", "", " ".join(about.split()), "")
    if more:
        yield from (_prose(more), "")
    options = [option for option in command.params if option.name != "help"]
    if options:
        yield from ("| option | meaning | default |", "|---|---|---|")
    for option in options:
        named = option.opts[0].startswith("-")
        name = ", ".join(option.opts + option.secondary_opts) if named else str(option.name).upper()
        yield _row(f"`{name}`", getattr(option, "help", "") or "", _default(option))
    yield ""


def _default(option: Any) -> str:
    if option.required:
        return "required"
    found = option.default
    return "" if found is None or callable(found) or found in ("", (), [], False) else f"`{_shown(found)}`"


def parameters() -> str:
    """Every key of params.yaml, by section."""
    lines = [
        "# Parameters",
        "",
        "Every key of `params.yaml`. A file holds what differs from the defaults; `cfeval check` checks it.",
        "",
        "`<name>` stands for a name that you choose. A *plugin* is written `{plugin: NAME, …}` with the options that "
        "[Plugins](plugins.md) lists.",
        "",
    ]
    for path, model in _sections("", Params):
        lines += [f"## `{path}`" if path else "## Top level", "", _sentence(model), ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for name, field in model.model_fields.items():
            lines.append(_row(f"`{name}`", _type(field.annotation), _value(field), field.description or ""))
        lines += ["", *(_presets() if model is Method else ())]
    return "\n".join(lines).rstrip() + "\n"


def _presets() -> Iterator[str]:
    """What the presets of vce set, side by side: the settings in which they differ."""
    yield "What the presets set. A setting of a part that a preset does not use has no effect there."
    yield from ("", _row("setting", *(f"`{name}`" for name in PRESETS)), "|---" * (len(PRESETS) + 1) + "|")
    methods = [Method(preset=name) for name in get_args(Preset)]
    for name in Parts.model_fields:
        values = [_shown(getattr(method, name)) for method in methods]
        if len(set(values)) > 1:
            yield _row(f"`{name}`", *values)
    yield ""


def _sections(path: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """A section and all within it, each kind of section once."""
    yield from _walk(path, model, set())


def _walk(path: str, model: type[BaseModel], seen: set[type]) -> Iterator[tuple[str, type[BaseModel]]]:
    seen.add(model)
    yield path, model
    for name, field in model.model_fields.items():
        for inner, way in _models(field.annotation):
            if inner not in seen:
                yield from _walk(f"{path}.{name}{way}".lstrip("."), inner, seen)


def _models(kind: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """The sections in an annotation, and how their keys are reached."""
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        yield kind, ""
    way = {dict: ".<name>", Mapping: ".<name>", tuple: "[]", list: "[]"}.get(get_origin(kind) or kind, "")
    origin = get_origin(kind)
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        way = ".<name>"
    for part in get_args(kind):
        for inner, rest in _models(part) if not isinstance(part, str) else ():
            yield inner, way + rest


def plugins() -> str:
    """Every plugin of every family that cfeval and its test bed offer, with its options."""
    own = [*metadata.distribution("cfeval").entry_points, *metadata.distribution("cfeval-testbed").entry_points]
    groups = sorted({entry.group for entry in own if entry.group.startswith(registry.GROUP)})
    lines = [
        "# Plugins",
        "",
        "Every plugin by family, with its options. [Write your own](../guides/plugins.md) in a package of yours.",
        "",
    ]
    for group in groups:
        family = group.removeprefix(registry.GROUP)
        lines += [f"## {family}", ""]
        for entry in sorted((entry for entry in own if entry.group == group), key=lambda entry: entry.name):
            lines += _plugin(entry)
    return "\n".join(lines).rstrip() + "\n"


def _plugin(entry: metadata.EntryPoint) -> Iterator[str]:
    kind = entry.load()
    described = inspect.getmodule(kind) if kind.__name__ == "Plugin" else kind  # several of a family share a module
    about = inspect.cleandoc((described and described.__doc__) or "").split("\n\n")[0]
    yield from (f"### {entry.name}", "", " ".join(about.split()), "")
    texts = _docstrings(kind)
    if kind.model_fields:
        yield from ("| option | type | default | meaning |", "|---|---|---|---|")
    for name, field in kind.model_fields.items():
        text = field.description or texts.get(name, "")
        yield _row(f"`{name}`", _option_type(field), _value(field), text)
    yield ""


def _option_type(field: FieldInfo) -> str:
    """The type of a plugin's option, which may be a plugin of another family."""
    extra = field.json_schema_extra
    kind = _type(field.annotation)
    if not isinstance(extra, dict) or "family" not in extra:
        return kind
    family = f"plugin of [{extra['family']}](#{extra['family']})"
    return f"list of {family}" if kind.startswith("list") else family


def _docstrings(kind: type[Plugin]) -> dict[str, str]:
    """What stands below each field of a class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not (issubclass(base, BaseModel) and base.__module__ != "pydantic.main"):
            continue
        [defined] = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = defined.body if isinstance(defined, ast.ClassDef) else []
        for field, after in pairwise(body):
            text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, str):
                found[field.target.id] = inspect.cleandoc(text)
    return found


def interfaces() -> str:
    """What a plugin builds, receives and returns: the classes of the modules that it imports, by their docstrings."""
    lines = [
        "# Interfaces of plugins",
        "",
        "The classes that [a plugin of your own](../guides/plugins.md) builds, receives and returns. What `build` "
        "returns has the methods of its family's protocol, `async` where that is said here:",
        "",
        "| family | protocol | methods |",
        "|---|---|---|",
        *map(_protocol, _families()),
        "",
    ]
    for name in INTERFACES:
        module = import_module(name)
        lines += [f"## {name}", "", _prose(inspect.cleandoc(module.__doc__ or "")), ""]
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == name and not kind.__name__.startswith("_"):
                lines += [f"### {kind.__name__}", "", _prose(inspect.cleandoc(kind.__doc__ or "")), "", *_members(kind)]
    return "\n".join(lines).rstrip() + "\n"


def _families() -> Iterator[str]:
    groups = {point.group for point in metadata.distribution("cfeval").entry_points}
    yield from sorted(group.removeprefix(registry.GROUP) for group in groups if group.startswith(registry.GROUP))


def _protocol(family: str) -> str:
    """A family's protocol: where it is, and its methods."""
    built = (plugin.build.__annotations__["return"] for plugin in registry.options(family).values())
    kind = next((kind for kind in built if getattr(kind, "_is_protocol", False)), None) or _by_name(family)
    methods = {name: value for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"}
    said = ("async " * inspect.iscoroutinefunction(value) + name for name, value in methods.items())
    return _row(f"`{registry.GROUP}{family}`", f"`{kind.__module__}.{kind.__name__}`", _listed(said))


def _by_name(family: str) -> type:
    """The protocol of a family whose plugins are of another evaluation than the protocol, which they cannot import."""
    name = family.title().replace("_", "").removesuffix("s")
    modules = map(import_module, (*INTERFACES, "cfeval.vce.interfaces"))
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def python() -> str:
    """What `import cfeval` offers, and the columns of its frames that are no table of the papers."""
    lines = ["# Python", "", "What `import cfeval` offers; [a notebook](../results.ipynb) shows it at work.", ""]
    for name in cfeval.__all__:
        offered = getattr(cfeval, name)
        if inspect.isfunction(offered):
            lines += [f"## cfeval.{name}", "", f"`{name}{_signature(offered)}`", "", _prose(_cleaned(offered)), ""]
        elif inspect.isclass(offered):
            lines += [f"## cfeval.{name}", "", _prose(_cleaned(offered)), "", *_members(offered)]
    for title, kind in FRAMES.items():
        lines += [f"## Columns of {title}", "", "| column | dtype | meaning |", "|---|---|---|"]
        told = meanings(kind)
        lines += [_row(f"`{name}`", dtype_of(kind, name), told.get(name, "")) for name in kind.model_fields]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _cleaned(offered: Any) -> str:
    """A docstring without the four spaces before its sections."""
    text = re.sub(r"^(Args|Raises|Returns):$", r"\1:\n", inspect.cleandoc(offered.__doc__ or ""), flags=re.MULTILINE)
    return re.sub(r"^    (?=\S)", "- ", text, flags=re.MULTILINE)


def _signature(function: Any) -> str:
    """A function's parameters and what it gives; modules of types and the class of a path's default are left out."""
    text = re.sub(r"PosixPath\(('[^']*')\)", r"\1", str(inspect.signature(function)))
    return re.sub(r"(?<![\w'.])(?:\w+\.)+(\w)", r"\1", text)


def _members(kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        if isinstance(value, cached_property):
            yield f"- `{name}`: {inspect.cleandoc(value.__doc__ or '').partition(chr(10))[0]}"
        if inspect.isfunction(value) and not name.startswith("_"):
            start = "async " if inspect.iscoroutinefunction(value) else ""
            about = inspect.cleandoc(value.__doc__ or "").partition("\n")[0]
            yield f"- `{start}{name}{_signature(value)}`: {about}"
    fields = [name for name in getattr(kind, "__annotations__", {}) if not name.startswith("_")]
    if fields:
        yield f"- fields: {', '.join(f'`{name}`' for name in fields)}"
    yield ""


def _type(kind: Any) -> str:
    """An annotation in a few words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type(parts[0])
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(part) for part in parts))
    if kind in (None, NoneType):
        return "none"
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return f"mapping of {_type(parts[1])}"
    if origin in (tuple, list) or (inspect.isclass(origin) and issubclass(origin, Iterable)):
        return f"list of {_type(parts[0])}"
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return "plugin" if kind.__name__.endswith("Spec") else "section"
    return {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}.get(
        getattr(kind, "__name__", str(kind)), "any"
    )


def _value(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    found = field.get_default(call_default_factory=True)
    return "" if found is None or found in ("", (), {}) or isinstance(found, BaseModel) else f"`{_shown(found)}`"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_shown(found)}" for key, found in value.items()) + "}"
    return str(value)


def _sentence(model: type[BaseModel]) -> str:
    return " ".join(inspect.cleandoc(model.__doc__ or "").split("\n\n")[0].split())


def _prose(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?![\n*-])", " ", text)


def _row(*cells: str) -> str:
    texts = (" ".join(cell.split()).replace("\b", "").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(_escaped(text) for text in texts)} |"


def _escaped(text: str) -> str:
    """Angle brackets outside of code are text, no markup."""
    parts = text.split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))
