"""The studies that tests start from, made once for all workers; each test changes only a copy."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from filelock import FileLock

from tests.workflow import preloaded
from tests.workflow.study import PROGRAMS, PROJECT, Study, wait
from tests.workflow.watched import watched

Copy = Callable[..., Study]
Shared = Callable[[str, Callable[[Path], None]], Path]


LONG = ("test_declared", "test_vce", "test_calls", "test_dvc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker has a file whole; long ones come first, so that no worker is left alone with one in the end."""
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Shared:
    """Makes a folder once, whichever worker asks first."""
    base = tmp_path_factory.getbasetemp()
    common = base if worker_id == "master" else base.parent

    def make(name: str, build: Callable[[Path], None]) -> Path:
        folder = common / f"shared-{name}"
        with FileLock(common / f"{name}.lock"):
            if not (folder / "done").exists():
                folder.mkdir()
                build(folder)
                (folder / "done").touch()
        return folder

    return make


@pytest.fixture(scope="session", autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands of studies are forks of a process that has imported what is not the project's own."""
    folder = tmp_path_factory.mktemp("programs")
    address = folder / "server"
    preloaded.write_programs(folder, str(address))
    command = [sys.executable, "-m", "tests.workflow.preloaded", str(address)]
    with subprocess.Popen(command, cwd=PROJECT) as server, pytest.MonkeyPatch.context() as patch:
        wait(address.exists, server)
        patch.setenv(PROGRAMS, str(folder))
        yield
        server.kill()


@pytest.fixture
def plain_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of studies are started as users start them: with plugins, mounts and signals of their own."""
    monkeypatch.delenv(PROGRAMS)


@pytest.fixture(scope="session")
def fresh(shared: Shared) -> Study:
    """A study of which nothing has run."""
    return Study(shared("fresh", lambda folder: watched(folder / "study") and None) / "study")


@pytest.fixture(scope="session")
def finished(fresh: Study, shared: Shared) -> Study:
    """The study, made by one run and committed."""

    def finish(folder: Path) -> None:
        study = fresh.copy(folder / "home")
        (folder / "steps.json").write_text(json.dumps(study.jobs("snakemake")))
        study.commit("finished")

    return Study(shared("finished", finish) / "home" / "study")


@pytest.fixture(scope="session")
def first_steps(finished: Study) -> dict[str, int]:
    """The steps that the first run made."""
    found: dict[str, int] = json.loads((finished.home.parent / "steps.json").read_text())
    return found


@pytest.fixture(scope="session")
def truth(finished: Study, shared: Shared) -> Study:
    """The study up to its scores at another threshold, made where nothing older could be mistaken for it."""

    def make(folder: Path) -> None:
        study = finished.copy(folder / "home")
        study.run("rm", "-rf", ".snakemake", ".cfeval", "results/edct/verdicts", "results/edct/scores")
        study.set_threshold(0.8)
        study.run("snakemake", "--", "edct_verdicts_all")

    study = Study(shared("truth", make) / "home" / "study")
    assert study.results("results/edct/scores") != finished.results("results/edct/scores")
    return study


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Copies a study with its home into a new folder."""
    numbers = count()

    def copied(study: Study) -> Study:
        folder: Path = tmp_path_factory.mktemp(f"copy{next(numbers)}")
        return study.copy(folder / "home")

    return copied


@pytest.fixture
def study(finished: Study, copy: Copy) -> Study:
    """A copy of the finished study."""
    return copy(finished)
