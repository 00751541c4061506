"""Plugins that compute with a network on one device."""

from abc import abstractmethod
from collections.abc import Iterator

from pydantic import Field

from cfeval.core.plugin import Plugin
from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.local import devices
from cfeval.inference.local.pretrained import finding


class NetworkPlugin(Plugin):
    """Where a network computes; a plugin adds which network."""

    device: str = Field("auto", pattern=devices.DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the device is there, and what `about` says; no weights are read."""
        yield finding(lambda: f"computes on {devices.chosen(self.device)}")
        yield finding(self.about)

    @abstractmethod
    def about(self) -> str:
        """What can be said of the network in one line before it is loaded; a `CfevalError` says what is wrong."""
