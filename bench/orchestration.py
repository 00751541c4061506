"""Orchestration: many calls at once

120 items, two calls each (a question about a 64 × 64 image, then the reason in the same conversation), every call
answered after 0.5 s by a server on this machine, 16 calls at once at most: 7.5 s at best. Every tool is a process of
its own and does the work as its documentation advises; the server is another process, whose CPU is not counted.

Providers answer some calls much later than others; so a second table has a thousand items, and one call in a hundred
that takes ten times as long. Which calls these are hangs on their bytes, which every tool words in its own way; so the
ideal is each one's own: all seconds that the server took for its calls, over 16.
"""

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import Ran, run
from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, TWO_TURNS, Subject, environment, lay_out, not_run
from bench.table import Table

ITEMS, LATENCY, REPEATS = 120, 0.5, 3
IDEAL = ITEMS * 2 / AT_ONCE * LATENCY
UNEVEN, QUICK, SLOW, ONE_IN = 1000, 0.1, 1.0, 100
EVEN_LATENCY = {"seconds": LATENCY}
UNEVEN_LATENCY = {"seconds": QUICK, "slow": SLOW, "one_in": ONE_IN}
UNEVEN_COLUMNS = ("", "calls, s", "over the ideal")
COLUMNS = (
    "",
    "calls, s",
    "over the ideal",
    "whole process, s",
    "CPU, s",
    "of it starting",
    "CPU a call, ms",
    "peak, MiB",
)
NOTES = (
    f"Medians of {REPEATS} runs. *calls*: from the first request that the server saw to its last answer. *starting*: "
    "the CPU of the same command on one item. Aim: at most 1.10 of the ideal, CPU and memory below both frameworks'.",
    "The ideal is that of a limit on calls. Where the limit is on items (the semaphore round each item, LangGraph's "
    "`max_concurrency`, inspect-ai's default) the best is 8.0 s, 1.07 of it: the last round is half empty. What is "
    "kept on disk meanwhile: every call (cfeval), every item (AsyncOpenAI), the state after every call (LangGraph with "
    "checkpoints), every event (inspect-ai).",
)


@dataclass(frozen=True)
class Measured:
    """One run of the work: seconds from the first call to the last, all seconds that calls took, and the process."""

    calls: float
    summed: float
    process: Ran


def tables() -> list[Table]:
    """Run all, in turn, so that a busy moment of the machine meets not one of them alone."""
    found: dict[Subject, list[Measured]] = {subject: [] for subject in TWO_TURNS}
    starting: dict[Subject, Ran] = {}
    uneven: dict[Subject, list[Measured]] = {subject: [] for subject in TWO_TURNS}
    with serving() as server, tempfile.TemporaryDirectory() as scratch:
        for subject in TWO_TURNS:
            starting[subject] = measure(server, subject, Path(scratch) / f"{TWO_TURNS.index(subject)}-one", 1).process
        for repeat in range(REPEATS):
            for number, subject in enumerate(TWO_TURNS):
                folder = Path(scratch) / f"{number}-{repeat}"
                found[subject].append(measure(server, subject, folder, ITEMS))
                uneven[subject].append(measure(server, subject, folder / "uneven", UNEVEN, UNEVEN_LATENCY))
    return [table(found, starting), table_of_uneven(uneven)]


def measure(
    server: Remote, subject: Subject, folder: Path, items: int, latency: Mapping[str, float] = EVEN_LATENCY
) -> Measured:
    """The work on so many new items."""
    if why := subject.missing():
        return Measured(0, 0, Ran(1, 0, 0, 0, why))
    lay_out(folder, items)
    server.steer("reset")
    server.steer("latency", **latency)
    ran = run(subject.command("turns", server.openrouter, folder, "out.jsonl"), environment(folder), folder)
    log = server.log()
    if ran.status == 0 and len(log) != 2 * items:
        raise SystemExit(f"bench: {subject.name} sent {len(log)} calls, not {2 * items}")
    spans = [(entry["began"], entry["ended"]) for entry in log] or [(0.0, 0.0)]
    first, last = min(began for began, _ in spans), max(ended for _, ended in spans)
    return Measured(last - first, sum(ended - began for began, ended in spans), ran)


def table(found: Mapping[Subject, Sequence[Measured]], starting: Mapping[Subject, Ran]) -> Table:
    """A row each, medians."""
    title = f"{ITEMS} items × 2 calls at {LATENCY} s, {AT_ONCE} at once: ideal {IDEAL} s"
    return Table(title, COLUMNS, [_row(subject, runs, starting[subject]) for subject, runs in found.items()], NOTES)


def table_of_uneven(found: Mapping[Subject, Sequence[Measured]]) -> Table:
    """The same where some calls take longer."""
    title = f"{UNEVEN} items × 2 calls at {QUICK} s, one in {ONE_IN} at {SLOW:g} s, {AT_ONCE} at once"
    rows = [_row_of_uneven(subject, runs) for subject, runs in found.items()]
    return Table(title, UNEVEN_COLUMNS, rows, (f"Medians of {REPEATS} runs.",))


def _row_of_uneven(subject: Subject, runs: Sequence[Measured]) -> list[str]:
    if failed := _failed(runs):
        return not_run(subject.name, failed.said, UNEVEN_COLUMNS)
    calls = statistics.median(one.calls for one in runs)
    over = statistics.median(one.calls / (one.summed / AT_ONCE) for one in runs)
    return [subject.name, f"{calls:.1f}", f"{over:.3f}"]


def _failed(runs: Sequence[Measured]) -> Ran | None:
    return next((one.process for one in runs if one.process.status), None)


def _row(subject: Subject, runs: Sequence[Measured], start: Ran) -> list[str]:
    if failed := _failed(runs):
        return not_run(subject.name, failed.said, COLUMNS)
    calls = statistics.median(one.calls for one in runs)
    wall, cpu, peak = (statistics.median(getattr(one.process, of) for one in runs) for of in ("wall", "cpu", "peak"))
    each = 1000 * (cpu - start.cpu) / (2 * (ITEMS - 1))
    figures = (f"{calls:.2f}", f"{calls / IDEAL:.3f}", f"{wall:.2f}", f"{cpu:.2f}", f"{start.cpu:.2f}", f"{each:.1f}")
    return [subject.name, *figures, f"{peak:.0f}"]
