"""The test bed's locator, a network that finds what a phrase points at; it sees pixels, not the scene record.

An edit of the background belongs wherever it sees no object. What is added is looked for in the edited image.
"""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from cfeval.core.images import Mask, Pixels
from cfeval.edct.interfaces import Found, Seen, Segmenter, VerifyRequest
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.records import EditIntent, Referent
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from cfeval_testbed.models.locator import Locator

SIDE = 64
"""Width and height of the images it looks at."""


class Plugin(WorldPlugin):
    """What counts as found."""

    threshold: float = Field(0.5, gt=0, lt=1)
    """Probability from which on a pixel belongs to an object."""
    absent: float = Field(0.9, gt=0, le=1)
    """Probability of `not found` from which on the object is taken not to be in the image."""
    both: bool = False
    """Whether the object is looked for in the edited image as well, where it only changed."""

    def dependencies(self) -> tuple[str, ...]:
        """The network's weights."""
        return (str(models_dir() / "locator.safetensors"),)

    def build(self) -> Segmenter:
        """The segmenter."""
        from cfeval_testbed.models.layers import Weights
        from cfeval_testbed.models.locator import Locator

        return Located(Locator(Weights.shipped("locator")), self)


class Located:
    """Asks the locator for the object that the instruction names."""

    def __init__(self, network: "Locator", options: Plugin) -> None:
        self.network, self.options = network, options

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """See `Segmenter.find`; what is not in the test bed's language or size has no mask."""
        del changed
        intent = parse_instruction(request.positive)
        if intent is None:
            return Found(reason="the instruction is not in the test bed's language")
        if request.original.pixels.shape[:2] != (SIDE, SIDE):
            return Found(reason=f"the locator looks at {SIDE} × {SIDE} pixels")
        original, edited = request.original.pixels, request.edited.pixels
        if intent.kind == "background":
            return Found(self._see(original, None).mask)
        if intent.kind == "add":
            mask = self._see(edited, _after(intent)).mask
            missing = "" if mask is not None else "what was to be added is not seen"
            return Found(edited=mask, reason=missing, refuted=True)
        seen = self._see(original, intent.target)
        if seen.mask is None:
            return Found(reason="the instruction's target is not seen in the original", absent=seen.absent or None)
        again = self.options.both and intent.kind != "remove"
        return Found(seen.mask, self._see(edited, _after(intent)).mask if again else None, absent=False)

    def _see(self, pixels: Pixels, target: Referent | None) -> Seen:
        """The pixels of an object, or without a target those of none, bool (64, 64), if it is seen."""
        from cfeval_testbed.models.layers import sigmoid, softmax, to_floats
        from cfeval_testbed.models.locator import NOT_FOUND, encode_phrases

        sight = self.network(to_floats([pixels]), encode_phrases([target or Referent()]))
        objects = sigmoid(sight.foreground[0]) >= self.options.threshold
        if target is None:
            return Seen(~objects, 1.0)
        chances = softmax(sight.choice[0])
        place, none = int(chances.argmax()), float(chances[NOT_FOUND])
        if place == NOT_FOUND:
            return Seen(None, 1 - none, none >= self.options.absent)
        quadrant = np.zeros_like(objects)
        row, column = SIDE // 2 * (place // 2), SIDE // 2 * (place % 2)
        quadrant[row : row + SIDE // 2, column : column + SIDE // 2] = True
        return Seen(objects & quadrant if (objects & quadrant).any() else None, 1 - none)


def _after(intent: EditIntent) -> Referent:
    """The object as it is after a right edit."""
    new = {"color": {"color": intent.new}, "shape": {"shape": intent.new}}.get(intent.kind)
    if new is None:
        color, _, shape = intent.new.partition(" ")
        new = {"color": color, "shape": shape}
    return Referent.model_validate(intent.target.model_dump() | new)
