"""Growth: from a hundred items to a hundred thousand

One condition of the edct study with models that answer at once (scripted ones), so that what is measured is the
machinery: drawing and filing images, reading and writing records, starting jobs, deciding what to run. A thousand
items a shard. The scheduler's share is the CPU time of the `snakemake` process of all CPU time, and the part of the
wall time in which no job ran.
"""

import sys

from tests.workflow.study import Study

from bench.scripted_study import Watched, bytes_of, study, watched
from bench.table import Table

SIZES = (100, 1_000, 10_000, 100_000)
A_SHARD = 1_000
CORES = "2"


def tables() -> list[Table]:
    """One table, a row a size; the largest study stays for `bench.nothing`."""
    columns = ("items", "jobs", "wall, s", "wall a thousand items, s", "CPU a thousand items, s", "scheduler: CPU")
    more = ("scheduler: no job runs", "memory of the scheduler, MB", "of the largest job, MB", "results, MB")
    return [Table("By items", (*columns, *more), [_row(items) for items in SIZES])]


def _row(items: int) -> list[str]:
    of = study(items, max(1, items // A_SHARD))
    took = finished(of)
    return [
        f"{items:,}",
        str(len(list((of.root / "logs" / "edct").rglob("*.log")))),
        f"{took.wall:.0f}",
        f"{1000 * took.wall / items:.2f}",
        f"{1000 * (took.cpu + took.cpu_jobs) / items:.2f}",
        f"{took.cpu / (took.cpu + took.cpu_jobs):.1%}",
        f"{took.idle / took.wall:.1%}",
        f"{took.memory:.0f}",
        f"{took.memory_jobs:.0f}",
        f"{bytes_of(of.root / 'results') / 1e6:.0f}",
    ]


def finished(of: Study) -> Watched:
    """Run a study of `bench.scripted_study` to its end."""
    took = watched(of, "snakemake", "--cores", CORES, "--", "edct")
    print(f"bench: {of.root.parent.name}: {took.wall:.0f} s", file=sys.stderr)
    return took
