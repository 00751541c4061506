"""A warm parent with a short list of imports, and how commands are run by it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cfeval.warm.start import _ONE_THREAD, Warm, start

ROOT = Path(__file__).parents[2]
OTHERS = ("PYTEST_CURRENT_TEST", "PYTHONUNBUFFERED")
"""Variables that change between tests, or how a process writes."""
STAND_IN = ("cfeval.cli", "tests.warm.stand_in")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere commands run cold")


@dataclass
class Jobs:
    """A parent and the environment of its jobs."""

    warm: Warm
    environment: dict[str, str]
    log: Path

    def run(self, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        taken = {"env": self.environment, "capture_output": True, "text": True, "timeout": 30, "input": "", **options}
        return subprocess.run(["cfeval", *arguments], **taken)  # type: ignore[call-overload,no-any-return]

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Begin a command."""
        return subprocess.Popen(
            ["cfeval", *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


Starts = Callable[..., Jobs]
"""Of modules to begin with, and of what to import before which job."""


def environment() -> dict[str, str]:
    """What a job of Snakemake's gets."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    others = {name: value for name, value in os.environ.items() if name not in OTHERS}
    return {**others, **_ONE_THREAD, "PYTHONPATH": paths}


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starts]:
    """Starts parents that end with the tests."""
    made: list[Warm] = []

    def begin(modules: Sequence[str], imports: Mapping[str, Sequence[str]] | None = None) -> Jobs:
        log, jobs = tmp_path_factory.mktemp("parent") / "warm.log", environment()
        warm = start(log, modules, jobs, imports)
        assert warm is not None
        made.append(warm)
        return Jobs(warm, jobs, log)

    yield begin
    for warm in made:
        warm.stop()


@pytest.fixture
def cold(jobs: Jobs, tmp_path: Path) -> dict[str, str]:
    """An environment in which a cold command is quick and says so."""
    package = tmp_path / "cold" / "cfeval"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text("import sys\nprint('cold', *sys.argv[1:])\nsys.exit(5)\n")
    return jobs.environment | {"PYTHONPATH": str(tmp_path / "cold")}


@pytest.fixture(scope="session")
def jobs(started: Starts) -> Jobs:
    """A parent that many tests share."""
    return started(STAND_IN)


def until(told: Callable[[], object], seconds: float = 20) -> None:
    """Wait for something to be true, and fail where it takes too long."""
    end = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def written(file: Path) -> int:
    """The process id that a waiting command writes."""
    until(lambda: file.exists() and file.read_text())
    return int(file.read_text())


def gone(process: int) -> bool:
    """Whether a process has ended; who inherits it may not yet have asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
