"""Programs of many questions: how long until all are answered

48 questions of `cvqa`, each answered by a program that asks a provider twice, one call after the other; 16 calls at
once, a loopback server that takes its time for each. The ideal is 96 calls over 16 times that. From the first request
to the last record; the process has begun, and the models are built.
"""

import json
import os
import statistics
import tempfile
import time
from typing import Any

from tests.cvqa.pairs import open_image, pair
from tests.loopback.server import loopback
from tests.provider_study import target

from bench.table import Table
from cfeval.core import registry
from cfeval.cvqa.stages.answers import answers

PAIRS, AT_ONCE, REPEATS, LATENCIES = 24, 16, 3, (0.1, 0.45, 1.5)
"""Pairs of two questions each, calls at once, runs, seconds of a call."""
PROGRAM = """
def execute_command(image):
    whole = ImagePatch(image)
    seen = whole.simple_query({question})
    return whole.simple_query("Are you sure that it is " + seen + "?")
"""


def tables() -> list[Table]:
    """The one table."""
    os.environ["CANARY_KEY"] = "of the loopback server"
    rows = []
    for latency in LATENCIES:
        ideal = 4 * PAIRS * latency / AT_ONCE
        took = _took(latency)
        rows.append([f"{latency:g}", f"{ideal:.2f}", f"{took:.2f}", f"{took / ideal:.2f}"])
    columns = ("a call, s", "ideal, s", "cfeval, s", "over the ideal")
    notes = [f"Medians of {REPEATS} runs, nothing stored before. Aim: at most 1.3 of the ideal at 0.45 s a call."]
    return [Table(f"{2 * PAIRS} questions × 2 calls, {AT_ONCE} at once", columns, rows, notes)]


def _took(latency: float) -> float:
    """Seconds of a run, the median of some."""
    seconds = []
    with loopback(latency=latency) as server, tempfile.TemporaryDirectory() as folder:
        for number in range(REPEATS):
            calls = {"cache": f"{folder}/{number}.sqlite", "max_retries": 0, "max_connections": AT_ONCE}
            os.environ["CFEVAL_CALLS"] = json.dumps(calls)
            solver = registry.build("solvers", _solver(server.openai))
            start = time.perf_counter()
            made = list(answers([pair(one) for one in range(1, PAIRS + 1)], open_image, solver, 1, 1))
            seconds.append(time.perf_counter() - start)
            if [one.program and one.program.calls for one in made] != [2] * (2 * PAIRS):
                raise SystemExit("bench: not every program made its two calls")
    return statistics.median(seconds)


def _solver(url: str) -> dict[str, Any]:
    """A program that is the same for every question, and a vision that asks the loopback server."""
    writer = {"plugin": "mock", "programs": {"vipergpt": PROGRAM}}
    return {
        "plugin": "program",
        "program_generator": writer,
        "vision": {"plugin": "transformers", "vqa": target(url)},
    }
