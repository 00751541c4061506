"""A plugin is one class: its fields are its options in params.yaml, its methods (hooks) say what it needs.

Every hook but `build` has a default that follows from the fields, so that a plugin says only what is special. What is
built is a plain class behind the protocol of its family. `docs/guides/plugins.md` has an example.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from cfeval.core.registry import CallEstimate, Component, Demand, Diagnostic, PluginOptions, Resources


def component(family: str, default: Any = ..., **more: Any) -> Any:
    """A field that holds specifications of other plugins of a family: one, or several in a list or by name."""
    return Field(default, json_schema_extra={"family": family}, **more)


def file(default: Any = ..., **more: Any) -> Any:
    """A field that names a file on which the results depend; empty: none."""
    return Field(default, json_schema_extra={"file": ""}, **more)


def folder(default: Any = ..., **more: Any) -> Any:
    """A field that names a folder of such files; empty: none."""
    return Field(default, json_schema_extra={"file": "/"}, **more)


class Plugin(PluginOptions):
    """What every plugin offers."""

    by_protocol: ClassVar[bool] = False
    """Whether what it asks, reads or calls depends on the protocol: then a hook that takes one is asked of each."""

    def components(self) -> tuple[Component, ...]:
        """The plugins that it is made of: its fields of `component`."""
        parts: list[Component] = []
        for family, value in self._marked("family"):
            if value is None:
                continue
            is_single = isinstance(value, dict) and (not value or "plugin" in value)
            specs = [value] if is_single else value.values() if isinstance(value, dict) else value
            parts += [(str(family), spec) for spec in specs]
        return tuple(parts)

    def resources(self) -> Resources:
        """What it holds while it runs; nothing beside a processor core."""
        return Resources()

    def sends_to(self) -> str | None:
        """The address that it sends to itself, or a description of it; None: it sends nothing out of this process."""
        return f"an address that the plugin of {type(self).__module__} does not tell" if self.resources().api else None

    def texts_only(self) -> tuple[Component, ...]:
        """Those of its components that it gives texts and never an image: none."""
        return ()

    def dependencies(self) -> tuple[str, ...]:
        """The files that its results depend on, without its components': its fields of `file` and `folder`."""
        named = ((end, str(path)) for end, path in self._marked("file") if path)
        return tuple(path.rstrip(end) + end if end else path for end, path in named)

    def read_by_item(self) -> tuple[str, ...]:
        """Those of its `dependencies` that a dataset reads item by item, and then names itself (`Part.reads`): none."""
        return ()

    def diagnose(self) -> Iterator[Diagnostic]:
        """What `cfeval doctor` should say before anything is spent: nothing."""
        return iter(())

    def advice(self) -> str:
        """A line that `cfeval doctor` and `cfeval estimate` print about what to consider before a long run: none."""
        return ""

    def demand(self) -> Demand | None:
        """What it must find in the items of a dataset to do anything with them; None: it takes any."""
        return None

    def class_names(self) -> tuple[str, ...] | None:
        """The classes that it tells apart, known before anything is loaded; None: only what it builds can tell."""
        return None

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
