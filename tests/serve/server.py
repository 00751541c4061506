"""Starts the real `transformers serve` with a tiny random checkpoint and ends it again."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

STARTS_WITHIN_SECONDS = 180.0
"""It takes 9 to 17 s on an idle core; a busy machine is given more."""


@dataclass(frozen=True)
class Server:
    """A running server: its OpenAI base URL, and the name that requests must give the model."""

    base_url: str
    model: str


@contextmanager
def serving(checkpoint: Path, scratch: Path) -> Iterator[Server]:
    """Serve a checkpoint until the block ends; `scratch` takes the log and an empty hub cache.

    One process and one model. The server works in the folder that holds the checkpoint and is given its bare name, so
    that no reply names a path.

    Raises:
        RuntimeError: it does not come up; with the end of its log.
    """
    port = free_port()
    (scratch / "hf" / "hub").mkdir(parents=True)
    own = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(scratch / "hf"), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "transformers.cli.transformers", "serve", checkpoint.name]
    log = scratch / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*program, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            cwd=checkpoint.parent,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield Server(f"http://127.0.0.1:{port}/v1", checkpoint.name)
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", health: str, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx2.get(health, timeout=2, trust_env=False).status_code == httpx2.codes.OK:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    raise RuntimeError(f"transformers serve did not come up:\n{log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
