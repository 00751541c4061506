"""One machine with several GPUs, which are pretended: jobs that need one run side by side, each on its own."""

from copy import deepcopy
from pathlib import Path

import pytest

from tests.workflow.study import PARAMS, Study, lay_out, offer

NEEDY = '''"""A scripted target, which says that it needs a GPU and notes when it begins and ends on which."""

import atexit
import os
import time

from cfeval.core.registry import Resources
from cfeval_testbed.mocks import chat


class Plugin(chat.Plugin):
    def resources(self) -> Resources:
        return Resources(gpu=1)

    def build(self):
        note("begins")
        atexit.register(note, "ends")
        time.sleep(2)
        return super().build()


def note(what: str) -> None:
    with open("gpus.txt", "a") as notes:
        notes.write(f"{what} {os.environ['CUDA_VISIBLE_DEVICES']}\\n")
'''
BASELINES = [f"results/edct/baselines/mine/ma/{shard:03}.jsonl" for shard in range(4)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study whose target needs a GPU, in four shards."""
    params = deepcopy(PARAMS) | {"shards": 4}
    params["edct"]["vlms"]["ma"] = {"plugin": "needy"}
    study = lay_out(tmp_path / "home" / "study", params)
    offer(study.root, "chat", "needy", NEEDY)
    return study


def busy(study: Study) -> list[set[str]]:
    """Which GPUs were busy after each note; no job may begin on one that is."""
    history: list[set[str]] = [set()]
    for line in (study.root / "gpus.txt").read_text().splitlines():
        what, gpu = line.split()
        assert (gpu in history[-1]) == (what == "ends"), line
        history.append(history[-1] ^ {gpu})
    return history


def test_as_many_jobs_run_as_gpus_are_visible_and_each_has_its_own(study: Study) -> None:
    visible = {"CUDA_VISIBLE_DEVICES": "2,5", "TMPDIR": str(study.root.parent)}
    study.run("snakemake", "--profile", "profiles/gpu", "--cores", "4", "--", *BASELINES, **visible)
    history = busy(study)
    assert history.count(set()) >= 2
    assert max(history, key=len) == {"2", "5"}


def test_a_limit_of_the_parameters_holds_below_what_is_visible(study: Study) -> None:
    study.set_params(study.params() | {"limits": {"gpu": 1}})
    visible = {"CUDA_VISIBLE_DEVICES": "2,5", "TMPDIR": str(study.root.parent)}
    study.run("snakemake", "--cores", "4", "--", *BASELINES, **visible)
    assert max(map(len, busy(study))) == 1
