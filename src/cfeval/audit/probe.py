"""One small real request to each hosted model of a study, on the way that its calls take; it is paid for and stored."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from PIL import ImageDraw

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic, Used
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.inference.batching import answered
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import paid

ITEM = "probe"
QUESTION = "Which colour is the circle, red or blue? Answer with one word."
WITHOUT_IMAGE = "Which colour is a ripe tomato, red or blue? Answer with one word."
EDIT = "Make the circle blue."
BLIND = ("instruction_writers", "judges", "program_generators", "question_generators")
"""Families that show their models no image, unless they say that they do."""
SIDE = 256
"""Pixels of the image's side."""


@dataclass
class Probe:
    """A hosted model: where it is in params.yaml, its plugin, and whether it is shown images."""

    place: str
    family: str
    spec: dict[str, Any]
    seeing: bool


def probes(uses: Sequence[Used]) -> list[Probe]:
    """The hosted models of some plugins, each once: chat models and editors, also those that others are made of."""
    found: dict[str, Probe] = {}
    for use in uses:
        shown = any(call.images_shown for call in registry.estimate_calls(use.family, use.spec, use.protocols))
        seeing = shown or use.family not in BLIND
        for family, spec in registry.components(use.family, use.spec):
            alone = len(list(registry.components(family, spec))) == 1
            if family in ("chat", "editors") and alone and registry.resources(family, spec).api:
                key = json.dumps([family, spec], sort_keys=True)
                probe = found.setdefault(key, Probe(use.place, family, dict(spec), seeing))
                probe.seeing |= seeing
    return list(found.values())


def send(probe: Probe, calls: Calls) -> Diagnostic:
    """Send one request; says what came back, in which time, and what it cost."""
    began = time.monotonic()
    try:
        reply = _ask(probe, seed=int(time.time()))  # a request of its own each time: nothing comes from the cache
    except CfevalError as error:
        return Diagnostic(False, f"{probe.family} {_model(probe)}: {error}")
    said = f"{probe.family} {_model(probe)}, {'with' if probe.seeing else 'without'} an image, "
    cost = f"{time.monotonic() - began:.1f} s, {paid(*_cost(reply.calls, calls))}"
    if reply.status != Status.OK:
        return Diagnostic(False, f"{said}ended as {reply.status} ({reply.reason}), {cost}")
    return Diagnostic(True, f"{said}{_shown(reply)}, {cost}")


def _ask(probe: Probe, seed: int) -> ChatReply | EditReply:
    built = registry.build(probe.family, probe.spec)
    if probe.family == "editors":
        edited: EditReply = answered(built.edit, EditRequest(ITEM, _image(), EDIT, "", seed))
        return edited
    turn = ChatMessage("user", QUESTION, _image()) if probe.seeing else ChatMessage("user", WITHOUT_IMAGE)
    replied: ChatReply = answered(built.generate, ChatRequest(ITEM, (turn,), seed))
    return replied


def _image() -> Image:
    """A red circle on gray."""
    image = PIL.Image.new("RGB", (SIDE, SIDE), "gray")
    ImageDraw.Draw(image).ellipse((SIDE // 4, SIDE // 4, 3 * SIDE // 4, 3 * SIDE // 4), fill="red")
    return Image.from_pixels(np.asarray(image))


def _cost(keys: Sequence[str], calls: Calls) -> tuple[float, float]:
    with closing(ResponseCache(Path(calls.cache))) as cache:
        _, usd, maybe_usd = cache.paid(keys)
    return usd, maybe_usd


def _shown(reply: ChatReply | EditReply) -> str:
    if isinstance(reply, EditReply):
        return f"came back as {reply.details.get('came_as', 'an image')}"
    return f"answered {' '.join(reply.text.split())[:40]!r}"


def _model(probe: Probe) -> str:
    names: Iterator[str] = (call.model for call in registry.estimate_calls(probe.family, probe.spec))
    return next(names, str(probe.spec["plugin"]))
