"""Where people are in an image, and their background removed: MediaPipe's segmenter of selfies, without torch.

The network (Apache 2.0, 250 kB) comes with the package mediapipe, which is only looked into and not imported. It sees
one class: asked for any other word it must say that it does not know it, because a mask of a person would pass for one
of a hat. It is good at people, and finds one in images of other things as well.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.images import Image, Mask, Pixels
from cfeval.core.records import Status
from cfeval.edct.interfaces import Editor, EditReply, EditRequest, Found, Seen, Segmenter, VerifyRequest
from cfeval.edct.plugins.segmenters import look, wanted

WORDS = {
    *("person", "persons", "people", "human", "humans", "man", "men", "woman", "women"),
    *("boy", "boys", "girl", "girls", "child", "children"),
}
SIDE = 256
"""Height and width at which the network sees images, pixels."""
_AFTER_THE_NOUN = re.compile(r"\b(?:of|with|in|on|at|by|near|behind|beside|wearing|holding|who|that)\b|,")


def is_person(concept: str) -> bool:
    """Whether a noun phrase names people: its noun does, as in "the old man with a hat", and not in "the man's hat"."""
    words = re.findall(r"[\w']+", _AFTER_THE_NOUN.split(concept.lower())[0])
    return bool(words) and words[-1] in WORDS


class _Options(plugin.Plugin):
    threshold: float = Field(0.5, gt=0, lt=1)
    """Probability from which on a pixel belongs to a person."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights."""
        return (str(weights()),)


class Segment(_Options):
    """What counts as a person."""

    def build(self) -> Segmenter:
        """The segmenter."""
        return Persons(self.threshold)


class Backdrop(_Options):
    """What counts as a person, and not as background."""

    def build(self) -> Editor:
        """The editor."""
        return WithoutBackground(Persons(self.threshold))


def weights() -> Path:
    """The network's file.

    Raises:
        PluginError: mediapipe is not installed.
    """
    found = find_spec("mediapipe")
    if found is None or not found.submodule_search_locations:
        raise PluginError("persons and backdrop need mediapipe's weights: pip install --no-deps mediapipe==0.10.21")
    return Path(found.submodule_search_locations[0], "modules/selfie_segmentation/selfie_segmentation.tflite")


class Persons:
    """Finds people. A segmenter's method is not `async`: it answers at once."""

    def __init__(self, threshold: float) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.threshold = threshold
        self._network = Interpreter(str(weights()), num_threads=1)
        self._network.allocate_tensors()

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """Find the person that an instruction names; another word is unknown, which is no mask."""
        del changed
        if request.concept.strip() and not is_person(request.concept):
            return Found(reason=f"only people are known here, not {request.concept!r}")
        return look(request, lambda pixels, _: self._see(pixels), both=False)

    def probabilities(self, pixels: Pixels) -> np.ndarray:
        """That each pixel of the image at SIDE × SIDE belongs to a person."""
        small = Image.from_pixels(pixels).resized(SIDE, SIDE).pixels
        self._network.set_tensor(self._network.get_input_details()[0]["index"], small[None].astype(np.float32) / 255)
        self._network.invoke()
        return np.asarray(self._network.get_tensor(self._network.get_output_details()[0]["index"])[0, ..., 0])

    def _see(self, pixels: Pixels) -> Seen:
        shares = self.probabilities(pixels)
        mask = shares >= self.threshold
        return Seen(mask if mask.any() else None, float(shares.max()))


class WithoutBackground:
    """Paints the background in its mean color. An editor's method is `async`."""

    needs_metadata = False

    def __init__(self, persons: Persons) -> None:
        self.persons = persons

    async def edit(self, request: EditRequest) -> EditReply:
        """Remove the background; a failed edit is a reply with its status and reason, never an exception."""
        if request.nothing:
            return EditReply(request.image)
        if wanted(request.positive, request.concept).action == "add" or "background" not in request.concept.lower():
            return EditReply(status=Status.EDIT_INVALID, reason="this editor can only take the background away")
        pixels = request.image.pixels
        height, width = pixels.shape[:2]
        shares = self.persons.probabilities(pixels)
        gray = Image.from_pixels(np.repeat((shares * 255).astype(np.uint8)[..., None], 3, 2))
        behind = gray.resized(width, height).pixels[..., 0] < self.persons.threshold * 255
        if behind.all() or not behind.any():
            return EditReply(status=Status.EDIT_INVALID, reason="there is no person, or no background")
        painted = np.where(behind[..., None], pixels[behind].mean(0), pixels).astype(np.uint8)
        return EditReply(Image.from_pixels(painted), {"background_share": f"{behind.mean():.4f}"})
