"""What the plug-ins of the built-in world say of their weights, which are shipped with cfeval, before anything runs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cfeval.backends.plugin import Plugin
from cfeval.backends.registry import Diagnostic


def examine_weights(files: Iterable[str]) -> Iterator[Diagnostic]:
    """A fault for each shipped file that is not there."""
    here = Path.cwd()
    for path in map(Path, files):
        if not path.is_file():
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            yield Diagnostic(False, f"the file {shown} is missing; it is part of cfeval; restore it")


class WorldPlugin(Plugin):
    """One that computes with weights that are shipped with cfeval."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Weights that are not there."""
        yield from examine_weights(self.dependencies())
