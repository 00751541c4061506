"""Several processes on a machine with several GPUs: each gets its own, whatever becomes of the others."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cfeval.core import locks
from cfeval.core.errors import PluginError
from tests.slow import slow

Process = subprocess.Popen[str]
Start = Callable[..., Process]

TAKES = """
import os, sys
from cfeval.core import locks
locks.lease_gpus({take})
print(os.environ.get("CUDA_VISIBLE_DEVICES", ""), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that takes GPUs and keeps them until it ends; by default two are visible."""
    with ExitStack() as stack:

        def started(take: str = "1", devices: str = "0,1", **environment: str) -> Process:
            kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
            where = kept | {"CUDA_VISIBLE_DEVICES": devices, "TMPDIR": str(tmp_path)} | environment
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", TAKES.format(take=take)],
                    env=where,
                    text=True,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )
            stack.callback(process.kill)
            return process

        yield started


def gpus(process: Process) -> str:
    """What a process was given; waits until it was."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def waits(process: Process) -> str:
    """The line of a process that waits."""
    assert process.stderr is not None
    return process.stderr.readline().strip()


def test_every_process_gets_a_gpu_of_its_own(start: Start) -> None:
    processes = [start(devices="0,1,2,3") for _ in range(4)]
    assert {gpus(process) for process in processes} == {"0", "1", "2", "3"}


def test_a_process_that_finds_none_free_says_so_and_gets_that_of_a_killed_one(start: Start) -> None:
    first, second = start(), start()
    held = {gpus(first): first, gpus(second): second}
    third = start()
    assert waits(third) == "waiting for 1 of 2 GPUs; other jobs have leased them"
    held["1"].kill()
    assert gpus(third) == "1"


def test_a_process_that_needs_two_waits_for_both_and_holds_none_meanwhile(start: Start) -> None:
    one = start(devices="0,1,2")
    assert gpus(one) == "0"
    three = start("3", devices="0,1,2")
    assert "waiting for 3 of 3" in waits(three)
    assert gpus(start(devices="0,1,2")) in ("1", "2")
    assert gpus(start("2", devices="5,6")) == "5,6"


def test_who_wants_more_than_there_are_gets_all(start: Start) -> None:
    assert gpus(start("8")) == "0,1"


@pytest.mark.parametrize("devices", ["", "3", "-1", "0,-1,2"])
def test_nothing_is_leased_where_no_choice_is_visible(start: Start, tmp_path: Path, devices: str) -> None:
    assert gpus(start(devices=devices)) == devices
    assert not list(tmp_path.iterdir())


def test_a_numbered_device_is_used_even_if_it_is_taken_and_kept_from_the_others(start: Start) -> None:
    assert gpus(start("1, [1]")) == "0,1"
    assert gpus(start("1, [1]")) == "0,1"
    assert gpus(start()) == "0"


def test_jobs_of_slurm_share_nothing_with_one_another(start: Start) -> None:
    assert gpus(start("2", SLURM_JOB_ID="7")) == "0,1"
    assert gpus(start("2", SLURM_JOB_ID="8")) == "0,1", "its 0 and 1 are other devices than those of job 7"
    assert waits(start("1", SLURM_JOB_ID="8")).startswith("waiting")


def test_devices_are_those_of_the_driver_where_the_variable_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(locks.VISIBLE_GPUS, raising=False)
    monkeypatch.setattr(locks, "_DRIVER", tmp_path)
    assert locks.visible_gpus() == ()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert locks.visible_gpus() == ("0", "1")


def test_a_number_after_a_lease_would_mean_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_chosen", ["0"])
    with pytest.raises(PluginError, match="number the devices of all models of a job, or of none"):
        locks.lease_gpus(1, [1])


@pytest.mark.parametrize(("device", "sees"), [("auto", "0"), ("cpu", "0,1"), slow("cuda:1", "0,1")])
def test_a_plugin_that_needs_a_gpu_leases_it_before_torch_looks(
    start: Start, tmp_path: Path, device: str, sees: str
) -> None:
    judge = {"plugin": "chat", "model": {"plugin": "transformers", "model": "m", "device": device}}
    source = (
        "import os, sys; from cfeval.core import registry\n"
        "leased = lambda self: print('torch' in sys.modules, os.environ['CUDA_VISIBLE_DEVICES'])\n"
        "registry.import_module('cfeval.inference.models.transformers').Plugin.build = leased\n"
        f"registry.build('judges', {judge})"
    )
    where = os.environ | {"CUDA_VISIBLE_DEVICES": "0,1", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", source], env=where, text=True, capture_output=True, check=False)
    assert done.stdout.split() == ["False", sees], done.stderr
