"""Write the calls that the records of some arms name into one archive, which replays them on another machine."""

from cfeval.calls.archive import export
from cfeval.cli.edct.common import Arms, Results, Shards, arms_of
from cfeval.cli.store.common import StoreFile, calls_named, opened
from cfeval.cli.store.export import Archive
from cfeval.io.arm_files import STAGES, stage_files

_NAME_CALLS = [stage for stage in STAGES if stage not in ("samples", "scores")]


def run(results: Results, arms: Arms, out: Archive, shards: Shards = 1, store: StoreFile = None) -> None:
    """Write the calls that the records of some arms name into one archive, which replays them on another machine.

    A call that the store lacks is taken from the archive that is there.
    """
    named = [stage_files(results, stage, arm, shards) for arm in arms_of(arms) for stage in _NAME_CALLS]
    files = dict.fromkeys(file for some in named for file in some)
    print(f"{export(opened(store, new=True), calls_named(files), out)} calls in {out}")
