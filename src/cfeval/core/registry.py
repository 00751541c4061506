"""Finds and builds plugins, which packages offer as entry points: one group a family, `cfeval.<family>`.

An entry names a class of `cfeval.core.plugin`, whose fields are the options in params.yaml. What is built has the
methods of its family's protocol, of which those that wait for models are `async` (`cfeval.inference.batching`).

A plugin's module is cheap to import: torch and the like load in `build` or later. Listing imports nothing.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from inspect import signature
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cfeval.core import extras
from cfeval.core.errors import NO_SECRETS, ParamsError, PluginError, is_secret, nearest, shown

_OWN = {"cfeval", "cfeval_testbed"}
# What the names of the groups begin with.
GROUP = "cfeval."


class PluginOptions(BaseModel):
    """Options of a plugin; unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Resources(PluginOptions):
    """What a job that uses the plugin holds while it runs."""

    gpu: int = 0
    api: bool = False


@dataclass(frozen=True)
class Diagnostic:
    """Something `cfeval doctor` found out about a plugin: `fine` or not, and one line that says what to do if not.

    `of_form` says that it matters only where replies must follow a JSON schema, `of_images` only where images are
    shown. `warns` says that it will work, and what may come of it.
    """

    fine: bool
    text: str
    of_form: bool = False
    warns: bool = False
    of_images: bool = False


@dataclass(frozen=True)
class CallEstimate:
    """A call to a provider that a plugin makes for one request.

    `model` is its name in the price list. `prompt` is the number of characters that the plugin's own template adds to
    what it is given; `images_shown` how many images a writer or judge shows; `image_tokens` what each of them is
    taken to cost at most; `max_tokens` the longest reply; `thinking_tokens` what its model may think before
    it; `images` how many images are made. `repair` says that it is made only where a reply cannot be read. `share` is
    how much of the list price it costs, as in a batch.
    """

    model: str
    prompt: int = 0
    images_shown: int = 0
    image_tokens: int = 0
    max_tokens: int = 0
    thinking_tokens: int = 0
    images: int = 0
    repair: bool = False
    share: float = 1.0


@dataclass(frozen=True)
class Demand:
    """What a plugin must find in the items of a dataset to do anything with them.

    `what` names it; the items of the dataset plugins `datasets` always have it; whether one of another dataset has it,
    `met` says of the item (`cfeval.datasets.sample.RawSample`).
    """

    what: str
    datasets: tuple[str, ...]
    met: Callable[[Any], bool]


@dataclass(frozen=True)
class Recipient:
    """Who is sent something: its `address`, or a description of it; the model there; whether images go to it."""

    address: str
    model: str
    images: bool


# A plugin that another is made of: its family and specification.
Component = tuple[str, Mapping[str, Any]]


def names(family: str) -> tuple[str, ...]:
    """The plugins of a family that the installed packages offer."""
    return tuple(sorted(_offered().get(family, {})))


def places(family: str) -> dict[str, str]:
    """Where what the installed packages offer in a group is, by name: `module:definition`; of two, the first."""
    return {name: points[0].value for name, points in sorted(_offered().get(family, {}).items())}


def options(family: str) -> dict[str, type[PluginOptions]]:
    """The classes of the plugins that cfeval and its test bed offer, by name: their fields are the options."""
    own = {name: points[0] for name, points in sorted(_offered().get(family, {}).items())}
    return {name: _loaded(family, point) for name, point in own.items() if point.module.partition(".")[0] in _OWN}


def resources(family: str, spec: Mapping[str, Any]) -> Resources:
    """What the plugin behind a spec holds while it runs."""
    held: list[Resources] = [plugin_of(part, part_spec).resources() for part, part_spec in components(family, spec)]
    return Resources(gpu=max((need.gpu for need in held), default=0), api=any(need.api for need in held))


def check(family: str, spec: Mapping[str, Any], where: str) -> None:
    """Check the names and options of a plugin and its components without building it.

    Raises:
        ParamsError: one line that names the place, the fault and what is allowed.
        PluginError: the plugin cannot be imported.
    """
    for _ in components(family, spec, where):  # which checks each
        pass


def takes_tools(spec: Mapping[str, Any]) -> bool:
    """Whether a chat model can be given tools to call: its plugin says so by a field or property `takes_tools`."""
    return bool(getattr(plugin_of("chat", spec), "takes_tools", False))


def samples(spec: Mapping[str, Any]) -> bool:
    """Whether a chat model may reply otherwise to another seed: its plugin says so by a field or property `samples`."""
    return bool(getattr(plugin_of("chat", spec), "samples", True))


def dependencies(
    family: str, spec: Mapping[str, Any], protocols: Collection[str] = (), by_item: bool = False
) -> tuple[str, ...]:
    """The files that the results of a plugin under these protocols depend on: weights, own samples, prompts.

    Args:
        family: the plugin's.
        spec: its name and options.
        protocols: under which it is used.
        by_item: leave out what the plugin names item by item.
    """
    plugins = [plugin_of(part, part_spec) for part, part_spec in components(family, spec)]
    files = (named for plugin in plugins for named in _call_hook(plugin, "dependencies", protocols))
    later = {_shortest(path) for plugin in plugins for path in plugin.read_by_item()} if by_item else set()
    return tuple(dict.fromkeys(path for named in files for path in map(_shortest, named) if path not in later))


def diagnose(
    family: str, spec: Mapping[str, Any], offline: bool = False, protocols: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """What can be said about a plugin and its components before anything is spent; offline, no provider is asked."""
    for part, part_spec in components(family, spec):
        plugin = plugin_of(part, part_spec)
        if offline and plugin.resources().api:
            yield Diagnostic(True, "offline: the response cache answers, the provider is not asked")
            continue
        for diagnostics in _call_hook(plugin, "diagnose", protocols):
            yield from diagnostics


def advice(family: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    """What a plugin and its components advise before a long run, each line once."""
    lines = (plugin_of(part, part_spec).advice() for part, part_spec in components(family, spec))
    return tuple(dict.fromkeys(line for line in lines if line))


def demands(family: str, spec: Mapping[str, Any]) -> Iterator[Demand]:
    """What a plugin and its components must find in the items of a dataset."""
    for part, part_spec in components(family, spec):
        if (demand := plugin_of(part, part_spec).demand()) is not None:
            yield demand


def class_names(family: str, spec: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The classes that a classifier or a set of images tells apart, before it is built; None where it cannot say."""
    classes: tuple[str, ...] | None = plugin_of(family, spec).class_names()
    return classes


def estimate_calls(family: str, spec: Mapping[str, Any], protocols: Collection[str] = ()) -> tuple[CallEstimate, ...]:
    """The calls to providers that one request to a plugin makes, as it says itself or else those of its components.

    Of several protocols, one request under each, where the protocol matters to the plugin.
    """
    plugin = plugin_of(family, spec)
    estimates = list(_call_hook(plugin, "estimate_calls", protocols))
    if None not in estimates:
        return tuple(call for calls in estimates for call in calls)
    return tuple(call for part, part_spec in plugin.components() for call in estimate_calls(part, part_spec, protocols))


def recipients(
    family: str, spec: Mapping[str, Any], protocols: Collection[str] = (), images: bool = True
) -> Iterator[Recipient]:
    """Who outside this process a plugin and its components send to.

    Args:
        family: the plugin's.
        spec: its name and options.
        protocols: under which it is used.
        images: whether it is given images itself.
    """
    plugin = plugin_of(family, spec)
    address = plugin.sends_to()
    if address is not None:
        yield Recipient(address, str(getattr(plugin, "model", spec["plugin"])), images)
    blind = list(_call_hook(plugin, "texts_only", protocols))
    for part, part_spec in plugin.components():
        seen = images and not (blind and all((part, part_spec) in parts for parts in blind))
        yield from recipients(part, part_spec, protocols, seen)


def plugin_of(family: str, spec: Mapping[str, Any], where: str = "") -> Any:
    """The plugin that a specification names, with its options, not built yet.

    Raises:
        ParamsError: no such plugin or option.
        PluginError: it cannot be imported.
    """
    where = where or family
    kind = _loaded(family, _entry(family, spec, where))
    name = spec["plugin"]
    try:
        return kind.model_validate({key: value for key, value in spec.items() if key != "plugin"})
    except ValidationError as error:
        faults = error.errors()
        first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            if is_secret(key):  # what was given may be a credential: it is not repeated
                raise ParamsError(f"{where}: '{key}' of '{name}': {NO_SECRETS}") from None
            unknown = f"unknown option {shown(key)} of '{name}'; {nearest(key, kind.model_fields)}"
            raise ParamsError(f"{where}: {unknown}") from None
        fault = first["msg"].removeprefix("Value error, ")
        if not key:  # of several options together
            raise ParamsError(f"{where}: options of '{name}': {fault}") from None
        got = "" if key == "base_url" else f", but got {shown(first['input'])}"
        raise ParamsError(f"{where}: option '{key}' of '{name}': {fault}{got}") from None


def components(family: str, spec: Mapping[str, Any], where: str = "") -> Iterator[Component]:
    """A plugin and, one after the other, all plugins that it is made of; errors like `check`."""
    made_of = plugin_of(family, spec, where or family).components()
    yield family, spec
    for part, part_spec in made_of:
        yield from components(part, part_spec, f"{where or family}: {spec['plugin']}")


def build(family: str, spec: Mapping[str, Any]) -> Any:
    """Build the plugin that `spec` names: its key `plugin` is the name, the other keys are its options.

    Where it needs GPUs and this machine has several, the process first leases its own.

    Raises:
        ParamsError: unknown plugin or option.
        PluginError: the plugin needs a package that is not installed.
    """
    plugin = plugin_of(family, spec)
    if gpus := resources(family, spec).gpu:
        from cfeval.core import locks as leases

        devices = {str(part_spec.get("device", "")) for _, part_spec in components(family, spec)}
        leases.lease_gpus(gpus, sorted(int(name[5:]) for name in devices if name.startswith("cuda:")))
    try:
        return plugin.build()
    except ModuleNotFoundError as error:
        raise PluginError(_lacks(family, str(error.name), _entry(family, spec, family))) from error


def _lacks(family: str, package: str, point: metadata.EntryPoint) -> str:
    return f"{family} plugin '{point.name}' needs the package '{package}'; {extras.advice(package, point.value)}"


def check_installed(family: str, spec: Mapping[str, Any], where: str) -> None:
    """Refuse a plugin whose extra, or that of a part of it, is not installed (PluginError)."""
    for part, part_spec in components(family, spec, where):
        if fault := extras.missing(_entry(part, part_spec, where).value):
            raise PluginError(f"{where}: {part} plugin '{part_spec['plugin']}' {fault}")


def code(family: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """Whose code a plugin and its components are, by a name that stays when files move: `module:class`."""
    return {
        f"{part}:{part_spec['plugin']}": _entry(part, part_spec, part).value
        for part, part_spec in components(family, spec)
    }


def _call_hook(plugin: Any, hook: str, protocols: Collection[str]) -> Iterator[Any]:
    """What a plugin's hook returns: once, or where that depends on the protocol, for each."""
    method = getattr(plugin, hook)
    if plugin.by_protocol and signature(method).parameters:
        yield from map(method, protocols)
    else:
        yield method()


def _shortest(path: str) -> str:
    """The path relative to the working folder where it lies below it, so that no record names a machine's folders."""
    here = Path.cwd()
    short = str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
    return f"{short.rstrip('/')}/" if path.endswith("/") else short


@cache
def _offered() -> dict[str, dict[str, list[metadata.EntryPoint]]]:
    """The entry points of the plugins by family and name; of a distribution that is found twice, the first counts.

    Only the files of those distributions that have any are parsed, which takes a few milliseconds.
    """
    offered: dict[str, dict[str, list[metadata.EntryPoint]]] = {}
    seen: set[str] = set()
    for distribution in metadata.distributions():
        if f"[{GROUP}" not in (distribution.read_text("entry_points.txt") or ""):
            continue
        name = distribution.metadata["Name"].lower().replace("_", "-")
        for point in distribution.entry_points if name not in seen else ():
            if point.group.startswith(GROUP):
                offered.setdefault(point.group.removeprefix(GROUP), {}).setdefault(point.name, []).append(point)
        seen.add(name)
    return offered


def _entry(family: str, spec: Mapping[str, Any], where: str) -> metadata.EntryPoint:
    """The entry point that a specification names.

    Raises:
        ParamsError: no package offers it, or several do.
    """
    name = str(spec.get("plugin"))
    offers = _offered().get(family, {}).get(name, [])
    if not offers:
        raise ParamsError(
            f"{where}: unknown {family} plugin {shown(name)}; {nearest(name, names(family))}{extras.test_bed_hint()}"
        )
    if len(offers) > 1:
        both = " and ".join(sorted(map(_distribution, offers)))
        raise ParamsError(f"{where}: {both} offer a {family} plugin '{name}'; uninstall one")
    return offers[0]


def _distribution(point: metadata.EntryPoint) -> str:
    return f"{point.dist.metadata['Name']} {point.dist.version}" if point.dist else "?"


def _loaded(family: str, point: metadata.EntryPoint) -> type[PluginOptions]:
    """The class behind an entry point.

    Raises:
        PluginError: it cannot be imported.
    """
    try:
        kind: type[PluginOptions] = getattr(import_module(point.module), point.attr)
        return kind
    except (ImportError, SyntaxError, AttributeError) as error:
        what = f"{family} plugin '{point.name}'"
        if isinstance(error, ModuleNotFoundError) and not f"{point.module}.".startswith(f"{error.name}."):
            raise PluginError(_lacks(family, str(error.name), point)) from error
        raise PluginError(
            f"{what} of {_distribution(point)} cannot be loaded from {point.value} ({error}); install it anew"
        ) from error


@dataclass(frozen=True)
class Used:
    """A plugin of a study: the section of params.yaml and the name in it, its family, its specification."""

    study: str
    section: str
    name: str
    family: str
    spec: dict[str, Any]
    protocols: tuple[str, ...] = ()
    """Under which it is used, in a study that has protocols."""

    @property
    def place(self) -> str:
        """Where it stands in params.yaml."""
        return f"{self.study}.{self.section}.{self.name}"

    @property
    def is_valid(self) -> bool:
        """Whether its name and options are right."""
        try:
            check(self.family, self.spec, self.place)
        except ParamsError:
            return False
        return True

    @property
    def resources(self) -> Resources:
        """What a job that uses it holds."""
        return resources(self.family, self.spec)
