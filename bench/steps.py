"""Memory by step: a hundred thousand items in one file

The study of the part `growth` in one piece: every step is one job that reads and writes whole files of that many
items.
CPU time and memory are those of the step's process, which is looked at ten times a second.
"""

from bench.growth import finished
from bench.scripted_study import study
from bench.table import Table

ITEMS = 100_000
VERBS = (
    "items",
    "baselines",
    "instructions",
    "counterfactuals",
    "checks",
    "requeries",
    "verdicts",
    "scores",
    "tables",
    "report",
)


def tables() -> list[Table]:
    """One table, a row a step; of several jobs the largest."""
    jobs = finished(study(ITEMS, 1)).jobs
    rows = []
    for verb in VERBS:
        of = [job for job in jobs if job.verb == verb]
        rows.append([verb, f"{max(job.cpu for job in of):.0f}", f"{max(job.memory for job in of):.0f}"])
    return [Table(f"{ITEMS:,} items, one shard", ("`cfeval edct …`", "CPU, s", "peak memory, MB"), rows)]
