"""Nothing to do: how long it takes to see that nothing has changed

`snakemake` and `dvc repro` on a finished study: the default one of this folder (`make demo`, `make vce`, `make cvqa`),
and the study of a hundred thousand items that the part `growth` leaves behind.
"""

import shutil
from pathlib import Path

from tests.workflow.study import Study

from bench.growth import A_SHARD, SIZES
from bench.scripted_study import PLACE, Watched, watched
from bench.table import Table

ROOT = Path(__file__).parent.parent
COLUMNS = ("study", "command", "wall, s", "CPU, s", "memory, MB")


def tables() -> list[Table]:
    """One row a study and command."""
    rows = [*_default(), *_largest()]
    return [Table("A finished study, asked for again", COLUMNS, rows, _notes(rows))]


def _default() -> list[list[str]]:
    if not (ROOT / "results/edct/report/index.html").is_file():
        return []
    of = Study(ROOT)
    return _rows("the default ones: edct, vce and cvqa", of)


def _largest() -> list[list[str]]:
    items = SIZES[-1]
    root = PLACE / f"{items}-items-{items // A_SHARD}-shards" / "study"
    if not (root / "results").is_dir():
        return []
    of = Study(root)
    hashing = watched(of, "dvc", "repro", "--quiet", "edct")
    first = [f"{items:,} items", "dvc repro, the first time: it hashes and keeps every file", *_cells(hashing)]
    found = [first, *_rows(f"{items:,} items", of, "edct")]
    shutil.rmtree(root / ".dvc/cache", ignore_errors=True)
    return found


def _rows(name: str, of: Study, *stages: str) -> list[list[str]]:
    commands = (("snakemake", "--cores", "2"), ("snakemake", "--dry-run"), ("dvc", "repro", "--quiet", *stages))
    found = []
    for command in commands:
        watched(of, *command)  # the first look warms the files up
        found.append([name, " ".join(command[:2]), *_cells(watched(of, *command))])
    return found


def _cells(took: Watched) -> list[str]:
    return [f"{took.wall:.1f}", f"{took.cpu + took.cpu_jobs:.1f}", f"{max(took.memory, took.memory_jobs):.0f}"]


def _notes(rows: list[list[str]]) -> list[str]:
    names = " ".join(row[0] for row in rows)
    missing = [] if "default" in names else ["The default studies were not finished here."]
    return missing if "items" in names else [*missing, "The large study was not there: run the part `growth` first."]
