"""Commands as they are printed: a reader pastes them into a shell, whatever the names in them."""

import shlex
from pathlib import Path


def quoted(path: str | Path) -> str:
    """A file or folder as a shell takes it; one that begins with a dash gets `./` before it, as it is no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def cfeval(command: str, folder: str | Path = "") -> str:
    """A `cfeval` command about a study's folder; of the current folder nothing is said."""
    return f"cfeval {command}" if Path(folder) == Path() else f"cfeval {command} {quoted(folder)}"
