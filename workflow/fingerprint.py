"""Code and prompts as inputs of a job: hashes that Snakemake compares like any other parameter.

Snakemake does not follow imports. `code` does: a module, every project module it imports (inside functions too) and
the packages they lie in, as workflow/sources.py reads them: an edited comment gives no other hash.
"""

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from sources import Sources, hash_of

PROJECT = Sources(Path(__file__).resolve().parent.parent / "src", memory=Path(".snakemake/sources.json"))
"""The modules of the project's package."""
COMPARED = True
"""Whether anyone compares fingerprints. Snakemake's main process does; one that runs a single job for it on a cluster
keeps no record, and need not read hundreds of files."""


@cache
def code(*modules: str) -> str:
    """The fingerprint of modules and of everything of the project that they import.

    Raises:
        ModuleNotFoundError: the project has no such module.
    """
    if not COMPARED:
        return ""
    for module in modules:
        if module not in PROJECT.files:
            raise ModuleNotFoundError(f"no module {module} under {PROJECT.root}", name=module)
    return "code:" + _digest(f"{module} {PROJECT[module].tree}" for module in sorted(PROJECT.reached(*modules)))


def texts(folder: Path | str, *names: str) -> str:
    """The fingerprint of the templates in a folder (prompts, or the pages of the report), or of some of them."""
    if not COMPARED:
        return ""
    found = sorted(file for file in Path(folder).iterdir() if file.is_file() and (not names or file.name in names))
    return "templates:" + _digest(f"{file.name} {hash_of(file.read_bytes())}" for file in found)


def _digest(lines: Iterable[str]) -> str:
    return hash_of("\n".join(lines).encode())[:16]


if __name__ == "__main__":
    print(code(*sys.argv[1:]))
