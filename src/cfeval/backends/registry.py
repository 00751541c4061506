"""Finds and builds plug-ins. A plug-in is a module `backends/<family>/<name>.py` with

    class Options(PluginOptions): …            its options in params.yaml
    def build(options: Options) -> <Protocol>: …

and, where they apply,

    def needs(options) -> Needs: …             what it holds beside a processor core
    def files(options) -> tuple[str, ...]: …   the files (weights, own samples) that its results depend on; a folder's
                                               name ends with a slash, and all that is in it counts
    def parts(options) -> tuple[Part, ...]: …  the plug-ins that it is made of, as (family, specification)
    def examine(options) -> Iterator[Finding]: …   what `cfeval doctor` should say before anything is spent
    def calls(options) -> tuple[Expected, …]: …    the calls to a provider that one request to it makes, for
                                               `cfeval estimate`; without it, those of the plug-ins it is made of

`files`, `examine` and `calls` of a writer or judge take the protocol as a second argument, because what it is asked
depends on it.

What is built takes requests in batches; one that can work on many at once says so by its attribute `side_by_side`
(`cfeval.backends.serving`).

A module is cheap to import: torch and the like load in `build` or later. Listing imports nothing.
"""

import pkgutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cfeval.errors import BackendError, ParamsError, nearest
from cfeval.protocols.rules import RULES

EVERY = tuple(RULES)
BY_PROTOCOL = ("writers", "judges")
"""The families whose plug-ins speak of one protocol at a time."""


class PluginOptions(BaseModel):
    """Options of a plug-in; unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Needs(PluginOptions):
    """What a job that uses the plug-in holds while it runs."""

    gpu: int = 0
    api: bool = False


@dataclass(frozen=True)
class Finding:
    """Something `cfeval doctor` found out about a plug-in: `fine` or not, and one line that says what to do if not."""

    fine: bool
    text: str


@dataclass(frozen=True)
class Expected:
    """A call to a provider that a plug-in makes for one request.

    `model` is its name in the price list. `prompt` is the number of characters that the plug-in's own template adds to
    what it is given; `pictures` how many pictures a writer or judge shows; `image_tokens` what each picture that is
    shown is taken to cost at most; `max_tokens` the longest reply; `images` how many pictures are made. `repair` says
    that it is made only where a reply cannot be read.
    """

    model: str
    prompt: int = 0
    pictures: int = 0
    image_tokens: int = 0
    max_tokens: int = 0
    images: int = 0
    repair: bool = False


Protocols = Collection[str] | None
Part = tuple[str, Mapping[str, Any]]
"""A plug-in that another is made of: its family and specification."""


@cache
def names(family: str) -> tuple[str, ...]:
    """The plug-ins of a family, found by their file names."""
    folder = files("cfeval.backends") / family
    return tuple(sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if m.name != "base"))


def needs(family: str, spec: Mapping[str, Any]) -> Needs:
    """What the plug-in behind a spec holds while it runs."""
    found: list[Needs] = list(_said(family, spec, "needs"))
    return Needs(gpu=max((need.gpu for need in found), default=0), api=any(need.api for need in found))


def check(family: str, spec: Mapping[str, Any], where: str) -> None:
    """Check the names and options of a plug-in and its parts without building it.

    Raises:
        ParamsError: one line that names the place, the fault and what is allowed.
    """
    for _ in parts(family, spec, where):
        pass


def depends_on(family: str, spec: Mapping[str, Any], protocols: Collection[str] = EVERY) -> tuple[str, ...]:
    """The files that the results of a plug-in under these protocols depend on: weights, own samples, prompts."""
    said = _said(family, spec, "files", protocols)
    return tuple(dict.fromkeys(_shortest(path) for named in said for path in named))


def examine(
    family: str, spec: Mapping[str, Any], offline: bool = False, protocols: Collection[str] = EVERY
) -> Iterator[Finding]:
    """What can be said about a plug-in and its parts before anything is spent; offline, providers are not asked."""
    for part, its in parts(family, spec):
        if offline and any(need.api for need in _own(part, its, "needs")):
            yield Finding(True, "offline: the response store answers, the provider is not asked")
            continue
        for findings in _own(part, its, "examine", protocols):
            yield from findings


def calls(family: str, spec: Mapping[str, Any], protocols: Collection[str] = EVERY) -> tuple[Expected, ...]:
    """The calls to providers that one request to a plug-in makes, as it says itself or else those of its parts.

    Of several protocols, one request under each.
    """
    module = _module(family, spec["backend"])
    if hasattr(module, "calls"):
        return tuple(call for said in _own(family, spec, "calls", protocols) for call in said)
    made_of = module.parts(_options(family, spec, family)) if hasattr(module, "parts") else ()
    return tuple(call for part, its in made_of for call in calls(part, its, protocols))


def parts(family: str, spec: Mapping[str, Any], where: str = "") -> Iterator[Part]:
    """A plug-in and, one after the other, all plug-ins that it is made of; ParamsError like `check`."""
    options = _options(family, spec, where or family)
    yield family, spec
    made_of = getattr(_module(family, spec["backend"]), "parts", None)
    for part, its in made_of(options) if made_of else ():
        yield from parts(part, its, f"{where or family}: {spec['backend']}")


def build(family: str, spec: Mapping[str, Any]) -> Any:
    """Build the plug-in that `spec` names: its key `backend` is the name, the other keys are its options.

    Where it needs GPUs and this machine has several, the process first leases its own.

    Raises:
        ParamsError: unknown plug-in or option.
        BackendError: the plug-in needs a package that is not installed.
    """
    options = _options(family, spec, family)
    _lease_gpus(family, spec)
    try:
        return _module(family, spec["backend"]).build(options)
    except ModuleNotFoundError as error:
        raise BackendError(
            f"{family} backend '{spec['backend']}' needs the package '{error.name}'; install it"
        ) from error


def _lease_gpus(family: str, spec: Mapping[str, Any]) -> None:
    if gpus := needs(family, spec).gpu:
        from cfeval.backends.local_models import leases

        devices = {str(its.get("device", "")) for _, its in parts(family, spec)}
        leases.take(gpus, sorted(int(name[5:]) for name in devices if name.startswith("cuda:")))


def modules(family: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The dotted names of the modules behind a spec, its parts included."""
    return tuple(dict.fromkeys(f"cfeval.backends.{part}.{its['backend']}" for part, its in parts(family, spec)))


def _said(family: str, spec: Mapping[str, Any], function: str, protocols: Protocols = None) -> Iterator[Any]:
    """What a plug-in and its parts say when asked; one without the function says nothing."""
    for part, its in parts(family, spec):
        yield from _own(part, its, function, protocols)


def _own(family: str, spec: Mapping[str, Any], function: str, protocols: Protocols = None) -> Iterator[Any]:
    """What a plug-in itself says when asked, its parts left out; a writer or judge is asked about each protocol."""
    ask = getattr(_module(family, spec["backend"]), function, None)
    if ask is None:
        return
    options = _options(family, spec, family)
    if family in BY_PROTOCOL and protocols is not None:
        yield from (ask(options, protocol) for protocol in protocols)
    else:
        yield ask(options)


def _shortest(path: str) -> str:
    """The path relative to the working folder where it lies below it, so that no record names a machine's folders."""
    here = Path.cwd()
    short = str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
    return f"{short.rstrip('/')}/" if path.endswith("/") else short


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
        found = error.errors()
        first = next((fault for fault in found if fault["type"] == "extra_forbidden"), found[0])
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ParamsError(
                f"{where}: unknown option '{key}' of '{name}'; {nearest(key, kind.model_fields)}"
            ) from None
        fault = first["msg"].removeprefix("Value error, ")
        if not key:  # of several options together
            raise ParamsError(f"{where}: options of '{name}': {fault}") from None
        raise ParamsError(f"{where}: option '{key}' of '{name}': {fault}, but got {first['input']!r}") from None
