"""Take the calls of an archive into the store; what is there already stays."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cfeval.calls.archive import read
from cfeval.cli.store.common import StoreFile, opened
from cfeval.errors import InputError


def run(
    archive: Annotated[Path, typer.Argument(help="An archive that `cfeval store export` wrote.")],
    store: StoreFile = None,
) -> None:
    """Take the calls of an archive into the store; what is there already stays."""
    if not archive.is_file():
        raise InputError(f"{archive}: no such file")
    for _ in read(archive):
        pass  # all of it is checked before anything is taken
    held = opened(store, new=True)
    added = Counter(held.add(call, image) for call, image in read(archive))
    print(f"{added[True]} new calls, {added[False]} known ones")
