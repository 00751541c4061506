"""The perfect editor of the drawn world: changes one thing in the scene record and draws it again."""

from collections.abc import Sequence

from cfeval.backends.editors.base import Editor, EditReply, EditRequest
from cfeval.backends.registry import PluginOptions
from cfeval.io.pictures import Picture
from cfeval.records.common import Status
from cfeval.world.grammar import parse_instruction, referent_phrase
from cfeval.world.render import render
from cfeval.world.scenes import SceneEditError, apply, resolve


class Options(PluginOptions):
    """There are none."""


def build(options: Options) -> Editor:
    """The editor."""
    del options
    return Redraw()


class Redraw:
    """Draws the edited record with the same light, noise and places.

    The instruction's target decides what is edited, its new value how; that the old value may be another than it says
    does not matter, as it would not to an editor of pixels.
    """

    needs_scene = True

    def edit(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        """Draw every edited scene; an instruction that does not fit the scene is `edit_invalid`."""
        return [_edit(request) for request in requests]


def _edit(request: EditRequest) -> EditReply:
    intent = parse_instruction(request.positive)
    if request.scene is None:
        return EditReply(
            status=Status.EDIT_INVALID, reason="the sample has no scene record; only drawn scenes have one"
        )
    if intent is None:
        return EditReply(status=Status.EDIT_INVALID, reason="the instruction is not in the built-in world's language")
    fitting = len(resolve(request.scene, intent.target))
    if intent.kind != "background" and fitting != 1:
        reason = f"{fitting} objects in the scene fit '{referent_phrase(intent.target)}', and one is needed"
        return EditReply(status=Status.EDIT_INVALID, reason=reason)
    try:
        edited = apply(request.scene, intent.model_copy(update={"old": ""}))
    except SceneEditError as error:
        return EditReply(status=Status.EDIT_INVALID, reason=str(error))
    return EditReply(Picture.from_pixels(render(edited)), {"edit": intent.kind, "to": intent.new})
