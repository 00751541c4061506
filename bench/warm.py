"""Commands cold and warm: what a job costs that starts a Python of its own, and one that is a fork of the warm parent.

Eight items of the test bed. CPU seconds are the client's and the fork's; the least of several runs, each after
the parent has learnt what the command loads.
"""

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from bench.table import Table
from cfeval.warm.start import _ONE_THREAD, start

_COLD, _WARM = 2, 8
"""Runs of each command."""
_VLM = '{"plugin": "world", "persona": "grounded", "temperature": 0.5}'
_CONDITION = '{"dataset": "world", "vlm": "g", "writer": "g", "protocol": "edct-2025", "editor": "d", "judge": "g"}'
_STUDY = "--protocol edct-2025 --seed 7"


def tables() -> list[Table]:
    """One table."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **_ONE_THREAD}
        cold = {verb: _least(verb, Path(folder), environment, _COLD) for verb in _commands()}
        parent = start(Path(folder, "warm.log"), environment=environment)
        assert parent is not None
        for verb in _commands():
            _least(verb, Path(folder), environment, 2)
        warm = {verb: _least(verb, Path(folder), environment, _WARM, parent.process.pid) for verb in _commands()}
        parent.stop()
    rows = [[verb, *_cells(cold[verb], warm[verb])] for verb in cold]
    return [Table("One command", ["verb", "cold s", "CPU s", "warm s", "CPU s", "CPU ratio"], rows)]


def _cells(cold: tuple[float, float], warm: tuple[float, float]) -> list[str]:
    return [*(f"{seconds:.2f}" for seconds in (*cold, *warm)), f"{cold[1] / warm[1]:.0f}"]


def _commands() -> dict[str, list[str]]:
    """Every verb of a condition, in the order of the study."""
    kinds = "samples baselines instructions counterfactuals requeries checks verdicts".split()  # noqa: SIM905
    known = {kind: [f"--{kind}", f"{kind}.jsonl"] for kind in kinds}

    def verb(inputs: str, *options: str, out: str) -> list[str]:
        return [*(word for kind in inputs.split() for word in known[kind]), *options, "--out", f"{out}.jsonl"]

    study = _STUDY.split()
    all_four = "baselines instructions counterfactuals requeries"
    return {
        "items": verb("", "--dataset", '{"plugin": "world"}', "--items", "8", "--seed", "7", out="samples"),
        "baselines": verb("samples", "--vlm", _VLM, "--seed", "7", out="baselines"),
        "instructions": verb("samples baselines", "--writer", '{"plugin": "grammar"}', *study, out="instructions"),
        "counterfactuals": verb(
            "samples instructions", "--editor", '{"plugin": "diffusion", "steps": 4}', *study, out="counterfactuals"
        ),
        "checks": verb(
            "samples instructions counterfactuals", "--verifier", '{"plugin": "reader"}', *study, out="checks"
        ),
        "requeries": verb("samples counterfactuals", "--vlm", _VLM, "--seed", "7", out="requeries"),
        "verdicts": verb(all_four, "--judge", '{"plugin": "grammar"}', *study, out="verdicts"),
        "scores": verb("samples baselines instructions checks verdicts", "--condition", _CONDITION, out="scores"),
    }


def _least(verb: str, folder: Path, environment: dict[str, str], runs: int, parent: int = 0) -> tuple[float, float]:
    """The least seconds and CPU seconds of a command, with those of the parent's forks."""
    found = []
    for _ in range(runs):
        start_s, before = time.perf_counter(), _cpu(parent)
        subprocess.run(["cfeval", "stage", "edct", verb, *_commands()[verb]], cwd=folder, env=environment, check=True)
        found.append((time.perf_counter() - start_s, _cpu(parent) - before))
    return min(seconds for seconds, _ in found), min(cpu for _, cpu in found)


def _cpu(parent: int) -> float:
    """CPU seconds of the commands that have ended, and of the parent with its forks."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not parent:
        return own.ru_utime + own.ru_stime
    fields = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
    return own.ru_utime + own.ru_stime + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
