"""Finds and builds plug-ins. A plug-in is a module `backends/<family>/<name>.py` with

    class Options(PluginOptions): …            its options in params.yaml
    def build(options: Options) -> <Protocol>: …

and, where it holds more than a processor core, `NEEDS = Needs(gpu=…, api=…)`, and, where its results depend on files
(weights, own samples), `files(options) -> tuple[str, ...]`, which names them. A module is cheap to import: torch and
the like load in `build` or later. Listing imports nothing.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cfeval.errors import BackendError, ParamsError, nearest


class PluginOptions(BaseModel):
    """Options of a plug-in; unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Needs(PluginOptions):
    """What a job that uses the plug-in holds while it runs."""

    gpu: int = 0
    api: bool = False


@cache
def names(family: str) -> tuple[str, ...]:
    """The plug-ins of a family, found by their file names."""
    folder = files("cfeval.backends") / family
    return tuple(sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if m.name != "base"))


def needs(family: str, spec: Mapping[str, Any]) -> Needs:
    """What the plug-in behind a spec holds while it runs."""
    found = getattr(_module(family, spec["backend"]), "NEEDS", Needs())
    assert isinstance(found, Needs)
    return found


def check(family: str, spec: Mapping[str, Any], where: str) -> None:
    """Check a plug-in's name and options without building it.

    Raises:
        ParamsError: one line that names the place, the fault and what is allowed.
    """
    _options(family, spec, where)


def depends_on(family: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that the results of a plug-in depend on: weights, own samples."""
    files_of = getattr(_module(family, spec["backend"]), "files", None)
    return tuple(_shortest(path) for path in files_of(_options(family, spec, family))) if files_of else ()


def build(family: str, spec: Mapping[str, Any]) -> Any:
    """Build the plug-in that `spec` names: its key `backend` is the name, the other keys are its options.

    Raises:
        ParamsError: unknown plug-in or option.
        BackendError: the plug-in needs a package that is not installed.
    """
    options = _options(family, spec, family)
    try:
        return _module(family, spec["backend"]).build(options)
    except ModuleNotFoundError as error:
        raise BackendError(
            f"{family} backend '{spec['backend']}' needs the package '{error.name}'; install it"
        ) from error


def module_name(family: str, spec: Mapping[str, Any]) -> str:
    """The dotted name of the module behind a spec."""
    return f"cfeval.backends.{family}.{spec['backend']}"


def _shortest(path: str) -> str:
    """The path relative to the working folder where it lies below it, so that no record names a machine's folders."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _module(family: str, name: str) -> ModuleType:
    return import_module(f"cfeval.backends.{family}.{name}")


def _options(family: str, spec: Mapping[str, Any], where: str) -> PluginOptions:
    name = str(spec.get("backend"))
    if name not in names(family):
        raise ParamsError(f"{where}: unknown {family} backend '{name}'; {nearest(name, names(family))}")
    kind: type[PluginOptions] = _module(family, name).Options
    try:
        return kind.model_validate({key: value for key, value in spec.items() if key != "backend"})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ParamsError(
                f"{where}: unknown option '{key}' of '{name}'; {nearest(key, kind.model_fields)}"
            ) from None
        raise ParamsError(f"{where}: option '{key}' of '{name}': {first['msg']}, but got {first['input']!r}") from None
