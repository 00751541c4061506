"""Starts the real servers of `make real`: llama.cpp with SmolLM2, alone and behind a classifier."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

ROOT = Path(__file__).parents[2]
ENGINE = f"env PYTHONPATH={ROOT} {{python}} -m bench.real.serve {{model}} {{port}}"
"""The command by which `cfeval serve` starts them in any folder."""


@contextmanager
def serving(model: str, port: int, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve `smollm2` or `composite` at a port of this machine until the block ends.

    Raises:
        RuntimeError: it does not come up within two minutes; with the end of its log.
    """
    program = [sys.executable, "-m", "bench.real.serve", model, str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(program, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while not _is_well(port):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"{model} did not come up:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()


def _is_well(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=2, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False
