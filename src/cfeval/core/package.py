"""Where the files lie that come with cfeval beside its code: at the top of a checkout, inside an installed package."""

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# What is brought: its place in a checkout, and in a package, as its `pyproject.toml` puts it.
CARRIED = {
    "Snakefile": "cfeval/Snakefile",
    "workflow": "cfeval/workflow",
    "profiles": "cfeval/profiles",
    "data/reference": "cfeval/reference",
    "data/models": "cfeval_testbed/models",
}


@cache
def carried(name: str) -> Path:
    """A file or folder that cfeval brings, by its path in a checkout; ValueError where it brings no such thing."""
    for place, inside in CARRIED.items():
        if f"{name}/".startswith(f"{place}/"):
            packaged = PACKAGE.parent / f"{inside}{name.removeprefix(place)}"
            return packaged if packaged.exists() else PACKAGE.parents[1] / name
    raise ValueError(f"cfeval brings no {name}; it brings {', '.join(CARRIED)}")


def name_of(path: Path) -> str | None:
    """The path in a checkout of a file that cfeval brings, wherever it is installed; None for any other file."""
    looked_for = f"{path.as_posix()}/"
    for place in CARRIED:
        there = f"{carried(place).as_posix()}/"
        if looked_for.startswith(there):
            return f"{place}/{looked_for.removeprefix(there)}".rstrip("/")
    return None
