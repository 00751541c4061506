"""Resume: killed at half, run again

The same two calls for each of 120 items, 16 at once. Once half of the calls have come in, and while the next ones wait
for their answers, the process is killed (`kill -9`); then the same command is run again. The server counts by the hash
of the body which calls it has seen before. What need not be paid twice is whatever was answered before the kill.
"""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.processes import run, start
from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, TWO_TURNS, Subject, environment, lay_out, not_run
from bench.table import Table

ITEMS, LATENCY = 120, 0.5
COLUMNS = ("", "sent before the kill", "of them in flight", "sent again", "results of an undisturbed run")
NOTES = (
    f"Aim: no more is sent again than was in flight, {AT_ONCE} at most. How each goes on: cfeval, its response cache, "
    "which holds every call from the moment it is answered; AsyncOpenAI, the file of finished items; LangGraph, "
    "`ainvoke(None)` on the thread's checkpoint; inspect-ai, `eval_retry`, which recovers finished samples.",
)
SUBJECTS = tuple(subject for subject in TWO_TURNS if subject.variant != "bare")


@dataclass(frozen=True)
class Killed:
    """What came of a kill: calls sent before it, those of them without an answer, those sent again; or what failed."""

    sent: int = 0
    in_flight: int = 0
    again: int = 0
    equal: bool = False
    failed: str = ""


def tables() -> list[Table]:
    """Kill and resume each."""
    with serving() as server, tempfile.TemporaryDirectory() as scratch:
        folders = {subject: Path(scratch) / str(number) for number, subject in enumerate(SUBJECTS)}
        return [table({subject: kill(server, subject, folder) for subject, folder in folders.items()})]


def kill(server: Remote, subject: Subject, folder: Path) -> Killed:
    """One run in peace, and one that is killed and resumed."""
    if why := subject.missing():
        return Killed(failed=why)
    whole, cut = (lay_out(folder / name, ITEMS) for name in ("whole", "cut"))
    command = subject.command("turns", server.openrouter, whole, "out.jsonl")
    server.steer("latency", seconds=0)
    if (ran := run(command, environment(whole), whole)).status:
        return Killed(failed=ran.said)
    server.steer("reset")
    server.steer("latency", seconds=LATENCY)
    command = subject.command("turns", server.openrouter, cut, "out.jsonl")
    process = start(command, environment(cut), cut)
    while server.sent() < ITEMS and process.poll() is None:
        time.sleep(0.01)
    time.sleep(LATENCY / 2)  # all that were answered have arrived, all others are on their way
    process.kill()
    process.wait()
    time.sleep(LATENCY)  # the server notices
    log = server.log()
    in_flight = sum(entry["status"] is None for entry in log)
    ran = run(command, environment(cut), cut)
    equal = ran.status == 0 and (whole / "out.jsonl").read_bytes() == (cut / "out.jsonl").read_bytes()
    return Killed(len(log), in_flight, server.again(), equal, ran.said if ran.status else "")


def table(found: Mapping[Subject, Killed]) -> Table:
    """A row each."""
    rows = [_row(subject, killed) for subject, killed in found.items()]
    return Table(f"{ITEMS} items × 2 calls, {AT_ONCE} at once, `kill -9` at half", COLUMNS, rows, NOTES)


def _row(subject: Subject, killed: Killed) -> list[str]:
    if killed.failed:
        return not_run(subject.name, killed.failed, COLUMNS)
    counts = (killed.sent, killed.in_flight, killed.again)
    return [subject.name, *map(str, counts), "equal" if killed.equal else "DIFFERENT"]
