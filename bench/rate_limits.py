"""Rate limits: a 429 now and then

150 items, two calls each, 16 at once at most, and a server that answers a share of all requests with a 429 without
`Retry-After`, whoever asks and however fast: the provider is busy, not the client too quick. Calls take 0.5 s each, or
unlike times: 0.2 s, and one in five 2 s. The ideal is each one's own: all seconds that the server took for calls it
answered, over 16.

A last table has a true limit: the server answers two requests in each second, whoever sends them, and all others with a
429. There the ideal is what the limit allows.
"""

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import Ran, run
from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, CFEVAL, Subject, environment, lay_out
from bench.table import Table

ITEMS, REPEATS = 150, 3
LIMITED, PER_SECOND, QUICK = 30, 2, 0.2
"""Items, requests a second and seconds a call where there is a true limit."""
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1)
LATENCIES: Mapping[str, Mapping[str, float]] = {
    "0.5 s a call": {"seconds": 0.5},
    "0.2 s a call, one in five 2 s": {"seconds": 0.2, "slow": 2.0, "one_in": 5},
}
SUBJECTS = (
    CFEVAL,
    Subject("AsyncOpenAI, a semaphore round each call", "plain.py", "call"),
    Subject("LangGraph, nothing kept", "graph.py", "bare"),
    Subject("inspect-ai, all samples open", "inspection.py", "samples"),
)
COLUMNS = ("", *(f"{share:.0%} of 429s" for share in SHARES))
NOTES = (f"Times over the ideal, from the first request to the last answer; medians of {REPEATS} runs, in turn.",)
Ratio = tuple[float, Ran]
"""A run's time over its ideal, and the process."""


def tables() -> list[Table]:
    """Run all in turn; a table for each kind of latency, and one of a true limit."""
    with serving() as server, tempfile.TemporaryDirectory() as scratch:
        shared = [table(name, _measured(server, latency, Path(scratch) / name)) for name, latency in LATENCIES.items()]
        limited: dict[Subject, list[Limited]] = {one: [] for one in SUBJECTS}
        for repeat in range(REPEATS):
            for number, subject in enumerate(SUBJECTS):
                limited[subject].append(under_a_limit(server, subject, Path(scratch) / f"limit-{repeat}-{number}"))
        return [*shared, table_of_limit(limited)]


def _measured(server: Remote, latency: Mapping[str, float], scratch: Path) -> dict[Subject, dict[float, list[Ratio]]]:
    found: dict[Subject, dict[float, list[Ratio]]] = {one: {share: [] for share in SHARES} for one in SUBJECTS}
    for repeat in range(REPEATS):
        for share in SHARES:
            for number, subject in enumerate(SUBJECTS):
                folder = scratch / f"{repeat}-{share}-{number}"
                found[subject][share].append(measure(server, subject, folder, latency, share, repeat))
    return found


@dataclass(frozen=True)
class Limited:
    """A run under a true limit: seconds from the first request to the last answer, and how many were answered."""

    seconds: float
    answered: int
    refused: int
    said: str = ""


def under_a_limit(server: Remote, subject: Subject, folder: Path) -> Limited:
    """The work on new items where the server answers `PER_SECOND` requests a second."""
    if why := subject.missing():
        return Limited(0, 0, 0, why)
    lay_out(folder, LIMITED)
    server.steer("reset")
    server.steer("latency", seconds=QUICK)
    server.steer("limit", per_second=PER_SECOND)
    ran = run(subject.command("turns", server.openrouter, folder, "out.jsonl"), environment(folder), folder)
    log = server.log()
    answered = [entry for entry in log if entry["status"] == 200]
    took = max(entry["ended"] for entry in log) - min(entry["began"] for entry in log)
    return Limited(took, len(answered), len(log) - len(answered), ran.said if ran.status else "")


def table_of_limit(found: Mapping[Subject, Sequence[Limited]]) -> Table:
    """A row each, medians; calls that were given up are lost."""
    calls = 2 * LIMITED
    ideal = calls / PER_SECOND
    rows = [[subject.name, *_under_limit(runs, calls, ideal)] for subject, runs in found.items()]
    title = f"{LIMITED} items × 2 calls of {QUICK} s, {PER_SECOND} answered a second: ideal {ideal:g} s"
    return Table(
        title, ("", "over the ideal", "calls lost", "refused on the way"), rows, (f"Medians of {REPEATS} runs.",)
    )


def _under_limit(runs: Sequence[Limited], calls: int, ideal: float) -> list[str]:
    lost = statistics.median(calls - one.answered for one in runs)
    refused = f"{statistics.median(one.refused for one in runs):.0f}"
    if said := next((one.said for one in runs if one.said), ""):
        return [said, f"{lost:.0f}", refused]
    over = statistics.median(one.seconds for one in runs) / ideal
    return [f"{over:.2f}" if not lost else "not done", f"{lost:.0f}", refused]


def measure(
    server: Remote, subject: Subject, folder: Path, latency: Mapping[str, float], share: float, seed: int
) -> Ratio:
    """The work on new items, and how much longer than the ideal it took."""
    if why := subject.missing():
        return 0.0, Ran(1, 0, 0, 0, why)
    lay_out(folder, ITEMS)
    server.steer("reset")
    server.steer("latency", **latency)
    if share:
        server.steer("random", rate=share, faults=["http_429"], seed=seed)
    ran = run(subject.command("turns", server.openrouter, folder, "out.jsonl"), environment(folder), folder)
    log = server.log()
    answered = [entry["ended"] - entry["began"] for entry in log if entry["status"] == 200]
    if ran.status or len(answered) != 2 * ITEMS:
        return 0.0, Ran(ran.status or 1, ran.wall, ran.cpu, ran.peak, f"{len(answered)} of {2 * ITEMS} answered")
    took = max(entry["ended"] for entry in log) - min(entry["began"] for entry in log)
    return took / (sum(answered) / AT_ONCE), ran


def table(name: str, found: Mapping[Subject, Mapping[float, Sequence[Ratio]]]) -> Table:
    """A row each, medians."""
    rows = [[subject.name, *(_cell(runs) for runs in of.values())] for subject, of in found.items()]
    return Table(f"{ITEMS} items × 2 calls, {AT_ONCE} at once, {name}", COLUMNS, rows, NOTES)


def _cell(runs: Sequence[Ratio]) -> str:
    failed = next((ran.said for _, ran in runs if ran.status), "")
    return failed or f"{statistics.median(ratio for ratio, _ in runs):.2f}"
