"""The entry point `cfeval` and the one error boundary: a known error is one line and exit status 2."""

import ast
import sys
from importlib import import_module
from importlib.resources import files

import typer

from cfeval import __version__
from cfeval.errors import CfevalError, as_output_error

GROUPS = ("edct", "vce", "cvqa", "store")


def main() -> None:
    """Run the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    try:
        _app(arguments)(args=arguments, prog_name="cfeval")
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
        _add(app, "cfeval.cli", arguments[:1])
    for group in GROUPS:
        package = f"cfeval.cli.{group}"
        verbs = typer.Typer(help=import_module(package).__doc__, no_args_is_help=True)
        verbs.callback()(_group)
        if arguments[:1] == [group]:  # of the other groups nothing but their names is shown
            _add(verbs, package, arguments[1:2])
        app.add_typer(verbs, name=group, help=import_module(package).__doc__)
    return app


def _group() -> None:
    """A group of verbs does nothing by itself."""


def _add(app: typer.Typer, package: str, wanted: list[str]) -> None:
    """Add the verb that is wanted; where none of the package is, all of them by name and docstring, to be listed."""
    found = {name.strip("_").replace("_", "-"): name for name in _verbs(package)}
    if wanted and wanted[0] in found:
        app.command(wanted[0])(import_module(f"{package}.{found[wanted[0]]}").run)
        return
    for verb, module in found.items():
        app.command(verb, help=_docstring(package, module))(_group)


def _docstring(package: str, module: str) -> str:
    """What a module says of itself, without importing it and all that it needs."""
    source = files(package).joinpath(f"{module}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


def _verbs(package: str) -> list[str]:
    """The verbs of a package: its modules, by file name; `import_` is the verb `import`."""
    own = {"main", "common", "of_tables", "output", "planning", "__init__"}
    return sorted(f.name[:-3] for f in files(package).iterdir() if f.name.endswith(".py") and f.name[:-3] not in own)


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
