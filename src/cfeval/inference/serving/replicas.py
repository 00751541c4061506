"""The servers of one model: started at the first request, one per free GPU, ended when nobody has asked for a while.

A request that comes while a server starts waits for it. A server that has ended is started again. Requests with the
same key go to the same server, whatever else is going on, so that what it remembers of a conversation is of use.

`ENGINES` are the commands that serve a model behind the OpenAI protocol. The tests run `transformers serve`, and vLLM
on a CPU.
"""

import asyncio
import hashlib
import os
import random
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import httpx2

from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.core.locks import VISIBLE_GPUS, free_gpus, visible_gpus

# By the name of the program; `{model}`, `{port}` and `{python}` (this interpreter) are filled in.
ENGINES: Mapping[str, str] = {
    "vllm": "vllm serve {model} --host 127.0.0.1 --port {port}",
    "vllm-omni": "vllm serve {model} --omni --host 127.0.0.1 --port {port}",
    "sglang": "sglang serve --model-path {model} --host 127.0.0.1 --port {port}",
    "transformers": "{python} -m transformers.cli.transformers serve {model} --host 127.0.0.1 --port {port}",
}
# What a server is told beside, unless the user says otherwise: vLLM reports model and machine to its authors.
ENVIRONMENT: Mapping[str, str] = {"VLLM_NO_USAGE_STATS": "1"}


def engine_of(provider: str, chosen: str) -> str:
    """The command that serves a model: the one chosen, by its name or in full, else its provider's.

    Raises:
        InputError: there is none, a command of one's own names no `{port}`, or the program is not found.
    """
    if "{port}" in chosen:
        command = chosen
    elif chosen and chosen not in ENGINES:
        raise InputError(f"no server '{chosen}'; {nearest(chosen, ENGINES)}; or give a whole command with {{port}}")
    elif not chosen and provider not in ENGINES:
        raise InputError(f"nothing is known that serves provider '{provider}'; name it with --engine")
    else:
        command = ENGINES[chosen or provider]
    program = command_args(command, "", 0)[0]
    if shutil.which(program) is None:
        advice = f"--engine 'PATH/{program} …' names another, with the places {{model}} and {{port}}"
        raise InputError(f"no program '{program}' here; install it, or put its environment on PATH, or {advice}")
    return command


def command_args(command: str, model: str, port: int) -> list[str]:
    """A command word by word, filled in; a model's name with blanks stays one word."""
    places = {"{model}": model, "{port}": str(port), "{python}": sys.executable}
    filled = []
    for word in shlex.split(command):
        for place, value in places.items():
            word = word.replace(place, value)
        filled.append(word)
    return filled


# Seconds between two looks at a server that starts.
_LOOK = 0.25
# Seconds for which a server that did not come up is not tried again.
_NOT_AGAIN = 30.0
# From where to where a server is given a port: Linux gives those from 32768 on to outgoing connections.
_PORTS = 20000, 32768
# Characters of a server's log that an error shows.
_TAIL = 600


@dataclass(frozen=True)
class Served:
    """What is served, and how."""

    model: str
    """As the study names it."""
    command: str
    """With places for the model and the port; see `engines`."""
    replicas: int = 0
    """How many servers; 0: one per GPU that is free when they start, or one where there is no GPU."""
    idle: float = 60.0
    """Seconds without a request after which the servers end and their GPUs are free; 0: never."""
    starts_within: float = 600.0
    """Seconds that a server has to say that it is well."""
    health: str = "/health"
    """Path that answers 200 once it is."""
    logs: Path = Path(".cfeval/serve")


class ServerError(PluginError):
    """A server ended, or did not come up."""


@dataclass
class Replica:
    """One server: its keeper, where it listens, and how many requests it is answering."""

    number: int
    device: str = ""
    """The GPU that it sees, as CUDA_VISIBLE_DEVICES names it; empty: what this process sees."""
    lock: int = -1
    """The lease of that GPU."""
    port: int = 0
    busy: int = 0
    keeper: "subprocess.Popen[bytes] | None" = None
    pipe: int = -1
    failed: tuple[float, str] = (-inf, "")
    """When it last did not come up, and why."""
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def alive(self) -> bool:
        """Whether the server is running, well or not yet."""
        return self.keeper is not None and self.keeper.poll() is None


class Replicas:
    """The servers of one model."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._all: list[Replica] = []
        self._choosing = asyncio.Lock()
        self._last = time.monotonic()
        self.ending = False

    @asynccontextmanager
    async def chosen(self, key: str) -> AsyncIterator[Replica]:
        """The server for a key, well and waited for; with an empty key the one that has least to do.

        Raises:
            ServerError: it does not come up, or the servers are being ended.
        """
        async with self._choosing:
            if self.ending:
                raise self._ended()
            if not self._all:
                self._all = await self._leased()
            replica = _replica_of(key, self._all)
            replica.busy += 1
        try:
            async with replica.starting:
                if not replica.alive:
                    await self._start(replica)
            yield replica
        finally:
            replica.busy -= 1
            self._last = time.monotonic()

    async def look_after(self) -> None:
        """End the servers whenever nobody has asked them for a while; never returns."""
        while True:
            await asyncio.sleep(min(1.0, self.served.idle / 4) if self.served.idle else 60.0)
            quiet = time.monotonic() - self._last
            async with self._choosing:
                if self.served.idle and self._all and quiet > self.served.idle and not self._busy():
                    await self._end_all()

    async def drain(self, seconds: float) -> None:
        """Take no more requests, wait so long for those under way, then end the servers."""
        self.ending = True
        until = time.monotonic() + seconds
        while self._busy() and time.monotonic() < until:
            await asyncio.sleep(0.05)
        await self._end_all()

    def _ended(self) -> "ServerError":
        return ServerError(f"the servers of '{self.served.model}' are being ended")

    def _busy(self) -> int:
        return sum(replica.busy for replica in self._all)

    async def _leased(self) -> list[Replica]:
        """One replica for each GPU that can be had, and at least one, which is waited for."""
        shown = visible_gpus()
        if len(shown) < 2:
            return [Replica(number) for number in range(self.served.replicas or 1)]
        most = self.served.replicas or len(shown)
        while not (leases := free_gpus(most)):
            await asyncio.sleep(_LOOK)
            if self.ending:
                raise self._ended()
        return [Replica(number, device, lock) for number, (device, lock) in enumerate(leases.items())]

    async def _start(self, replica: Replica) -> None:
        """Start a server under its keeper and wait until it is well; not again at once where it did not come up."""
        when, why = replica.failed
        if time.monotonic() - when < _NOT_AGAIN:
            raise ServerError(why)
        _close(replica)
        replica.port = _free_port()
        command = command_args(self.served.command, self.served.model, replica.port)
        reading, replica.pipe = os.pipe()
        locks = [replica.lock] if replica.lock >= 0 else []
        sees = {VISIBLE_GPUS: replica.device} if replica.device else {}
        self.served.logs.mkdir(parents=True, exist_ok=True)
        log = self.served.logs / f"{_file_name(self.served.model)}-{replica.number}.log"
        with log.open("wb") as output:
            replica.keeper = subprocess.Popen(
                [sys.executable, "-m", "cfeval.inference.serving.keeper", str(reading), *command],
                env={**ENVIRONMENT, **os.environ, **sees, "CFEVAL_LOCKS": ",".join(map(str, locks))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[reading, *locks],
            )
        os.close(reading)
        print(
            f"serving '{self.served.model}' at port {replica.port}"
            + (f" on GPU {replica.device}" if replica.device else ""),
            file=sys.stderr,
            flush=True,
        )
        try:
            await self._until_well(replica, log)
        except BaseException as error:
            replica.failed = (time.monotonic(), str(error))
            await asyncio.to_thread(_close, replica)
            raise

    async def _until_well(self, replica: Replica, log: Path) -> None:
        url = f"http://127.0.0.1:{replica.port}{self.served.health}"
        until = time.monotonic() + self.served.starts_within
        async with httpx2.AsyncClient(timeout=5, trust_env=False) as client:
            while replica.alive and time.monotonic() < until:
                try:
                    if (await client.get(url)).status_code == httpx2.codes.OK:
                        return
                except httpx2.TransportError:
                    pass
                await asyncio.sleep(_LOOK)
        tail = log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
        what = "did not come up in time" if replica.alive else "ended before it was well"
        raise ServerError(f"the server of '{self.served.model}' {what}; the end of {log}: {tail}")

    async def _end_all(self) -> None:
        for replica in self._all:
            _release(replica)
        for replica in self._all:
            if replica.keeper is not None:
                await asyncio.to_thread(replica.keeper.wait)
            if replica.lock >= 0:
                os.close(replica.lock)
        if self._all:
            print(f"the servers of '{self.served.model}' have ended", file=sys.stderr, flush=True)
        self._all = []


def _replica_of(key: str, replicas: Sequence[Replica]) -> Replica:
    """The server of a key: the one whose hash with it is highest, so that a change of their number moves few keys."""
    if not key:
        return min(replicas, key=lambda replica: replica.busy)
    return max(replicas, key=lambda replica: hashlib.sha256(f"{replica.number} {key}".encode()).digest())


def _release(replica: Replica) -> None:
    if replica.pipe >= 0:
        os.close(replica.pipe)
        replica.pipe = -1


def _close(replica: Replica) -> None:
    _release(replica)
    if replica.keeper is not None:
        replica.keeper.wait()
        replica.keeper = None


def _file_name(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in model)


def _free_port() -> int:
    """A port that nobody has, of those that the system gives to no connection while the server is still loading."""
    for port in random.sample(range(*_PORTS), 1000):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise ServerError(f"no free port in {_PORTS[0]} to {_PORTS[1]}")
