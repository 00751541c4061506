"""Growth: from a hundred items to a hundred thousand

One arm of the edct study with models that answer at once (scripted ones), so that what is measured is the machinery:
drawing and filing pictures, reading and writing records, starting jobs, deciding what to run. A thousand items a shard.
The scheduler's share is the CPU time of the `snakemake` process of all CPU time, and the part of the wall time in which
no job ran. The second table is the same study in one piece: every stage is one job that reads and writes whole files of
that many items.
"""

import sys
from collections import defaultdict

from tests.workflow.study import Study

from bench.scripted_study import Watched, bytes_of, jobs_of, study, watched
from bench.table import Table

SIZES = (100, 1_000, 10_000, 100_000)
WHOLE = 100_000
A_SHARD = 1_000
CORES = "2"
STAGES = ("samples", "baseline", "instructions", "counterfactuals", "checks", "requery", "verdicts", "scores", "tables")


def tables() -> list[Table]:
    """Both tables; the largest study stays for `bench.nothing`."""
    return [_by_size(), _by_stage()]


def _by_size() -> Table:
    columns = ("items", "jobs", "wall, s", "wall a thousand items, s", "CPU a thousand items, s", "scheduler: CPU")
    more = ("scheduler: no job runs", "memory of the scheduler, MB", "of the largest job, MB", "results, MB")
    return Table("By items", (*columns, *more), [_row(items) for items in SIZES])


def _row(items: int) -> list[str]:
    of = study(items, max(1, items // A_SHARD))
    took = _run(of)
    return [
        f"{items:,}",
        str(len(jobs_of(of))),
        f"{took.wall:.0f}",
        f"{1000 * took.wall / items:.2f}",
        f"{1000 * (took.cpu + took.cpu_jobs) / items:.2f}",
        f"{took.cpu / (took.cpu + took.cpu_jobs):.1%}",
        f"{took.idle / took.wall:.1%}",
        f"{took.memory:.0f}",
        f"{took.memory_jobs:.0f}",
        f"{bytes_of(of.root / 'results') / 1e6:.0f}",
    ]


def _by_stage() -> Table:
    of = study(WHOLE, 1)
    _run(of)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for stage, cpu, memory in jobs_of(of):
        found[stage].append((cpu, memory))
    rows = [
        [stage, f"{sum(cpu for cpu, _ in found[stage]):.0f}", f"{max(memory for _, memory in found[stage]):.0f}"]
        for stage in (*STAGES, *sorted(set(found) - set(STAGES)))
        if stage in found
    ]
    return Table(f"By stage, {WHOLE:,} items in one file", ("stage", "CPU, s", "peak memory, MB"), rows)


def _run(of: Study) -> Watched:
    took = watched(of, "snakemake", "--cores", CORES, "--", "edct")
    print(f"bench: {of.root.parent.name}: {took}", file=sys.stderr)
    return took
