"""The learned editor of the drawn world: locates what the instruction points at and repaints it by diffusion.

It works on pixels alone; the scene record is not given to it.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Demand
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.inference.batching import Batcher
from cfeval_testbed import demands
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.records import EditIntent
from cfeval_testbed.weights import WorldPlugin, models_dir

SIDE = 64
"""Width and height of the images it edits."""


class Plugin(WorldPlugin):
    """How it paints."""

    steps: int = Field(8, ge=1, le=1000)
    """Of denoising (DDIM)."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights of the painter and of its eyes."""
        return tuple(str(models_dir() / f"{name}.safetensors") for name in ("editor", "locator"))

    def demand(self) -> Demand:
        """Images of the size that the networks were trained on."""
        return demands.SMALL

    def build(self) -> Editor:
        """The editor."""
        from cfeval_testbed.agents.painter import DiffusionPainter

        return Diffusion(DiffusionPainter(self.steps))


class Diffusion:
    """Repaints by diffusion."""

    needs_metadata = False

    def __init__(self, painter: Any) -> None:
        self.painter = painter
        self._requests = Batcher(self._edit_all)

    async def edit(self, request: EditRequest) -> EditReply:
        """Paint an image; an instruction that does not fit it is `edit_invalid`."""
        return await self._requests.answer(request)

    def _edit_all(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        intents = [None if request.nothing else parse_instruction(request.positive) for request in requests]
        again = [number for number, request in enumerate(requests) if request.nothing and not _misfit(request)]
        if again:
            same = self.painter.unchanged([requests[number].image.pixels for number in again])
            for number, intent in zip(again, same, strict=True):
                intents[number] = intent
        faults = [_fault(*pair) for pair in zip(requests, intents, strict=True)]
        sound = [number for number, fault in enumerate(faults) if not fault]
        painted = self.painter.edit(
            [requests[n].image.pixels for n in sound], [intents[n] for n in sound], [requests[n].seed for n in sound]
        )
        made = {number: _reply(painting) for number, painting in zip(sound, painted, strict=True)}
        return [made.get(number) or _invalid(fault) for number, fault in enumerate(faults)]


def _fault(request: EditRequest, intent: EditIntent | None) -> str:
    if intent is None:
        return _misfit(request) or "the instruction is not in the test bed's language"
    return _misfit(request)


def _misfit(request: EditRequest) -> str:
    height, width = request.image.pixels.shape[:2]
    if (height, width) != (SIDE, SIDE):
        return f"the built-in editor paints {SIDE} × {SIDE} pixels, but the image has {width} × {height}"
    return ""


def _reply(painting: Any) -> EditReply:
    if painting.failure:
        return _invalid(painting.failure)
    return EditReply(Image.from_pixels(painting.image), {"painted_share": f"{float(painting.mask.mean()):.4f}"})


def _invalid(reason: str) -> EditReply:
    return EditReply(status=Status.EDIT_INVALID, reason=reason)
