"""`cfeval serve` inside allocations of a real Slurm: servers on the node and the GPUs of each, and none after it."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from cfeval.core.jsonl import read_jsonl
from cfeval.edct.records import Baseline
from tests.serve.test_serve import SMALL, gone, params_of, study
from tests.slurm.cluster import Cluster
from tests.slurm.conftest import laid_out
from tests.workflow.study import ITEMS, wait

SERVE = [sys.executable, "-m", "cfeval.cli", "serve", ".", "--engine", SMALL, "--"]
ASK = """
import asyncio, json, pathlib, time
from cfeval.inference.remote.http import open_client

async def ask(number):
    messages = [{{"role": "user", "content": str(number)}}]
    async with open_client() as client:
        address = "http://127.0.0.1:{port}/v1/chat/completions"
        return (await client.post(address, json={{"model": "small", "messages": messages}})).json()

told = [asyncio.run(ask(number)) for number in range({questions})]
pathlib.Path("told.part").write_text(json.dumps(told))
pathlib.Path("told.part").rename("told.json")
time.sleep({then})
"""


def submitted(cluster: Cluster, folder: Path, gpus: int, *command: str, env: Mapping[str, str] | None = None) -> str:
    """The number of a job that runs a command in a folder, in an allocation with so many GPUs."""
    options = ["--partition=gpu", f"--gpus={gpus}", "--cpus-per-task=2", f"--chdir={folder}", "--output=job.log"]
    variables = [f"{name}={value}" for name, value in (env or {}).items()]
    return cluster.ask("env", *variables, "sbatch", "--parsable", *options, "--wrap", shlex.join(command))


def state(cluster: Cluster, job: str) -> str:
    """What Slurm says of a job, such as RUNNING."""
    return cluster.ask("scontrol", "show", "job", job).split("JobState=")[1].split()[0]


def asking(port: int, questions: int, then: int) -> list[str]:
    return [*SERVE, sys.executable, "-c", ASK.format(port=port, questions=questions, then=then)]


def told(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "told.json").read_text())
    return found


def test_an_allocation_has_a_server_on_each_of_its_gpus(cluster: Cluster, tmp_path: Path) -> None:
    port = study(tmp_path)
    job = submitted(cluster, tmp_path, 2, *asking(port, 12, 0))
    wait(lambda: state(cluster, job) in ("COMPLETED", "FAILED"))
    said = told(tmp_path)
    assert {one["job"] for one in said} == {job}
    assert len({one["pid"] for one in said}) == 2
    assert {one["gpu"] for one in said} == {"0", "1"}
    assert gone(*(one[who] for one in said for who in ("pid", "child")))


def test_two_jobs_of_one_node_have_servers_of_their_own_until_they_end(cluster: Cluster, tmp_path: Path) -> None:
    """Also where both studies expect their model at the same port; `scancel` leaves no process behind."""
    held = tmp_path / "held"
    port = study(held)
    holder = submitted(cluster, held, 1, *asking(port, 1, 600))
    wait(lambda: (held / "told.json").exists())
    [there] = told(held)
    others = [one for one in psutil.Process(there["pid"]).parents() if "cfeval" in " ".join(one.cmdline())]
    assert len(others) >= 2, "its keeper and cfeval serve"

    run = laid_out(tmp_path / "run", params_of(port), cluster)
    job = submitted(cluster, run.root, 1, *SERVE, "snakemake", "--cores", "2", env=run.environment)
    wait(lambda: state(cluster, job) in ("COMPLETED", "FAILED"))
    assert state(cluster, job) == "COMPLETED", (run.root / "job.log").read_text()
    before = list(read_jsonl(run.root / "results/edct/baselines/mine/served.jsonl", Baseline))
    answers = [json.loads(record.answer) for record in before]
    assert len(answers) == ITEMS
    assert [json.loads(record.explanation) for record in before] == answers, "both turns go to one server"
    assert {one["job"] for one in answers} == {job}
    assert {one["gpu"] for one in answers} | {there["gpu"]} == {"0", "1"}
    assert gone(*(one[who] for one in answers for who in ("pid", "child")))

    assert psutil.pid_exists(there["pid"])
    cluster.ask("scancel", holder)
    assert gone(there["pid"], there["child"], *(one.pid for one in others))
