"""The wheel in an environment of its own, empty folders, and the servers that stories need."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.first_hour.person import Person
from tests.loopback.site import Loopback
from tests.study.service import photographs, service

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".first-hour"
"""Where `make test-first-hour` installs llama.cpp's server and SmolLM2."""
MEGABYTES = 600
"""What the core may fill, with the packages that hosted models need."""
KEPT = ("LANG", "TMPDIR", "SSL_CERT_FILE")
INSTALLER = re.compile(r"PIP_|UV_|HTTPS?_PROXY|NO_PROXY|HOME$", re.IGNORECASE)


def ran(*words: object, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What a command prints, which must end well."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", out, ROOT)
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that holds the wheel and what its core needs."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    start = time.monotonic()
    environment(place, str(wheel))
    took, megabytes = time.monotonic() - start, int(ran("du", "-sm", place).split()[0])
    print(f"pip install: {took:.0f} s, {megabytes} MB")
    assert megabytes < MEGABYTES
    return place


@pytest.fixture(scope="session")
def audited(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that holds the wheel with its extra `audit`."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    environment(place, f"{wheel}[audit]")
    return place


def environment(place: Path, requirement: str) -> None:
    """Make a virtual environment and install something by pip, from the registries that it is set up for."""
    env = {name: value for name, value in os.environ.items() if INSTALLER.match(name)}
    env["PATH"] = os.environ["PATH"]
    ran(sys.executable, "-m", "venv", place)
    ran(place / "bin/python", "-m", "pip", "install", "--quiet", requirement, env=env)


@pytest.fixture
def bare(installed: Path, tmp_path: Path) -> dict[str, str]:
    """An environment without keys, without this checkout on any path, and with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "PATH": f"{installed / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"}


@pytest.fixture
def person(bare: dict[str, str], tmp_path: Path) -> Person:
    """Somebody in a folder that holds six photographs and nothing else."""
    photographs(tmp_path / "work/photos")
    return Person(tmp_path / "work", bare)


@pytest.fixture
def provider() -> Iterator[Loopback]:
    """A server that plays every role of a study, and wants no key."""
    with service() as server:
        yield server


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a real llama.cpp with a real small model that reads texts alone, by the name `smollm2`."""
    assert PACKAGES.is_dir(), "its packages are missing: run `make test-first-hour`"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    log = tmp_path_factory.mktemp("llama") / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("llama.py")), port],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http"), log.read_text()[-2000:]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()
