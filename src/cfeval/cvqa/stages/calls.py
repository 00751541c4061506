"""The calls to models outside that a study's records came from: one archive, which replays them without a key."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import from_json
from cfeval.core.shards import shard_files
from cfeval.cvqa.records import CvqaCondition
from cfeval.inference.cli import Archive, CacheFile, calls_named, opened
from cfeval.inference.remote.archive import export


def run(
    out: Archive,
    results: Annotated[
        Path, typer.Option(help="The study's results: drafts/, reviews/, answers/, readings/ in it.")
    ] = Path("results/cvqa"),
    conditions: Annotated[str, typer.Option(help='The conditions, as JSON: [{"set": …, "solver": …}].')] = "[]",
    builds: Annotated[list[str] | None, typer.Option("--build", help="A set that was built; once for each.")] = None,
    readers: Annotated[list[str] | None, typer.Option("--reader", help="A reply reader; once for each.")] = None,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    cache: CacheFile = None,
) -> None:
    """Write the calls that the records of some conditions and built sets name into one archive, which replays them.

    A call that the cache lacks is taken from the archive that is there.
    """
    asked = from_json(conditions, list[CvqaCondition], "--conditions")
    places = [results / stage / name for name in builds or () for stage in ("drafts", "reviews")]
    places += [results / "answers" / one.set / one.solver for one in asked]
    places += [results / "readings" / name / one.set / one.solver for name in readers or () for one in asked]
    files = [file for place in places for file in shard_files(place.with_name(f"{place.name}.jsonl"), shards)]
    print(f"{export(opened(cache, new=True), calls_named(dict.fromkeys(files)), out)} calls in {out}")
