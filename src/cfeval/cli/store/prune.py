"""Remove the calls that no record file names; what they cost stays in the ledger."""

from typing import Annotated

import typer

from cfeval.cli.store.common import Records, StoreFile, calls_named, opened
from cfeval.errors import InputError


def run(
    records: Records = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell, change nothing.")] = False,
    store: StoreFile = None,
) -> None:
    """Remove the calls that no record file names; what they cost stays in the ledger."""
    if not records:
        raise InputError("name the record files whose calls are to stay, such as results/edct")
    held = opened(store)
    kept = calls_named(records)
    unused = [call.key for call in held.calls() if call.key not in kept]
    if not dry_run:
        held.remove(unused)
    print(f"{len(unused)} calls that no record names{'' if dry_run else ' removed'}")
