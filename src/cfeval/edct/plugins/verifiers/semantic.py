"""A verifier that is any chat model with eyes: is the edit to be seen, and nothing else changed? Under any protocol.

It is shown both images in one picture, side by side or one above the other, whichever is nearer to a square: every
model takes one picture, not every model takes two. A model that shrinks large pictures sees each image at about half
its resolution.
"""

import numpy as np
from pydantic import BaseModel, ConfigDict

from cfeval.core import registry
from cfeval.core.images import Picture
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import BIT, TEXT, Bit, object_schema
from cfeval.inference.prompts import ParsedReply, Prompt, PromptTemplate, generate_parsed
from cfeval.inference.verdicts import clear_verdict

FOLDER = "verification"
"""Of the prompts."""
PLACEHOLDERS = ("first", "second", "instruction")
_BAND = 0.02
"""Width of the band between the images, as a share of the longer side."""
_GRAY = 128
SCHEMA = object_schema(analysis=TEXT, made=BIT, kept=BIT)
"""A reply; the analysis comes first, so that the scores follow from it."""


class Sight(BaseModel):
    """Whether the edit is there as told, and whether nothing else changed."""

    model_config = ConfigDict(frozen=True)

    made: Bit
    kept: Bit


def read_sight(text: str) -> Sight | None:
    """The verdict of a reply, or None where it leaves doubt: JSON, or two lines `MADE:`, `KEPT:`."""
    return clear_verdict(text, Sight, "01")


FORM = PromptTemplate(FOLDER, "verify", PLACEHOLDERS, SCHEMA, read_sight, seen=True)


class Plugin(prompts.ChatPlugin):
    """Which model, and how it is asked. Templates in an own folder: verify.md, verify_repair.md."""

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Sight]]:
        """What is asked; it is the same under every protocol."""
        del protocol
        return (FORM,)

    def build(self) -> Verifier:
        """The verifier."""
        return Semantic(registry.build("chat", self.model), self.prompt(FORM))


class Semantic:
    """Asks a chat model about every edit; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, asked: Prompt[Sight]) -> None:
        self.model, self.asked = model, asked

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Have an edit looked at; where the model says nothing that can be read, there is no telling."""
        negative = f"\nThis must not remain: {request.negative}" if request.negative else ""
        picture, first, second = beside(request.original, request.edited)
        values = {"first": first, "second": second, "instruction": request.positive + negative}
        return _reply(await generate_parsed(self.model, self.asked, request.item, values, request.seed, picture))


def beside(original: Picture, edited: Picture) -> tuple[Picture, str, str]:
    """Both images in one picture, the edited one at the original's size, and where each of them is."""
    height, width = original.pixels.shape[:2]
    pair = original.pixels, edited.resized(width, height).pixels
    axis = 0 if width > height else 1
    band = np.full((*_band(height, width, axis), 3), _GRAY, dtype=np.uint8)
    names = ("upper", "lower") if axis == 0 else ("left", "right")
    return Picture.from_pixels(np.concatenate([pair[0], band, pair[1]], axis=axis)), *names


def _band(height: int, width: int, axis: int) -> tuple[int, int]:
    thick = max(2, round(_BAND * max(height, width)))
    return (thick, width) if axis == 0 else (height, thick)


def _reply(heard: ParsedReply[Sight]) -> VerifyReply:
    said = heard.value
    if said is None:
        return VerifyReply(None, f"{heard.status}: {heard.reason}", completion=heard.completion, calls=heard.calls)
    faults = [] if said.made else ["the model does not see the edit that was asked for"]
    faults += [] if said.kept else ["the model sees changes that were not asked for"]
    numbers = {"made": float(said.made), "kept": float(said.kept)}
    return VerifyReply(not faults, "; ".join(faults), numbers, completion=heard.completion, calls=heard.calls)
