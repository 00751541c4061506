"""A plug-in is one class: its fields are its options in params.yaml, its methods (hooks) say what it needs.

Every hook but `build` has a default that follows from the fields, so that a plug-in says only what is special. What is
built is a plain class behind the protocol of its family. `docs/plugins.md` has an example.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pydantic import Field

from cfeval.backends.asking import AskingOptions, Form, expected, template_faults, template_files
from cfeval.backends.local_models import pretrained
from cfeval.backends.local_models.options import LocalOptions
from cfeval.backends.registry import CallEstimate, Component, Diagnostic, PluginOptions, Resources


def component(family: str, default: Any = ..., **more: Any) -> Any:
    """A field that holds specifications of other plug-ins of a family: one, or several in a list or by name."""
    return Field(default, json_schema_extra={"family": family}, **more)


def file(default: Any = ..., **more: Any) -> Any:
    """A field that names a file on which the results depend; empty: none. A folder's name ends with a slash."""
    return Field(default, json_schema_extra={"file": True}, **more)


class Plugin(PluginOptions):
    """What every plug-in offers."""

    by_protocol: ClassVar[bool] = False
    """Whether what it asks, reads or calls depends on the protocol: then a hook that takes one is asked of each."""

    def components(self) -> tuple[Component, ...]:
        """The plug-ins that it is made of: its fields of `component`."""
        found: list[Component] = []
        for family, value in self._marked("family"):
            if value is None:
                continue
            one = isinstance(value, dict) and (not value or "backend" in value)
            specs = [value] if one else value.values() if isinstance(value, dict) else value
            found += [(str(family), spec) for spec in specs]
        return tuple(found)

    def resources(self) -> Resources:
        """What it holds while it runs; nothing beside a processor core."""
        return Resources()

    def dependencies(self) -> tuple[str, ...]:
        """The files that its results depend on, its components' left out: its fields of `file`."""
        return tuple(str(path) for _, path in self._marked("file") if path)

    def diagnose(self) -> Iterator[Diagnostic]:
        """What `cfeval doctor` should say before anything is spent: nothing."""
        return iter(())

    def estimate_calls(self) -> tuple[CallEstimate, ...] | None:
        """The calls to a provider that one request to it makes; None: those of its components."""
        return None

    @abstractmethod
    def build(self) -> Any:
        """What works on requests, its models loaded."""

    def _marked(self, mark: str) -> Iterator[tuple[Any, Any]]:
        for name, field in type(self).model_fields.items():
            if isinstance(field.json_schema_extra, dict) and mark in field.json_schema_extra:
                yield field.json_schema_extra[mark], getattr(self, name)


class ChatPlugin(Plugin, AskingOptions):
    """One that asks a chat model: which, and with which templates."""

    model: dict[str, Any] = component("chat")
    """The chat model: its backend and options. Where no max_tokens stands there, a protocol may have its own."""

    @abstractmethod
    def forms(self, protocol: str = "") -> Sequence[Form[Any]]:
        """What is asked of the model, one after the other."""

    def dependencies(self, protocol: str = "") -> tuple[str, ...]:
        """The templates."""
        return template_files(self, *self.forms(protocol))

    def diagnose(self, protocol: str = "") -> Iterator[Diagnostic]:
        """Templates that cannot be filled."""
        yield from template_faults(self, *self.forms(protocol))

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """Each form, and each again where a reply must be repaired."""
        return expected(self, *self.forms(protocol))


class LocalPlugin(Plugin, LocalOptions):
    """One that computes with a checkpoint on this machine."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of checkpoint that it can use."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder."""
        return tuple(map(str, pretrained.checkpoint_of(self.model, self.revision).files()))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device and checkpoint are there and fit."""
        yield from pretrained.examine(pretrained.checkpoint_of(self.model, self.revision), self.kinds, self.device)
