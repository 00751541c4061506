"""The entry point `cfeval` and the one error boundary: a known error is one line and exit status 2."""

import ast
import inspect
import os
import re
import signal
import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cfeval import __version__
from cfeval.core import extras, process, record
from cfeval.core.errors import CfevalError, InputError, StoppedError, as_output_error, nearest
from cfeval.core.extras import load
from cfeval.core.process import leave
from cfeval.verbs import GROUPS, PANELS, STEPS, VERBS, commands

_PANEL = {name: panel for panel, names in PANELS.items() for name in names}
_STEPS = "Steps of the workflow, in order"
_InFolder = Annotated[
    str,
    typer.Option(
        "-C",
        metavar="DIR",
        help="Work in this folder, as `git -C` does: other paths are relative to it.",
        is_eager=True,
        show_default=False,
        callback=lambda folder: _go_to(folder) if folder else None,
    ),
]


def main() -> None:
    """Run the command line."""
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status; minus SIGINT's number where Ctrl-C has ended it.

    A step that has made its output already, from what is there now, does nothing.
    """
    before = Path.cwd()
    try:
        arguments = _enter(arguments)
        process.read_keys()
        verb = " ".join(arguments[1:2])
        is_step = verb in STEPS.get(" ".join(arguments[:1]), ()) and record.option(arguments, "--out")
        return record.call(arguments, _run) if is_step else _run(arguments)
    except CfevalError as error:
        return _refuse(error)
    finally:
        os.chdir(before)


def _enter(arguments: list[str]) -> list[str]:
    """Go where `-C DIR` before the command says; the arguments without it."""
    while arguments[:1] == ["-C"]:
        if len(arguments) == 1:
            raise InputError("-C needs a folder: cfeval -C DIR COMMAND")
        _go_to(arguments[1])
        arguments = arguments[2:]
    return arguments


def _go_to(folder: str) -> None:
    from cfeval.core.folder import enter  # not for steps, whose records would name it

    enter(folder)


def _run(arguments: list[str]) -> int:
    try:
        _refuse_unknown(arguments)
        status = _app(arguments)(args=arguments, prog_name="cfeval", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except typer.TyperException as error:  # no such option, or a value that it cannot have
        if not (fault := error.format_message().rstrip(".")):
            return 2  # a group alone, whose help is printed
        command = " ".join(["cfeval", *arguments[: len(_group_of(arguments).split()) + bool(_command(arguments))]])
        return _refuse(InputError(f"{fault[:1].lower()}{fault[1:]}; see `{command} --help`"))
    except typer.Abort:
        print("Aborted.", file=sys.stderr)
        return 1
    except StoppedError as error:
        _refuse(error)
        return -error.number if error.number == signal.SIGINT else 128 + error.number
    except CfevalError as error:
        return _refuse(error)
    except ModuleNotFoundError as error:
        package = str(error.name)
        advice = extras.advice(package, _command(arguments))
        if advice == extras.UNKNOWN:
            raise
        return _refuse(CfevalError(f"this needs the package '{package}', which is not installed: {advice}"))
    except OSError as error:
        output_error = as_output_error(error)
        if output_error is None:
            raise
        return _refuse(output_error)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)


def _refuse(error: CfevalError) -> int:
    line = " ".join(part.strip() for part in str(error).splitlines())  # blanks in a name stay: it may be pasted
    print(f"cfeval: {line}", file=sys.stderr)
    return 2


def _group_of(args: list[str]) -> str:
    """The group of commands that the words begin with; empty: none, so that the first is a command."""
    return next((name for name in args[:1] if name in GROUPS), "")


def _command(args: list[str]) -> str:
    """The function that the words call, `module:function`; empty where they name no command."""
    group = _group_of(args)
    return commands(group).get(next(iter(args[len(group.split()) :]), ""), "")


def _refuse_unknown(args: list[str]) -> None:
    """Say in one line that there is no such command, and what there is."""
    group = _group_of(args)
    name = next(iter(args[len(group.split()) :]), "-")
    allowed = commands(group) if group else _PANEL
    if name.startswith("-") or name in allowed:
        return
    raise InputError(f"no command '{f'{group} {name}'.strip()}'; {nearest(name, allowed)}")


def _app(args: list[str]) -> typer.Typer:
    """The command tree; where the words name a command, only that command's module is imported."""
    args = args or _to_complete()
    group = _group_of(args)
    command = _command(args)
    app = inner = typer.Typer(
        name="cfeval",
        cls=_Panels,
        help="Counterfactual evaluation of vision-language models.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_version)
    if group:
        inner = typer.Typer(cls=_Group, help=GROUPS[group], no_args_is_help=True, callback=_group)
        app.add_typer(inner, name=group)
    if command:
        name, function = args[1 if group else 0], load(command)
        is_step = name in STEPS.get(group, ())  # its record names files as seen from where it was started
        text = _reflowed(inspect.getdoc(function) or "")
        inner.command(name, cls=_Command, help=text)(function if is_step else _with_folder(function))
        return app
    panels = dict.fromkeys(STEPS.get(group, ()), _STEPS) if group else _PANEL
    for name, dotted in {**VERBS.get(group, {}), **commands(group)}.items():
        inner.command(name, help=_reflowed(_docstring(dotted)), rich_help_panel=panels.get(name))(_group)
    for name in () if group else panels.keys() & GROUPS.keys():
        app.add_typer(typer.Typer(callback=_group), name=name, help=GROUPS[name], rich_help_panel=panels[name])
    return app


def _reflowed(text: str) -> str:
    """A help text whose paragraphs are a line each, so that the terminal wraps them; lines of lists stay."""
    paragraphs = (re.sub(r"\n(?![-* ])", " ", paragraph) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraphs)


def _to_complete() -> list[str]:
    """The words that a shell wants completed; none where that is not why it has started this process."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:] if "_CFEVAL_COMPLETE" in os.environ else []


def _with_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command's function, with the option `-C`, which is done with before the function is called."""

    @wraps(function)
    def call(*, in_folder_: str = "", **options: Any) -> Any:  # noqa: ARG001 (its callback went there)
        return function(**options)

    signature = inspect.signature(function)
    option = inspect.Parameter("in_folder_", inspect.Parameter.KEYWORD_ONLY, default="", annotation=_InFolder)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    call.__annotations__ = {**function.__annotations__, "in_folder_": _InFolder}
    return call


class _Flags:
    """A command or group of commands whose help shows no type of a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Group(_Flags, TyperGroup):
    """A group of commands."""


class _Command(_Flags, TyperCommand):
    """A command that passes on what follows `--`, where it has an argument for that."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; what follows `--` is no folder."""
        rest = [param for param in self.params if (param.metavar or "").startswith("-- ")]
        if not rest:
            return super().parse_args(ctx, args)
        at = args.index("--") if "--" in args else len(args)
        left = super().parse_args(ctx, args[:at])
        name = str(rest[0].name)
        if ctx.params[name]:
            raise InputError(f"unexpected argument '{ctx.params[name][0]}'; write -- before what is passed on")
        ctx.params[name] = args[at + 1 :]
        return left


class _Panels(_Group):
    """The commands in the order of the panels of the help."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (its class has it)
        """The names, as the help shows them."""
        return [name for name in _PANEL if name in self.commands]


def _group() -> None:
    """A group of commands does nothing by itself."""


def _docstring(dotted: str) -> str:
    """What a function says of itself, without importing its module and all that it needs."""
    module, _, name = dotted.partition(":")
    package, *rest = module.split(".")
    [folder] = find_spec(package).submodule_search_locations  # type: ignore[union-attr,misc] # of a package there is one
    tree = ast.parse(Path(folder, *rest).with_suffix(".py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.get_docstring(functions[0]) or ""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"cfeval {__version__}")
        raise typer.Exit


def _version(
    folder: _InFolder = "",
    version: bool = typer.Option(
        False, "--version", metavar="", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Counterfactual evaluation of vision-language models."""


if __name__ == "__main__":
    main()
