"""Rate limits: a 429 now and then

150 items, two calls each, 16 at once at most, and a server that answers a share of all requests with a 429 without
`Retry-After`, whoever asks and however fast: the provider is busy, not the client too quick. Calls take 0.5 s each, or
unlike times: 0.2 s, and one in five 2 s. The ideal is each one's own: all seconds that the server took for calls it
answered, over 16.
"""

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.processes import Ran, run
from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, CFEVAL, Subject, environment, lay_out
from bench.table import Table

ITEMS, REPEATS = 150, 3
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
    """Run all in turn; a table for each kind of latency."""
    with serving() as server, tempfile.TemporaryDirectory() as scratch:
        return [table(name, _measured(server, latency, Path(scratch) / name)) for name, latency in LATENCIES.items()]


def _measured(server: Remote, latency: Mapping[str, float], scratch: Path) -> dict[Subject, dict[float, list[Ratio]]]:
    found: dict[Subject, dict[float, list[Ratio]]] = {one: {share: [] for share in SHARES} for one in SUBJECTS}
    for repeat in range(REPEATS):
        for share in SHARES:
            for number, subject in enumerate(SUBJECTS):
                folder = scratch / f"{repeat}-{share}-{number}"
                found[subject][share].append(measure(server, subject, folder, latency, share, repeat))
    return found


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
