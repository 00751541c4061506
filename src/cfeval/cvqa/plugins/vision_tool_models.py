"""What vision operations that rest on models share: the part of an image that is looked at, and chat models asked."""

from collections.abc import Iterator
from math import ceil, floor
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.plugin import Plugin
from cfeval.core.records import Status
from cfeval.core.registry import Component, Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.extraction.set_apart import set_apart_answer
from cfeval.cvqa.programs.limits import name_calls
from cfeval.cvqa.programs.turns import waiting
from cfeval.cvqa.programs.vision import Box, View, VisionError
from cfeval.inference.batching import answered
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from cfeval.inference.prompts import fill, load_prompt, prompt_file

_FOLDER = "vision"
# The prompts: a question about a part of an image; a text for a language model, answered at length or shortly.
TEMPLATES = ("ask", "tell", "tell_short")


class TellingPlugin(Plugin):
    """A vision whose operation `tell` a language model does, where one is named: which, and with which prompts."""

    llm: dict[str, Any] | None = None
    """The chat model that `tell` puts its text to: its plugin and options."""
    prompts: str = ""
    """Folder with own templates, ask.md, tell.md and tell_short.md, which name {question}; empty: the package's."""

    def chats(self) -> dict[str, dict[str, Any]]:
        """The specifications of the chat models, by the option that names them."""
        return {"llm": self.llm} if self.llm is not None else {}

    def components(self) -> tuple[Component, ...]:
        """The chat models."""
        return tuple(("chat", spec) for spec in self.chats().values())

    def texts_only(self) -> tuple[Component, ...]:
        """The language model of `tell`, unless the same is asked about parts of the image, too."""
        seeing = [spec for option, spec in self.chats().items() if option != "llm"]
        return () if self.llm is None or self.llm in seeing else (("chat", self.llm),)

    def dependencies(self) -> tuple[str, ...]:
        """The templates, where something is asked."""
        names = TEMPLATES if self.chats() else ()
        return tuple(str(prompt_file(name, protocol=_FOLDER, study="cvqa", folder=self._own)) for name in names)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Templates that cannot be filled."""
        for name in TEMPLATES if self.chats() else ():
            try:
                fill(self.template(name), question="")
            except InputError as error:
                yield Diagnostic(False, f"{name}.md: {error}")

    def template(self, name: str) -> str:
        """The template of that name."""
        return load_prompt(name, protocol=_FOLDER, study="cvqa", folder=self._own)

    @property
    def _own(self) -> Path | None:
        return Path(self.prompts) if self.prompts else None


class Talk:
    """The chat models of a vision, where they are named; `plugin` is what errors call the vision."""

    def __init__(self, options: TellingPlugin, plugin: str) -> None:
        self._plugin = plugin
        self._models: dict[str, ChatModel] = {
            name: registry.build("chat", spec) for name, spec in options.chats().items()
        }
        self._templates = {name: options.template(name) for name in TEMPLATES} if self._models else {}

    def ask(self, view: View, question: str) -> str:
        """What the model says to a question about the part."""
        seed = derive_seed(view.seed, "ask", *map(str, view.box), question)
        return self._say("vqa", "ask", ChatMessage("user", question, part(view)), view.item, seed)

    def tell(self, question: str, long: bool) -> str:
        """What the model says to a text. The seed hangs on the text alone: the same text has the same reply."""
        name = "tell" if long else "tell_short"
        return self._say("llm", name, ChatMessage("user", question), "tell", derive_seed(0, name, question))

    def _say(self, option: str, template: str, turn: ChatMessage, item: str, seed: int) -> str:
        if option not in self._models:
            what = "no answers to questions" if option == "vqa" else "no language model"
            raise VisionError(f"vision '{self._plugin}' offers {what}; set its option '{option}' to a chat plugin")
        worded = ChatMessage("user", fill(self._templates[template], question=turn.text), turn.image)
        with waiting():
            reply = answered(self._models[option].generate, ChatRequest(item, (worded,), seed))
        name_calls(reply.calls)
        if reply.status != Status.OK:
            raise VisionError(f"the model behind '{option}' did not answer: {reply.reason}", reply.status)
        return (reply.text if template == "tell" else set_apart_answer(reply.text)).strip()


def whole(view: View) -> tuple[int, int, int, int]:
    """The part in whole pixels, all that it touches: left, top, right and bottom, cut at the image's borders.

    Raises:
        VisionError: no pixel of the image is in it.
    """
    height, width = view.image.pixels.shape[:2]
    left, top, right, bottom = view.box
    edges = max(0, floor(left)), max(0, floor(top)), min(width, ceil(right)), min(height, ceil(bottom))
    if edges[0] >= edges[2] or edges[1] >= edges[3]:
        raise VisionError(f"the part {tuple(map(round, view.box))} holds no pixel of a {width} × {height} image")
    return edges


def part(view: View) -> Image:
    """The pixels of the part, as an image of its own; the image itself, as it is, where that is all of it."""
    left, top, right, bottom = whole(view)
    height, width = view.image.pixels.shape[:2]
    if (left, top, right, bottom) == (0, 0, width, height):
        return view.image
    return Image.from_pixels(view.image.pixels[top:bottom, left:right])


def center_in(inner: Box, outer: Box) -> bool:
    """Whether the middle of a box lies in another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x < outer[2] and outer[1] <= y < outer[3]
