"""What several tests share: small images, and a way to run the command line in this process."""

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from cfeval import cli
from tests.images import image

__all__ = ["Run", "image"]

Run = Callable[..., tuple[int, str, str]]

# A shell starts what it runs in the background with SIGINT ignored, and `nohup` starts it with SIGHUP ignored, which
# every command would inherit from here.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# How fast a machine draws examples says nothing about the code.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", patient, max_examples=20)
settings.register_profile("slow", patient, max_examples=100)
settings.load_profile("fast")


def pytest_sessionstart() -> None:
    """While tests are collected, modules are imported, which stay: looking for garbage among them takes long."""
    gc.disable()


def pytest_collection_finish() -> None:
    """A full collection, which statsmodels asks for at every call, looks at no more than the tests themselves make."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def cfeval(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `cfeval ARGUMENTS…` and returns exit status, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A small image file."""
    path = tmp_path / "photo.png"
    path.write_bytes(image(3).png)
    return path
