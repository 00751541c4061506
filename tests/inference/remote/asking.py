"""One item of every kind of call, asked through the plugin that makes such calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.datasets.sample import Sample
from cfeval.edct.interfaces import Editor
from cfeval.edct.protocols.rules import EDCT_2025
from cfeval.edct.records import Instruction
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from tests.answers import answers
from tests.images import image
from tests.inference.remote.keys import KEY_ENV
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback

PHOTO = image(40, (30, 45))
"""The image of every question and edit."""


@dataclass(frozen=True)
class Outcome:
    """How an item ended: `value` is its text, or the hash of its image; `stopped` is the line that ended the run."""

    status: Status = Status.OK
    reason: str = ""
    value: str = ""
    stopped: str = ""


def chat_model(server: Loopback, **options: Any) -> Any:
    """The chat plugin, with a key, as at OpenRouter."""
    said = {"model": "vlm", "base_url": server.openrouter, "key_env": KEY_ENV, "seed": True, **options}
    return registry.build("chat", {"plugin": "openai", **said})


def request(text: str = "What is this?", seed: int = 1, item: str = "i1", photo: Image | None = PHOTO) -> ChatRequest:
    """A question about the image."""
    return ChatRequest(item, (ChatMessage("user", text, photo),), seed)


def chat(server: Loopback, requests: Sequence[ChatRequest] = (), **options: Any) -> list[ChatReply]:
    """Ask the chat plugin."""
    replies: list[ChatReply] = answers(chat_model(server, **options).generate, requests or [request()])
    return replies


def editor(server: Loopback, kind: Kind, **options: Any) -> Editor:
    """The editor that makes calls of a kind."""
    bfl = {"plugin": "bfl", "base_url": server.bfl, "poll": 0.01}
    specs = {
        Kind.IMAGE: {"plugin": "openrouter_image", "base_url": server.openrouter},
        Kind.EDIT: {"plugin": "openai_image", "base_url": server.openai},
    }
    made: Editor = registry.build("editors", {**specs.get(kind, bfl), "key_env": KEY_ENV, **options})
    return made


def _asked(server: Loopback) -> Outcome:
    (reply,) = chat(server)
    return Outcome(reply.status, reply.reason, reply.text)


def edited(server: Loopback, kind: Kind, **options: Any) -> Outcome:
    """An edit as the study makes it, so that an unchanged image counts as none."""
    sample = Sample(id="i1", image=PHOTO.ref("i1.png"), question="What is this?")
    written = [Instruction(id="i1", concept="colour", positive="Make it blue.", negative="red")]
    made = counterfactuals(written, {"i1": sample}, lambda _: PHOTO, editor(server, kind, **options), EDCT_2025, 1)
    ((record, images),) = made
    return Outcome(record.status, record.reason, "".join(image.sha256 for image in images.values()))


def ask(server: Loopback, kind: Kind) -> Outcome:
    """Ask one item by a call of a kind; a run that stops is an outcome, any other exception is a defect."""
    try:
        return _asked(server) if kind == Kind.CHAT else edited(server, kind)
    except CfevalError as error:
        return Outcome(stopped=str(error))


Ask = Callable[[Loopback, Kind], Outcome]
