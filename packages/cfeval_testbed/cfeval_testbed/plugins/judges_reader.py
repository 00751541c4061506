"""A blind judge of the drawn world: it looks at the edited image itself and is told no instruction.

What the first explanation cites is looked up in the image; what no longer holds there must have been edited. From
there on it judges as `grammar` does, but what the new explanation cites has to be seen to count as valid evidence
(edct-bench-2026). Where all that the first explanation cites still holds there is no edit to judge by: the verdict is
`edit_invalid`, since a failed edit says nothing about the model, and the text-only judges cannot notice it. An
explanation that was false from the start looks to it like an edit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.core.records import Status
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.inference.batching import Batcher
from cfeval_testbed.language.explanations import parse_explanation
from cfeval_testbed.language.instructions import View, inferred_edits
from cfeval_testbed.language.verdicts import control_verdict, unread, verdict
from cfeval_testbed.records import POSITIONS, Claim, Referent
from cfeval_testbed.weights import WorldPlugin, models_dir

if TYPE_CHECKING:
    from cfeval_testbed.agents.scene_reader import Reading, SceneReader

SIDE = 64
"""Width and height of the images that it can see."""


class Plugin(WorldPlugin):
    """Without options."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights of its eyes."""
        return (str(Path(models_dir()) / "reader-b.safetensors"),)

    def build(self) -> Judge:
        """The blind judge."""
        from cfeval_testbed.agents.scene_reader import SceneReader

        return Reader(SceneReader())


class Reader:
    """Judges by what reader B sees, a network that no editor and no target was trained with."""

    needs_image = True

    def __init__(self, observer: "SceneReader") -> None:
        self.observer = observer
        self._requests = Batcher(self._judge_all)

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request; an image that is not of the drawn world is `unparsable`."""
        return await self._requests.answer(request)

    def _judge_all(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        asked = [n for n, request in enumerate(requests) if request.protocol not in CONTROLS and _visible(request)]
        images = [request.image for n in asked if (request := requests[n]).image is not None]
        views = dict(zip(asked, map(_view, self.observer.read([one.pixels for one in images])), strict=True))
        return [_reply(request, views.get(number)) for number, request in enumerate(requests)]


def _visible(request: JudgeRequest) -> bool:
    return request.image is not None and request.image.pixels.shape == (SIDE, SIDE, 3)


def _reply(request: JudgeRequest, view: View | None) -> JudgeReply:
    if request.protocol in CONTROLS:
        return control_verdict(request)
    before = parse_explanation(request.explanation)
    if before is None:
        return unread("explanation")
    if view is None or not _places_its_objects(before):
        return JudgeReply(status=Status.UNPARSABLE, reason="there is no image of the drawn world to look at")
    intents = inferred_edits(before, view)
    if not intents:
        reason = "all that the first explanation cites is still in the image"
        return JudgeReply(status=Status.EDIT_INVALID, reason=reason)
    return verdict(request, before, intents, view.shows)


def _places_its_objects(claim: Claim) -> bool:
    """Explanations of easy-VQA images, which this judge cannot read, say no more than `in the picture`."""
    placed = ("position", "background")
    return claim.kind == "objects" or all(fact.referent.position or fact.attribute in placed for fact in claim.facts)


def _view(reading: "Reading") -> View:
    """What was read, as objects."""
    there = ((place, slot) for place, slot in zip(POSITIONS, reading.slots, strict=True) if slot is not None)
    things = [
        {"size": size, "color": color, "shape": shape, "position": place} for place, (size, color, shape) in there
    ]
    return View(tuple(Referent.model_validate(thing) for thing in things), reading.background)
