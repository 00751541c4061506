"""A command that a fork runs is, seen from outside, the command that would have run cold."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cfeval.warm import request
from cfeval.warm.preload import libraries, shared, verbs
from tests.warm.conftest import STAND_IN, Jobs, Starts, until


def shown(ended: "subprocess.CompletedProcess[str]") -> dict[str, object]:
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def without_shells(environment: Any) -> dict[str, str]:
    """An environment without what shells keep in it."""
    return {name: value for name, value in environment.items() if name not in ("PWD", "OLDPWD", "SHLVL", "_")}


def test_it_has_its_clients_files_arguments_folder_and_environment(jobs: Jobs, tmp_path: Path) -> None:
    arguments, given = ["show", "a b", "", "ü\udcff", "-x"], jobs.environment | {"CUDA_VISIBLE_DEVICES": "3"}
    ended = jobs.run(*arguments, cwd=tmp_path, input="read this", umask=0o027, env=given)
    found = shown(ended)
    assert ended.returncode == 0
    assert ended.stderr == "told\n"
    assert found["folder"] == str(tmp_path)
    assert found["read"] == "read this"
    assert found["mask"] == 0o027
    assert found["arguments"] == ["cfeval", *arguments]
    assert without_shells(found["environment"]) == without_shells(given)


def test_it_starts_with_the_signals_files_and_chance_of_a_process_of_its_own(jobs: Jobs) -> None:
    first, second = shown(jobs.run("show")), shown(jobs.run("show"))
    assert first["random"] != second["random"]
    assert first["pid"] != second["pid"]
    assert first["interrupt"]
    assert first["child"]
    assert first["open"] == 5  # three, the folder that is listed, and what it tells the parent by


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["edct", "no-such-verb"], 2),
        (["crash", "exit"], 7),
        (["crash", "raise"], 1),
        (["crash", "interrupt"], 128 + signal.SIGINT),
        (["crash", str(int(signal.SIGSEGV))], 128 + signal.SIGSEGV),
        (["crash", str(int(signal.SIGKILL))], 137),
    ],
)
def test_its_exit_status_is_the_commands(jobs: Jobs, arguments: list[str], status: int) -> None:
    assert jobs.run(*arguments).returncode == status
    assert jobs.run("show").returncode == 0, "a crash has hurt the parent"


def test_what_nobody_expected_is_a_traceback(jobs: Jobs) -> None:
    assert jobs.run("crash", "raise").stderr.rstrip().endswith("RuntimeError: broken")


def test_what_it_leaves_for_its_end_is_done(jobs: Jobs) -> None:
    folder, registered = jobs.run("leave").stdout.splitlines()
    assert not Path(folder).exists()
    assert registered == "registered"


def test_commands_run_side_by_side(jobs: Jobs, tmp_path: Path) -> None:
    begun = [jobs.begin("wait", str(tmp_path / f"{number}.pid")) for number in range(8)]
    until(lambda: len(list(tmp_path.glob("*.pid"))) == 8)
    for one in begun:
        one.send_signal(signal.SIGINT)
    assert [one.communicate(timeout=20) and one.returncode for one in begun] == [3] * 8


def test_no_fork_stays_behind_as_a_zombie(jobs: Jobs) -> None:
    jobs.run("show")
    children = Path(f"/proc/{jobs.warm.process.pid}/task/{jobs.warm.process.pid}/children")
    until(lambda: not children.read_text())


def test_a_reader_that_has_enough_ends_it_without_a_traceback(jobs: Jobs) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = jobs.run("was-loaded", "os", stdout=write, stderr=subprocess.PIPE, capture_output=False)
    os.close(write)
    assert ended.returncode == 120
    assert ended.stderr == ""


def test_the_parent_learns_what_two_commands_load(jobs: Jobs) -> None:
    ask = ["was-loaded", "cfeval.testbed.render"]
    assert [jobs.run(*ask).stdout for _ in range(2)] == ["False\n", "False\n"]
    until(lambda: jobs.run(*ask).stdout == "True\n")


def test_what_two_jobs_may_use_is_imported_before_the_first_of_them(started: Starts) -> None:
    assert libraries({"versions": {"python": "3.11", "torch": "2", "scipy": "1"}}) == {"torch"}
    scene, rendered = "cfeval.testbed.scenes", "cfeval.testbed.render"
    imports = shared({scene: [scene, rendered, "a_plugins.script"], rendered: [rendered, "a_plugins.script"]})
    assert imports == {scene: [rendered], rendered: [rendered]}
    jobs = started(STAND_IN, imports)
    assert jobs.run("was-loaded", "cfeval.testbed.items").stdout == "False\n"
    assert jobs.run("was-loaded", rendered).stdout == "True\n"


def test_where_what_a_job_needs_starts_a_thread_it_runs_cold_and_so_do_others(started: Starts) -> None:
    jobs = started(STAND_IN, {"tests.warm.starts_a_thread": ["tests.warm.starts_a_thread"]})
    assert jobs.run("was-loaded", "json").stdout == "True\n"
    assert "no command 'was-loaded'" in jobs.run("was-loaded", "tests.warm.starts_a_thread").stderr
    assert jobs.log.read_text() == "commands run cold from here on: imports have started 1 threads\n"
    assert "no command 'show'" in jobs.run("show").stderr


def test_the_parent_imports_what_the_jobs_of_the_run_call_and_no_other_study() -> None:
    commands = [("edct", "items", "--seed", "7"), ("edct", "verdicts"), ("edct", "items")]
    assert verbs(commands) == ["cfeval.cli", "cfeval.stage", "cfeval.edct.stages.items", "cfeval.edct.stages.verdicts"]
    assert {*verbs(commands), "cfeval.vce.stages.images"} < set(verbs())


def test_another_environment_runs_cold(jobs: Jobs, cold: dict[str, str]) -> None:
    ended = jobs.run("show", "a b", env=cold)
    assert (ended.returncode, ended.stdout) == (5, "cold show a b\n")
    assert jobs.log.read_text().endswith("a command runs cold: it has other values of PYTHONPATH\n")


def test_only_variables_that_are_read_where_they_are_used_may_differ() -> None:
    other = {b"TMPDIR": b"/elsewhere", b"CUDA_VISIBLE_DEVICES": b"1", b"OMP_NUM_THREADS": b"64", b"SLURM_JOB_ID": b"17"}
    found = request.differing(request.Command([], {**request._OWN, **other}, 0, ()))
    assert found == ["OMP_NUM_THREADS", "SLURM_JOB_ID"]


def test_a_job_is_a_fork_whatever_its_shell_makes_of_variables(
    started: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "PS1": "(.venv) $ ",  # exported where a virtual environment is activated
        **{"PS2": "> ", "PS4": "+ $LINENO ", "IFS": ":", "OPTIND": "3", "SHELLOPTS": "hashall", "BASHOPTS": "cdspell"},
        "BASH_FUNC_module%%": "() {  true\n}",  # a cluster's `module`
        "a.name": "that is no shell's",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    jobs = started(STAND_IN)
    ended = subprocess.run(
        ["bash", "-c", "set -euo pipefail; cfeval show"], env=jobs.environment, capture_output=True, input="", text=True
    )
    assert jobs.log.read_text() == ""
    assert shown(ended)["arguments"] == ["cfeval", "show"]


@pytest.mark.slow
def test_neither_a_thread_nor_a_gpu_is_there_before_a_fork(started: Starts) -> None:
    assert json.loads(started([*STAND_IN, "torch"]).run("parent").stdout) == [1, False, False]


def test_a_parent_with_a_thread_serves_nobody(started: Starts) -> None:
    jobs = started([*STAND_IN, "tests.warm.starts_a_thread"])
    assert "no command 'show'" in jobs.run("show").stderr
    assert jobs.log.read_text() == "commands run cold from here on: imports have started 1 threads\n"


def test_a_parent_whose_forks_torch_would_refuse_a_gpu_serves_nobody(started: Starts) -> None:
    jobs = started([*STAND_IN, "tests.warm.driver", "tests.warm.refuses_in_forks"])
    assert "no command 'show'" in jobs.run("show").stderr
    assert jobs.log.read_text() == "commands run cold from here on: imports have started the driver of the GPU\n"


@pytest.mark.parametrize("module", ["tests.warm.driver", "tests.warm.refuses_in_forks"])
def test_a_driver_that_is_only_loaded_or_not_there_forbids_nothing(started: Starts, module: str) -> None:
    jobs = started([*STAND_IN, module])
    assert jobs.run("was-loaded", "json").stdout == "True\n"
    assert jobs.log.read_text() == ""


def test_the_client_imports_next_to_nothing() -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:]; import client; print(*sys.modules)"
    client = Path(__file__).parents[2] / "src/cfeval/warm"
    loaded = subprocess.run([sys.executable, "-IS", "-c", code, client], capture_output=True, text=True, check=True)
    assert not {"socket", "signal", "json", "contextlib"} & set(loaded.stdout.split())
