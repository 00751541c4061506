"""Growth: every step, from a thousand items to a hundred thousand

One condition of the edct study with models that answer at once (scripted ones), so that what is measured is the
machinery: drawing and filing images, reading and writing records, starting jobs, deciding what to run. Every step is
one job, which reads and writes whole files of that many items. CPU time and memory are those of the step's process,
which is looked at ten times a second. The exponent is that of CPU time between the two largest sizes: 1 is linear, and
less where starting the process is a part of it. The last rows are of the finished study.
"""

import shutil
import sys
from collections.abc import Sequence
from math import log

from bench.scripted_study import Job, bytes_of, study, watched
from bench.table import Table

SIZES = (1_000, 10_000, 100_000)
CORES = "2"
STEPS = (
    *("items", "baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores"),
    *("calls", "tables", "figures", "report"),
)
FINISHED = {
    "`cfeval verify`": ("cfeval", "verify"),
    "`snakemake`, nothing to do": ("snakemake", "--cores", CORES, "--", "edct"),
    "`dvc repro`, the first time": ("dvc", "repro", "--quiet", "edct"),
    "`dvc repro`, nothing to do": ("dvc", "repro", "--quiet", "edct"),
}
"""What is asked of a finished study, in this order; DVC hashes and keeps every file when it is first asked."""


def tables() -> list[Table]:
    """One table: CPU seconds by step and size, the exponent, and the memory of the largest size."""
    found = {items: measured(items) for items in SIZES}
    largest, former = SIZES[-1], SIZES[-2]
    columns = ["", *(f"{items:,} items: CPU, s" for items in SIZES), "exponent", f"{largest:,} items: memory, MB"]
    rows = [
        [
            name,
            *(f"{found[items][0][name].cpu:.1f}" for items in SIZES),
            _exponent([found[items][0][name].cpu for items in (former, largest)], former, largest),
            f"{found[largest][0][name].memory:.0f}",
        ]
        for name in found[largest][0]
    ]
    sizes = ", ".join(f"{found[items][1] / 1e6:,.1f} MB of {items:,} items" for items in SIZES)
    return [Table("By step", columns, rows, [f"The results: {sizes}."])]


def measured(items: int) -> tuple[dict[str, Job], int]:
    """What each step of a study took, then Snakemake's own process and what is asked of it once it is finished; and the
    bytes of its results.
    """
    of = study(items, 1)
    took = watched(of, "snakemake", "--cores", CORES, "--", "edct")
    print(f"bench: {items:,} items: {took.wall:.0f} s", file=sys.stderr)
    found = {f"`cfeval edct {step}`": _sum([job for job in took.jobs if job.verb == step]) for step in STEPS}
    found["`snakemake` itself"] = Job([], took.cpu, took.memory)
    for name, command in FINISHED.items():
        asked = watched(of, *command)
        found[name] = Job([], asked.cpu + asked.cpu_jobs, max(asked.memory, asked.memory_jobs))
    size = bytes_of(of.root / "results")
    shutil.rmtree(of.root.parent)
    return found, size


def _sum(jobs: Sequence[Job]) -> Job:
    return Job([], sum(job.cpu for job in jobs), max((job.memory for job in jobs), default=0.0))


def _exponent(seconds: Sequence[float], former: int, largest: int) -> str:
    first, last = seconds
    return f"{log(last / first) / log(largest / former):.2f}" if first > 0 and last > 0 else ""


if __name__ == "__main__":
    SIZES = tuple(map(int, sys.argv[1:])) or SIZES
    print("\n".join(table.markdown() for table in tables()))
