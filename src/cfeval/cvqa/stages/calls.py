"""The calls to models outside that a study's records came from: one archive, which replays them without a key."""

from pathlib import Path

from cfeval.core.cli_options import StudyFile, read_study_params
from cfeval.core.shards import shard_files
from cfeval.cvqa.asked import AskedCalls
from cfeval.cvqa.files import Results
from cfeval.inference.cli import Archive, CacheFile, calls_named, opened
from cfeval.inference.remote.archive import export


def run(study: StudyFile, out: Archive, results: Results = Path("results/cvqa"), cache: CacheFile = None) -> None:
    """Write the calls that a study's records name into one archive, which replays them on another machine.

    A call that the cache lacks is taken from the archive that is there.
    """
    asked = read_study_params(study, AskedCalls)
    places = [results / stage / name for name in asked.builds for stage in ("drafts", "reviews")]
    places += [results / "answers" / one.set / one.solver for one in asked.conditions]
    places += [results / "readings" / name / one.set / one.solver for name in asked.readers for one in asked.conditions]
    files = [file for place in places for file in shard_files(place.with_name(f"{place.name}.jsonl"), asked.shards)]
    print(f"{export(opened(cache, new=True), calls_named(dict.fromkeys(files)), out)} calls in {out}")
