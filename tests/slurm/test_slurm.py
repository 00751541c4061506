"""The built-in study on a real Slurm of one node: a local run's tables, whatever happens to jobs and node meanwhile."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from cfeval.config import read
from tests.slurm.cluster import Cluster
from tests.slurm.conftest import SlurmStudy, laid_out
from tests.workflow.study import PARAMS, PROJECT, Study, wait

PROFILE = {"SNAKEMAKE_PROFILE": "profiles/slurm"}
SLOWEST = 600.0
"""Seconds until a job has begun, at most."""
TABLES = [f"results/edct/tables/edct_{name}.csv" for name in ("table1", "comparisons", "agreement")]
MADE = [*TABLES, "results/edct/figures/edct_forest.png"]
SAMPLES = "results/edct/items/world.jsonl"
HELD = '''"""How a test holds a job: as long as there is a file `hold-WHAT` beside the study."""

import os
import time
from pathlib import Path


def pause(what):
    """Wait, and say so; what looks at the parameters before there are jobs is not held."""
    if "SLURM_JOB_ID" not in os.environ:
        return
    if os.path.exists(f"../hold-{what}"):
        Path(f"../seen-{what}-{os.getpid()}").touch()
    while os.path.exists(f"../hold-{what}"):
        time.sleep(0.1)
'''
DATASET = '''"""The dataset of the test bed, which a test can hold."""

from cfeval_testbed import held
from cfeval_testbed.plugins import datasets_world


class Plugin(datasets_world.Plugin):
    def build(self):
        held.pause("samples")
        return super().build()
'''
TARGET = '''"""The target of the test bed, which a test can hold."""

from cfeval_testbed import held
from cfeval_testbed.plugins import chat_world


class Plugin(chat_world.Plugin):
    def build(self):
        held.pause("baselines")
        return super().build()
'''
NEEDY = '''"""The target of the test bed, which says that it needs a GPU and tells which one it sees."""

import os
import sys

from cfeval.core.registry import Resources
from cfeval_testbed import held
from cfeval_testbed.plugins import chat_world


class Plugin(chat_world.Plugin):
    def resources(self) -> Resources:
        return Resources(gpu=1)

    def build(self):
        held.pause("baselines")
        print("GPU", os.environ.get("CUDA_VISIBLE_DEVICES"), file=sys.stderr)
        return super().build()
'''
CALLING = '''"""A scripted target, which says that it calls a provider and notes when it begins and ends."""

import atexit
import time

from cfeval.core.registry import Resources
from cfeval_testbed.mocks import chat


class Plugin(chat.Plugin):
    def resources(self) -> Resources:
        return Resources(api=True)

    def build(self):
        note("begins")
        atexit.register(note, "ends")
        time.sleep(5)
        return super().build()


def note(what: str) -> None:
    with open("calling.txt", "a") as notes:
        notes.write(what + "\\n")
'''


def built_in() -> dict[str, Any]:
    """A small part of the study of params.yaml: a target that needs no GPU and one that does."""
    params = read(PROJECT / "params.yaml")
    edct = params["edct"]
    conditions = {"dataset": ["world"], "vlm": ["grounded", "needy"], "writer": ["grammar"], "editor": ["scene"]}
    edct |= {"items": 4, "tables": {"table1": [conditions | {"judge": ["grammar"]}]}, "known": {}, "judge_error": []}
    edct["datasets"]["world"] = {"plugin": "held"}
    edct["vlms"]["grounded"] |= {"plugin": "held"}
    edct["vlms"]["needy"] = {"plugin": "needy", "persona": "confabulating", "gpu_model": "h200"}
    return {name: content for name, content in params.items() if name not in ("vce", "cvqa")}


def interrupted(study: SlurmStudy, what: str, jobs: int, meddle: Callable[[], object]) -> list[str]:
    """The lines about failed jobs of a run, some of whose jobs hang until something befalls them."""
    hold = study.home / f"hold-{what}"
    hold.touch()
    run = study.start("snakemake", *MADE, **PROFILE)
    wait(lambda: len(list(study.home.glob(f"seen-{what}-*"))) >= jobs, run, SLOWEST)
    meddle()
    assert run.wait() == 1, study.said
    hold.unlink()
    return sorted(line for line in study.said.splitlines() if line.startswith("failed: "))


@dataclass
class Through:
    """A study that came through: what was said on the way, and the same study run without a cluster."""

    study: SlurmStudy
    local: Study
    cancelled: list[str]
    lost: list[str]
    last_jobs: dict[str, int]

    def jobs(self, rule: str) -> list[dict[str, str]]:
        """What Slurm knows about the study's jobs of a rule."""
        lines = self.study.cluster.ask("scontrol", "show", "job", "--detail", "--oneliner").splitlines()
        jobs = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]
        return [job for job in jobs if job["WorkDir"] == str(self.study.root) and f"rule_{rule}" in job["Comment"]]


@pytest.fixture(scope="module")
def through(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Through:
    """Part of the built-in study: a job is cancelled, its phase run by DVC; the node dies and comes back; the rest."""
    study = laid_out(tmp_path_factory.mktemp("built-in"), built_in(), cluster)
    (study.root / "packages/cfeval_testbed/cfeval_testbed/held.py").write_text(HELD)
    for family, name, source in (("datasets", "held", DATASET), ("chat", "held", TARGET), ("chat", "needy", NEEDY)):
        study.plug_in(family, name, source)
    local = study.copy(study.home.parent / "local")
    local.run("snakemake", "--cores", "2", *MADE)
    cancelled = interrupted(study, "samples", 1, lambda: cluster.ask("scancel", "--state=RUNNING", "--me"))
    study.run("snakemake", "--", SAMPLES, **PROFILE)
    lost = interrupted(study, "baselines", 2, cluster.kill_node)
    cluster.start_node()
    resources = ("--set-resources", "edct_instructions:mem_mb=1234")
    jobs = study.jobs("snakemake", *resources, "--", *MADE, **PROFILE)
    return Through(study, local, cancelled, lost, jobs)


def test_its_tables_and_all_they_rest_on_are_those_of_a_local_run_byte_for_byte(through: Through) -> None:
    here, there = (one.results() for one in (through.study, through.local))
    assert {*MADE, f"{SAMPLES}.made.json"} < set(here)
    assert here == there


def test_a_cancelled_job_is_told_in_one_line(through: Through) -> None:
    [line] = through.cancelled
    assert line.startswith("failed: samples of world: Slurm says CANCELLED (")


def test_jobs_that_die_with_their_node_are_told_in_a_line_each(through: Through) -> None:
    told = [line.split(" (")[0] for line in through.lost]
    assert told == [f"failed: baseline of {vlm} on world: Slurm says NODE_FAIL" for vlm in ("grounded", "needy")]


def test_the_next_run_does_what_is_missing_and_nothing_twice(through: Through) -> None:
    stages = ("items", "baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores")
    assert [through.last_jobs.get(verb, 0) for verb in stages] == [0, 2, 2, 2, 2, 2, 2, 2]
    assert "Nothing to be done" in through.study.run("snakemake", "--dry-run", "--", *MADE)


@pytest.mark.parametrize("rule", ["edct_baselines", "edct_requeries"])
def test_a_job_holds_a_gpu_where_its_model_needs_one_and_of_the_kind_that_it_wants(through: Through, rule: str) -> None:
    for job in through.jobs(rule):
        needy = "needy" in job["Comment"]
        assert (job["Partition"], job.get("TresPerJob")) == (("gpu", "gres:gpu:h200:1") if needy else ("cpu", None))


def test_a_job_with_a_gpu_sees_the_one_that_slurm_gave_it(through: Through) -> None:
    told = (through.study.root / "logs/edct/requeries/world/needy/grammar/scene.log").read_text()
    assert re.search(r"^GPU [01]$", told, re.MULTILINE)


def test_jobs_without_a_model_hold_no_gpu(through: Through) -> None:
    others = [job for rule in ("edct_checks", "edct_verdicts", "edct_tables") for job in through.jobs(rule)]
    assert len(others) >= 5
    assert {(job["Partition"], job.get("TresPerJob")) for job in others} == {("cpu", None)}


def test_tables_and_figures_are_one_job(through: Through) -> None:
    assert len(through.jobs("edct_tables")) == 1


def test_resources_can_be_set_for_a_run(through: Through) -> None:
    assert {job["MinMemoryNode"] for job in through.jobs("edct_instructions")} == {"1234M"}


def test_what_slurm_says_of_a_job_lies_with_the_other_logs(through: Through) -> None:
    kept = {path.parent.parent.name for path in (through.study.root / "logs/slurm").rglob("*.log")}
    assert kept == {"rule_edct_items", "rule_edct_baselines"}, "those of jobs that failed"
    assert not (through.study.root / ".snakemake/slurm_logs").exists()


def test_no_more_jobs_call_a_provider_than_there_are_slots(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    params = deepcopy(PARAMS) | {"shards": 4}
    params["edct"]["vlms"]["ma"] = {"plugin": "calling"}
    study = laid_out(tmp_path_factory.mktemp("calling"), params, cluster)
    study.plug_in("chat", "calling", CALLING)
    wanted = [f"results/edct/baselines/mine/ma/{shard:03}.jsonl" for shard in range(4)]
    ran = study.jobs("snakemake", "--resources", "api_slots=2", "--", *wanted, **PROFILE)
    max_connections, most = 0, 0
    for line in (study.root / "calling.txt").read_text().split():
        max_connections += 1 if line == "begins" else -1
        most = max(most, max_connections)
    assert (ran["baselines"], most) == (4, 2)


def test_case_c_a_job_in_slurms_queue_does_not_read_the_parameters_again(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    study = laid_out(tmp_path_factory.mktemp("queue"), deepcopy(PARAMS), cluster)
    verdict = "results/edct/verdicts/mine/ma/w/ea/j/000"
    requery = "results/edct/requeries/mine/ma/w/ea/000"
    study.run("snakemake", "--", requery)
    study.set_threshold(0.8)
    cluster.ask("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    try:
        run = study.start("snakemake", "--", verdict, **PROFILE)
        wait(lambda: cluster.ask("squeue", "--noheader", "--me"), run, SLOWEST)
        study.set_threshold(0.1)
    finally:
        cluster.ask("scontrol", "update", "nodename=localhost", "state=resume")
    assert run.wait() == 0, study.said
    [made] = json.loads((study.root / f"{verdict}.made.json").read_text())["steps"]
    assert made["options"]["--judge"]["threshold"] == 0.8
    assert study.stale()[verdict] == "--judge: threshold changed"
    study.set_threshold(0.8)
    assert verdict not in study.stale()
