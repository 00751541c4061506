"""Write the calls that record files name into one archive, which replays them on another machine."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.calls.archive import export
from cfeval.cli.store.common import Records, StoreFile, calls_named, opened

Archive = Annotated[Path, typer.Option("--out", help="Archive to write (ZIP); it appears whole or not at all.")]


def run(out: Archive, records: Records = None, store: StoreFile = None) -> None:
    """Write the calls that record files name into one archive, which replays them on another machine.

    Without record files: all calls of the store. A call that the store lacks is taken from the archive that is there.
    """
    held = opened(store, new=True)
    keys = calls_named(records) if records else {call.key for call in held.calls()}
    print(f"{export(held, keys, out)} calls in {out}")
