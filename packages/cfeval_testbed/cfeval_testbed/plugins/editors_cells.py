"""The editor of drawn cells: repaints the object by diffusion, or paints the patch of a shape into a corner.

It works on pixels alone. The painter knows images of four cells, so that a cell is shown to it four times.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.inference.batching import Batcher
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.records import POSITIONS, SHAPES, EditIntent
from cfeval_testbed.render import CELL, Pixels
from cfeval_testbed.weights import WorldPlugin, models_dir

_PATCH = re.compile(r"Paint the patch of an? (?P<shape>[a-z]+) into the (?P<corner>top left|bottom right) corner\.")


def patch_instruction(shape: str, corner: str) -> str:
    """What has the editor paint a patch."""
    return f"Paint the patch of {'an' if shape[0] in 'aeiou' else 'a'} {shape} into the {corner} corner."


class Plugin(WorldPlugin):
    """Without options."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights of the painter and of its eyes."""
        return tuple(str(models_dir() / f"{name}.safetensors") for name in ("editor", "locator"))

    def build(self) -> Editor:
        """The editor."""
        from cfeval_testbed.agents.painter import DiffusionPainter

        return Cells(DiffusionPainter())


class Cells:
    """Edits cells of 32 × 32 pixels."""

    needs_metadata = False

    def __init__(self, painter: Any) -> None:
        self.painter = painter
        self._requests = Batcher(self._edit_all)

    async def edit(self, request: EditRequest) -> EditReply:
        """Edit a cell; an instruction that does not fit it is `edit_invalid`."""
        if request.image.pixels.shape[:2] != (CELL, CELL):
            return _invalid(f"this editor paints cells of {CELL} × {CELL} pixels")
        patch = _PATCH.fullmatch(request.positive)
        if patch and not request.nothing:
            return _patched(request.image.pixels, patch["shape"], patch["corner"])
        return await self._requests.answer(request)

    def _edit_all(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        four = [np.tile(request.image.pixels, (2, 2, 1)) for request in requests]
        still = [image for image, request in zip(four, requests, strict=True) if request.nothing]
        same = iter(self.painter.unchanged(still) if still else ())
        intents = [next(same) if request.nothing else parse_instruction(request.positive) for request in requests]
        ready = [number for number, intent in enumerate(intents) if intent]
        painted = self.painter.edit(
            [four[n] for n in ready], [intents[n] for n in ready], [requests[n].seed for n in ready]
        )
        replies = [_invalid("the instruction is not in the test bed's language") for _ in requests]
        for number, painting in zip(ready, painted, strict=True):
            replies[number] = _cut_out(painting, intents[number])
        return replies


def _cut_out(painting: Any, intent: EditIntent | None) -> EditReply:
    """The cell that was painted, of the four."""
    if painting.failure or intent is None:
        return _invalid(painting.failure)
    row, column = (CELL * step for step in divmod(POSITIONS.index(intent.target.position or POSITIONS[0]), 2))
    cell = np.ascontiguousarray(painting.image[row : row + CELL, column : column + CELL])
    return EditReply(Image.from_pixels(cell))


def _patched(pixels: Pixels, shape: str, corner: str) -> EditReply:
    import torch

    from cfeval_testbed.models.cells import tagged

    if shape not in SHAPES:
        return _invalid(f"there is no patch of '{shape}'")
    turned = pixels if corner == "top left" else pixels[::-1, ::-1]
    cell = torch.from_numpy(turned.copy()).permute(2, 0, 1)[None].float() / 127.5 - 1
    made = ((tagged(cell, torch.tensor([SHAPES.index(shape)]))[0] + 1) * 127.5).round().byte().permute(1, 2, 0).numpy()
    return EditReply(Image.from_pixels(np.ascontiguousarray(made if corner == "top left" else made[::-1, ::-1])))


def _invalid(reason: str) -> EditReply:
    return EditReply(status=Status.EDIT_INVALID, reason=reason)
