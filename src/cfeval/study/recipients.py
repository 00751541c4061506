"""Who is sent what by a study: each host, the models there, and whether images go to them or texts alone."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from cfeval.config import Params
from cfeval.core import registry
from cfeval.core.registry import Used
from cfeval.inference.remote.providers import on_this_machine
from cfeval.study.components import used

_SHOWN = 6
"""Models that a line names; of more, the number is told."""


def recipients(plugins: Iterable[Used]) -> dict[str, dict[str, bool]]:
    """By host: its models, each with whether it is sent images; without, it is sent texts alone."""
    hosts: dict[str, dict[str, bool]] = {}
    for plugin in plugins:
        for recipient in registry.recipients(plugin.family, plugin.spec, plugin.protocols):
            models = hosts.setdefault(_host(recipient.address), {})
            models[recipient.model] = models.get(recipient.model, False) or recipient.images
    return hosts


def recipient_lines(params: Params, plugins: Iterable[Used] | None = None) -> list[str]:
    """What to print before anything is sent: who will receive images, and who texts alone.

    Args:
        params: the study's.
        plugins: those that are used; None: all of the study.
    """
    if params.calls.offline:
        return ["Nothing is sent: calls.offline is set."]
    hosts = recipients(used(params) if plugins is None else plugins)
    if not hosts:
        return ["Nothing is sent: all models run in this process."]
    lines = [line for host, models in hosts.items() for line in _of_host(host, models)]
    if all(_is_here(host) for host in hosts):
        lines.append("Nothing leaves this machine, unless a server on it passes it on.")
    return lines


def _of_host(host: str, models: dict[str, bool]) -> Iterator[str]:
    place = f"{host}, on this machine" if _is_here(host) else host
    for what, images in (("Images and texts", True), ("Only texts", False)):
        if names := [model for model, seen in models.items() if seen == images]:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{what} go to {place}: {', '.join(names[:_SHOWN])}{more}"


def _host(address: str) -> str:
    return urlsplit(address).netloc if "://" in address else address


def _is_here(host: str) -> bool:
    return " " not in host and on_this_machine(f"http://{host}")
