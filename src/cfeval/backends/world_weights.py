"""What the plug-ins of the built-in world say of their weights, which are shipped with cfeval, before anything runs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cfeval.backends.registry import Finding


def examine_weights(files: Iterable[str]) -> Iterator[Finding]:
    """A fault for each shipped file that is not there."""
    here = Path.cwd()
    for path in map(Path, files):
        if not path.is_file():
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            yield Finding(False, f"the file {shown} is missing; it is part of cfeval; restore it")
