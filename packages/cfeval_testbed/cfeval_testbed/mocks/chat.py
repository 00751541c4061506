"""A chat model that says what it was told to: for tests, and for trying a pipeline out before anything is paid for."""

import hashlib
from typing import ClassVar

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest


class Plugin(plugin.Plugin):
    """What to say. Templates may name {question}, {image} (six digits of the image's hash) and {turn}."""

    takes_tools: ClassVar[bool] = True
    """It may be given tools, of which it calls none."""

    replies: tuple[str, ...] = Field(("answer {image}", "because of {image}"), min_length=1)
    """The reply to the first user turn, the second, …; the last serves all later ones."""
    statuses: dict[str, Status] = {}
    """Items that fail, and how."""
    crash_on: tuple[str, ...] = ()
    """Items whose request breaks the whole job, as a crash would."""

    def build(self) -> ChatModel:
        """The mock model."""
        return Scripted(self)


class Scripted:
    """Replies from templates; see `Plugin`."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Fill in the template of the request's turn."""
        if request.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in self.options.statuses:
            return ChatReply(model="mock", status=self.options.statuses[request.item], reason="mock")
        asked = [turn for turn in request.turns if turn.role == "user"]
        template = self.options.replies[min(len(asked), len(self.options.replies)) - 1]
        image = hashlib.sha256(b"".join(t.image.png for t in asked if t.image)).hexdigest()[:6]
        filled = template.replace("{image}", image).replace("{turn}", str(len(asked)))
        return ChatReply(text=filled.replace("{question}", asked[0].text), model="mock")
