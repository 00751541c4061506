"""Serve the local models of a study: `cfeval serve`.

Which they are, params.yaml says already: every model whose `base_url` is on this machine. Each gets a router at that
address, so that the address, which is a part of what a stored call is known by, stays the same whatever serves it.
"""

import asyncio
import os
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from cfeval.config import load
from cfeval.core.errors import InputError, StoppedError
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.core.process import is_ignored, silence_terminal
from cfeval.inference.remote.http import PORTS
from cfeval.inference.remote.provider_table import PROVIDERS, find_provider
from cfeval.inference.remote.providers import on_this_machine
from cfeval.inference.remote.sessions import SIGNALS
from cfeval.inference.serving.replicas import Replicas, Served, engine_of
from cfeval.inference.serving.router import Router
from cfeval.study.components import used

# Plugins whose calls all go through `HttpClient`, so that they follow a model to another port.
_FOLLOW = ("anthropic", "google", "openai", "openai_image", "openrouter_image")


@dataclass(frozen=True)
class Local:
    """A model that a study expects at an address of this machine."""

    port: int
    model: str
    provider: str
    follows: bool
    """Whether all who call it would find it at another port."""


def run(
    folder: Folder = Path(),
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Serve while this command runs, such as: cfeval run DIR --yes."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="vllm, vllm-omni, sglang, transformers, or a command with {model}, {port}. Default: by provider."
        ),
    ] = "",
    options: Annotated[str, typer.Option(help="More options for that command.")] = "",
    replicas: Annotated[int, typer.Option(min=0, help="Servers per model; 0: one per free GPU.")] = 0,
    idle: Annotated[
        float, typer.Option(min=0, help="Seconds without requests after which GPUs are freed; 0: never.")
    ] = 60.0,
    starts_within: Annotated[float, typer.Option(min=1, help="Seconds to wait for a server to start.")] = 600.0,
    health: Annotated[str, typer.Option(help="Path that returns 200 once a server is ready.")] = "/health",
    grace: Annotated[float, typer.Option(min=0, help="Seconds to let running requests finish at the end.")] = 30.0,
    params: ParamsFiles = None,
) -> None:
    """Serve the local models of a study, one server per free GPU.

    Local models are those whose base_url is on this machine. A server starts at the first request, restarts if it
    dies, and stops when it is idle or this command ends. Both turns of an item go to the same server.
    """
    here = Path.cwd()
    with study_in(folder, params) as files:
        local_models = locals_of([part.spec for part in used(load(*files))])
        if not local_models:
            raise InputError(
                "no model of this study is on this machine; a base_url such as http://127.0.0.1:8000/v1 is"
            )
        served = {}
        for local in local_models:
            engine_command = " ".join((engine_of(local.provider, engine), options)).strip()
            served[local.port] = Served(local.model, engine_command, replicas, idle, starts_within, health)
        fixed = {local.port for local in local_models if not (command and local.follows)}
        status = asyncio.run(_serve(served, fixed, list(command or ()), grace, here))
    if status:
        raise typer.Exit(status)


def locals_of(specs: Sequence[Mapping[str, Any]]) -> list[Local]:
    """The models at addresses of this machine, in the order of the specifications of plugins and their parts.

    Raises:
        InputError: an address names no port, or two models have one.
    """
    by_port: dict[int, Local] = {}
    for spec in specs:
        for local in _locals_in(spec):
            first = by_port.setdefault(local.port, local)
            if first.model != local.model:
                models = f"'{first.model}' and '{local.model}'"
                raise InputError(f"{models} are both expected at port {local.port}; give each a port of its own")
            by_port[local.port] = replace(first, follows=first.follows and local.follows)
    return list(by_port.values())


def _locals_in(spec: Any) -> Iterator[Local]:
    if isinstance(spec, Mapping):
        provider = find_provider(str(spec.get("provider", "")))
        usual = PROVIDERS[provider].base_url if provider and spec.get("plugin") == "openai" else ""
        address, model = spec.get("base_url") or usual, spec.get("model")
        if isinstance(address, str) and isinstance(model, str) and on_this_machine(address):
            port = urlsplit(address).port
            if port is None:
                raise InputError(f"{address} names no port, such as http://127.0.0.1:8000/v1")
            omni = spec.get("plugin") == "openai_image" and provider in ("", "openai", "vllm", "other")
            yield Local(port, model, "vllm-omni" if omni else provider or "other", spec.get("plugin") in _FOLLOW)
    if isinstance(spec, Mapping | list | tuple):
        for part in spec.values() if isinstance(spec, Mapping) else spec:
            yield from _locals_in(part)


async def _serve(
    served: Mapping[int, Served], fixed: Collection[int], command: Sequence[str], grace: float, here: Path
) -> int:
    """Serve until the command, which runs `here`, ends, or a signal comes; the command's exit status.

    Raises:
        InputError: something else listens at a port, and it is one of the `fixed`: not all would find another.
        StoppedError: a signal came.
    """
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in SIGNALS:
        if not is_ignored(number):
            asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, number)
    routers: list[Router] = []
    moved: dict[int, int] = {}
    try:
        for port, model in served.items():
            routers.append(Router(Replicas(model)))
            try:
                at = await routers[-1].open(port)
            except OSError:
                if port in fixed:
                    raise InputError(f"something else listens at port {port}; end it, or leave it to serve") from None
                at = moved[port] = await routers[-1].open(0)
            print(f"'{model.model}' at http://127.0.0.1:{at}", flush=True)
        watchers = [asyncio.create_task(router.replicas.look_after()) for router in routers]
        status = await _run_command(command, moved, stopped, here)
        for task in watchers:
            task.cancel()
    finally:
        await asyncio.gather(*(router.close(grace) for router in routers))
    if stopped.done():
        raise StoppedError(stopped.result())
    return status


def _stop(stopped: "asyncio.Future[int]", number: int) -> None:
    if number == signal.SIGHUP:
        silence_terminal()
    if not stopped.done():
        stopped.set_result(number)


async def _run_command(
    command: Sequence[str], moved: Mapping[int, int], stopped: "asyncio.Future[int]", here: Path
) -> int:
    """Run a command to its end; a signal is passed on to it. Without one, wait for the signal.

    The calls of the command find the models whose ports were taken at those where they were moved to.
    """
    if not command:
        await stopped
        return 0
    ports = " ".join(f"{port}={at}" for port, at in moved.items())
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, PORTS: ports}, cwd=here)
    ended = asyncio.create_task(process.wait())
    await asyncio.wait([ended, stopped], return_when=asyncio.FIRST_COMPLETED)
    if not ended.done() and stopped.result() != signal.SIGINT:  # a terminal sends that to both
        process.send_signal(stopped.result())
    return await ended
