"""The entry point `cfeval` and the one error boundary: a known error is one line and exit status 2."""

import ast
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from cfeval import __version__
from cfeval.core.errors import CfevalError, StoppedError, as_output_error
from cfeval.core.names import load
from cfeval.verbs import GROUPS, VERBS


def main() -> None:
    """Run the command line."""
    status = run(sys.argv[1:])
    if status == -signal.SIGINT:  # a shell ends its loop only where Ctrl-C has ended the command
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status; minus SIGINT's number where Ctrl-C has ended it."""
    try:
        _app(arguments)(args=arguments, prog_name="cfeval")
    except StoppedError as error:
        _refuse(error)
        return -error.number if error.number == signal.SIGINT else 128 + error.number
    except CfevalError as error:
        return _refuse(error)
    except OSError as error:
        known = as_output_error(error)
        if known is None:
            raise
        return _refuse(known)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return 0


def _refuse(error: CfevalError) -> int:
    print(f"cfeval: {' '.join(str(error).split())}", file=sys.stderr)
    return 2


def _app(arguments: list[str]) -> typer.Typer:
    """The command tree; where the arguments name a verb, only that verb's module is imported."""
    app = typer.Typer(
        name="cfeval",
        help="Counterfactual evaluation of vision-language models.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_version)
    if arguments[:1] not in [[group] for group in GROUPS]:  # of verbs outside of its group, a verb has no use
        _add(app, VERBS[""], arguments[:1])
    for group, about in GROUPS.items():
        verbs = typer.Typer(help=about, no_args_is_help=True)
        verbs.callback()(_group)
        if arguments[:1] == [group]:  # of the other groups nothing but their names is shown
            _add(verbs, VERBS[group], arguments[1:2])
        app.add_typer(verbs, name=group, help=about)
    return app


def _group() -> None:
    """A group of verbs does nothing by itself."""


def _add(app: typer.Typer, verbs: Mapping[str, str], wanted: list[str]) -> None:
    """Add the verb that is wanted; where it is none of these, all of them by name and docstring, to be listed."""
    if wanted and wanted[0] in verbs:
        app.command(wanted[0])(load(verbs[wanted[0]]))
        return
    for verb, dotted in verbs.items():
        app.command(verb, help=_docstring(dotted))(_group)


def _docstring(dotted: str) -> str:
    """What a function says of itself, without importing its module and all that it needs."""
    module, _, name = dotted.partition(":")
    file = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.get_docstring(found[0]) or ""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"cfeval {__version__}")
        raise typer.Exit


def _version(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Counterfactual evaluation of vision-language models."""


if __name__ == "__main__":
    main()
