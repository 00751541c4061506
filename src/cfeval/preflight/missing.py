"""Files that a backend needs and that are not there."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cfeval.backends import registry


def missing_files(family: str, spec: Mapping[str, Any], protocols: Collection[str]) -> Iterator[str]:
    """What to say of each file that a backend needs and that is not there, in its plug-in's own words if it has any."""
    for file in registry.dependencies(family, spec, protocols):
        if not file.endswith("/") and not Path(file).is_file():  # of folders, plug-ins speak themselves
            fault = f"the file {file} is missing; "
            own = (text for text in _faults(family, spec, protocols) if text.startswith(fault))
            yield next(own, f"{fault}correct the path, or put the file there")


def _faults(family: str, spec: Mapping[str, Any], protocols: Collection[str]) -> list[str]:
    """What a plug-in finds wrong while a file of it is missing; where that stops it, what it found before."""
    found = []
    with suppress(Exception):
        for finding in registry.diagnose(family, spec, offline=True, protocols=protocols):
            if not finding.fine:
                found.append(finding.text)
    return found
