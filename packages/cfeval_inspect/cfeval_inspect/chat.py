"""A model of inspect-ai as a chat model of cfeval, and cfeval's steps beside inspect's event loop.

The steps hold an event loop of their own, so they run in a thread; what they ask goes back to inspect's loop, which
counts, caches, retries and logs it as any other call.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from anyio import from_thread, to_thread
from inspect_ai.model import ChatMessage as InspectMessage
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    StopReason,
    get_model,
)

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval.inference.remote.images import data_url

T = TypeVar("T")
ENDS: Mapping[StopReason, Status] = {
    "stop": Status.OK,
    "max_tokens": Status.TRUNCATED,
    "model_length": Status.TRUNCATED,
    "content_filter": Status.MODERATED,
}
"""How a reply ended; any other way is no reply."""


class Plugin(plugin.Plugin):
    """Which of inspect's models."""

    role: str = ""
    """The model role, such as `judge` (`--model-role judge=…`); empty: the model that is evaluated."""

    def build(self) -> ChatModel:
        """The model."""
        return InspectChat(get_model(role=self.role, required=True) if self.role else get_model())


class InspectChat:
    """Asks a model of inspect-ai; only for code that `beside` runs."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request; a call that fails for good is inspect's to end the sample with."""
        config = GenerateConfig(max_tokens=request.max_tokens)
        turns: list[InspectMessage] = [message(turn) for turn in request.turns]
        output = from_thread.run(partial(self.model.generate, turns, config=config))
        if output.empty:
            return ChatReply(model=output.model, status=Status.REJECTED, reason=output.error or "no choice came back")
        status = ENDS.get(output.stop_reason, Status.REJECTED)
        if status != Status.OK:
            return ChatReply(model=output.model, status=status, reason=output.error or f"ended by {output.stop_reason}")
        return ChatReply(output.completion, output.model)


def message(turn: ChatMessage) -> InspectMessage:
    """A turn as inspect-ai has it; the image, a PNG, comes before the text, as in cfeval's own calls."""
    if turn.role == "assistant":
        return ChatMessageAssistant(content=turn.text)
    if turn.image is None:
        return ChatMessageUser(content=turn.text)
    return ChatMessageUser(content=[ContentImage(image=data_url(turn.image)), ContentText(text=turn.text)])


async def beside(work: Callable[[], T]) -> T:
    """Run work that calls cfeval's steps in a thread, beside inspect's event loop."""
    return await to_thread.run_sync(work)


def require_judge(judge: str) -> None:
    """PrerequisiteError, before anything is asked, where the judge `chat` has no model."""
    if judge == "chat":
        get_model(role="judge", required=True)


def judge_spec(judge: str) -> dict[str, Any]:
    """A judge by its name: `chat` asks the model role `judge`, any other is a plugin of cfeval without options."""
    return {"plugin": "chat", "model": {"plugin": "inspect", "role": "judge"}} if judge == "chat" else {"plugin": judge}
