"""One small real request to each hosted model of a study, in the form of its role, on the way that its calls take.

It is counted, paid for and stored like any other call. A model under test is asked about an image; a writer, verifier
or judge gets the prompt of its role about a made-up item, and its reply must be one that the study can read.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from PIL import ImageDraw

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError, StoppedError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic, Used
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.inference.batching import answered
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.prompts import ChatPlugin, ParsedReply, Prompt, generate_parsed, last_text
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import Prices
from cfeval.inference.remote.providers import is_served, on_own_network
from cfeval.inference.remote.request import Usage
from cfeval.inference.remote.settings import QUIET, VARIABLE, paid, use

ITEM = "probe"
QUESTION = "Which colour is the circle, red or blue? Answer with one word."
WITHOUT_IMAGE = "Which colour is a ripe tomato, red or blue? Answer with one word."
EDIT = "Make the circle blue."
# A made-up item, by the placeholders of prompts.
VALUES = {
    "question": "Which colour is the circle?",
    "answer": "Red.",
    "new_question": "Which colour would the circle be if it were painted blue?",
    "new_answer": "Blue.",
    "original_answer": "Red.",
    "original_explanation": "There is one circle in the middle, and its surface is red.",
    "edit_instruction": f"Positive part: {EDIT}",
    "edited_answer": "Blue.",
    "edited_explanation": "There is one circle in the middle, and its surface is blue.",
    "explanation": "There is one circle in the middle, and its surface is red.",
    "before": "a red circle",
    "after": "a blue circle",
    "first": "left",
    "second": "right",
    "instruction": EDIT,
    "reply": "The circle is red, so the answer is 1.",
    "form": "a number",
    "edits": "1",
}
# Pixels of the image's side.
SIDE = 256
RETRIES = 2
# A model whose request is expected to cost more is asked only on demand.
MOST_USD = 0.01
# Seconds of one reply from which on a model is called slow.
SLOW = 20.0
# What a reply is taken to have, and what a model that thinks adds.
_TOKENS, _THOUGHTS = 200, 800
# Characters of a reply that are shown.
_SHOWN_CHARACTERS = 60
Reply = ChatReply | EditReply | ParsedReply[Any]


@dataclass(frozen=True)
class Probe:
    """A hosted model: where it is in params.yaml, its plugin, whether it is shown images, and what its role asks."""

    place: str
    family: str
    spec: Mapping[str, Any]
    seeing: bool
    asked: Prompt[Any] | None = None

    @property
    def model(self) -> str:
        """Its name."""
        return str(self.spec.get("model", self.spec["plugin"]))

    @property
    def is_near(self) -> bool:
        """Whether it is on this machine or a private network, where nobody is paid."""
        addresses = [recipient.address for recipient in registry.recipients(self.family, self.spec)]
        return bool(addresses) and all(on_own_network(address) for address in addresses)

    def usd(self, prices: Prices) -> float | None:
        """What its request costs, by list prices and rather too much; None where that is not known."""
        if self.is_near:
            return 0.0
        calls = [(call, prices.of(call.model)) for call in registry.estimate_calls(self.family, self.spec)]
        characters = len(self.asked.opening) if self.asked else len(QUESTION)
        total = 0.0
        for call, price in calls:
            if price is None:
                return None
            image_tokens = call.image_tokens if self.seeing else 0
            written = min(call.max_tokens, _TOKENS) + min(call.thinking_tokens, _THOUGHTS)
            total += price.of(Usage(characters // 3 + image_tokens, written, call.images, image_tokens=image_tokens))
        return total if calls else None

    def is_cheap(self, prices: Prices) -> bool:
        """Whether it is asked without being told to: for a cent at most; of editors the price must be known."""
        usd = self.usd(prices)
        return self.family != "editors" if usd is None else usd <= MOST_USD


def probes(uses: Iterable[Used]) -> list[Probe]:
    """The hosted models of some plugins, once for each role: chat models and editors, also those in others."""
    requests: dict[str, Probe] = {}
    for plugin in uses:
        for probe in _probes_of(plugin, plugin.family, plugin.spec):
            form = probe.asked.form if probe.asked else None
            key = [probe.family, probe.spec, form and (form.folder, *form.templates), probe.seeing]
            requests.setdefault(json.dumps(key, sort_keys=True), probe)
    return list(requests.values())


def _probes_of(plugin: Used, family: str, spec: Mapping[str, Any]) -> Iterator[Probe]:
    options = registry.plugin_of(family, spec)
    parts = options.components()
    if isinstance(options, ChatPlugin):
        if registry.resources("chat", options.model).api:
            protocols = plugin.protocols if options.by_protocol else ("",)
            forms = [form for protocol in protocols for form in options.forms(protocol) if form.schema]
            forms.sort(key=lambda form: not form.seen)
            question = options.prompt(forms[0]) if forms else None
            yield Probe(plugin.place, "chat", options.model, question is not None and question.form.seen, question)
        parts = [part for part in parts if part != ("chat", options.model)]
    elif family in ("chat", "editors") and not parts and options.resources().api:
        name = str(getattr(options, "model", spec["plugin"]))
        sent = registry.recipients(plugin.family, plugin.spec, plugin.protocols)
        yield Probe(plugin.place, family, spec, any(recipient.images for recipient in sent if recipient.model == name))
    for part, part_spec in parts:
        yield from _probes_of(plugin, part, part_spec)


def announcement(wanted: Sequence[Probe], prices: Prices) -> str:
    """What to say before the requests are sent: to how many models, and what that costs."""
    costs = [probe.usd(prices) for probe in wanted]
    listed_usd, unlisted = sum(usd or 0.0 for usd in costs), sum(usd is None for usd in costs)
    price = f"about {listed_usd:.4f} USD" + f", and {unlisted} without a list price" * bool(unlisted)
    if all(probe.is_near for probe in wanted):
        price = "all to your own machines"
    requests = "1 request is" if len(wanted) == 1 else f"{len(wanted)} requests are"
    return f"First, {requests} sent to see whether the models work ({price}); --no-probe leaves that out"


def send(probe: Probe, calls: Calls, to_go: Callable[[], Mapping[str, int]], seed: int) -> Diagnostic | None:
    """Send one request; what came back, in which time, and what it cost. None where the cache had a good reply.

    Args:
        probe: the model.
        calls: how calls travel.
        to_go: calls that the study has yet to send, by model.
        seed: of the request: the cache knows it again by that.
    """
    recipients = registry.recipients(probe.family, probe.spec)
    # `cfeval serve` starts the server with the first request, which takes minutes.
    waits = probe.is_near and any(is_served(recipient.address) for recipient in recipients)
    with _settings(calls, waits), closing(ResponseCache(Path(calls.cache))) as cache:
        before, began = cache.last_sent(), time.monotonic()
        try:
            reply = answered(_ask, (probe, seed))
        except StoppedError:  # no fault of the model: the others are not asked either
            raise
        except CfevalError as error:
            return Diagnostic(False, str(error))
        seconds, sent = time.monotonic() - began, cache.sent_since(before).sent
        if reply.status != Status.OK:
            cache.remove(reply.calls)  # a later probe asks again: it may be another server by then
        elif not sent:
            return None
        _, usd, maybe_usd = cache.paid(reply.calls)
    each = seconds / max(1, len(reply.calls))
    cost = paid(usd, maybe_usd)
    if reply.status != Status.OK:
        return Diagnostic(False, f"{_fault(probe, reply)} ({seconds:.1f} s, {cost})")
    doubts = [*_doubts(probe, reply), *([] if waits else _slow(probe, each, calls, to_go))]
    return Diagnostic(
        True,
        "; ".join([f"{probe.model} {_works(probe, reply)}, {each:.1f} s a reply, {cost}", *doubts]),
        warns=bool(doubts),
    )


async def _ask(wanted: tuple[Probe, int]) -> Reply:
    probe, seed = wanted
    built = registry.build(probe.family, probe.spec)
    if probe.family == "editors":
        edited: EditReply = await built.edit(EditRequest(ITEM, _image(), EDIT, "", seed))
        return edited
    if probe.asked is not None:
        values = {name: VALUES.get(name, "red") for name in probe.asked.form.placeholders}
        return await generate_parsed(built, probe.asked, ITEM, values, seed, _image())
    turn = ChatMessage("user", QUESTION, _image()) if probe.seeing else ChatMessage("user", WITHOUT_IMAGE)
    replied: ChatReply = await built.generate(ChatRequest(ITEM, (turn,), seed))
    return replied


@contextmanager
def _settings(calls: Calls, waits: bool) -> Iterator[None]:
    """Ask at once, and give up sooner than a study does, unless a server has to start: there is a person who waits."""
    before, token = os.environ.get(VARIABLE), QUIET.set(True)
    sooner = {"max_retries": min(calls.max_retries, RETRIES), "deadline": min(calls.deadline, calls.timeout)}
    use(calls.model_copy(update={"batches": False, **({} if waits else sooner)}))
    try:
        yield
    finally:
        QUIET.reset(token)
        os.environ.pop(VARIABLE)
        os.environ.update({VARIABLE: before} if before is not None else {})


def _works(probe: Probe, reply: Reply) -> str:
    if isinstance(reply, EditReply):
        return f"edits images (came back as {reply.details.get('came_as', 'an image')})"
    takes = "takes images" if probe.seeing else "takes texts"
    if probe.asked is None:
        return takes
    enforced = getattr(registry.plugin_of("chat", probe.spec), "sends_schema", False)
    return f"{takes}, {'keeps the schema' if enforced else 'replies in the form that is asked for'}"


def _doubts(probe: Probe, reply: Reply) -> Iterator[str]:
    if isinstance(reply, ParsedReply) and len(reply.calls) > 1:
        yield "only when it was asked a second time: many items will take two calls"
    if (
        isinstance(reply, ChatReply)
        and probe.seeing
        and "blue" in reply.text.lower()
        and "red" not in reply.text.lower()
    ):
        yield f"it calls a red circle {_short(reply.text)}, so it may not see images"


def _slow(probe: Probe, seconds: float, calls: Calls, to_go: Callable[[], Mapping[str, int]]) -> Iterator[str]:
    if seconds < SLOW:
        return
    count = to_go().get(probe.model, 0)
    at_once = min(calls.max_connections, max(1, count))
    yield (
        f"slow: the study's {count:,} calls take about {_duration(count * seconds / at_once)} if the server answers "
        f"{at_once} at once, {_duration(count * seconds)} if one after the other"
    )


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _fault(probe: Probe, reply: Reply) -> str:
    if isinstance(reply, ParsedReply) and reply.status == Status.UNPARSABLE:
        last = last_text(reply.completion)
        says = f"it says {_short(last)}" if last.strip() else reply.reason
        return f"{probe.model} does not reply in the form that the study can read: {says}; name another model"
    return f"{probe.model} ends as {reply.status}: {reply.reason}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…")


def _image() -> Image:
    """A red circle on gray."""
    image = PIL.Image.new("RGB", (SIDE, SIDE), "gray")
    ImageDraw.Draw(image).ellipse((SIDE // 4, SIDE // 4, 3 * SIDE // 4, 3 * SIDE // 4), fill="red")
    return Image.from_pixels(np.asarray(image))
