"""The perfect editor of the drawn world: changes one thing in the scene record and draws it again."""

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import Demand
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval_testbed import demands
from cfeval_testbed.language.instructions import parse_instruction, scene_after
from cfeval_testbed.render import render
from cfeval_testbed.scenes import SceneEditError, TargetAbsentError, scene_in


class Plugin(plugin.Plugin):
    """Without options."""

    def demand(self) -> Demand:
        """The record that it changes and draws again."""
        return demands.SCENE

    def build(self) -> Editor:
        """The editor."""
        return Redraw()


class Redraw:
    """Draws the edited record with the same light, noise and places; see `scene_after` of the test bed's language."""

    needs_metadata = True

    async def edit(self, request: EditRequest) -> EditReply:
        """Draw an edited scene; an edit of what is not in it is `citation_absent`, another that does not fit it
        `edit_invalid`.
        """
        return _edit(request)


def _edit(request: EditRequest) -> EditReply:
    scene = scene_in(request.metadata)
    if scene is None:
        return EditReply(
            status=Status.EDIT_INVALID, reason="the sample has no scene record; only drawn scenes have one"
        )
    try:
        edited = scene_after(scene, request.before if request.nothing else (*request.before, request.positive))
    except SceneEditError as error:
        absent = isinstance(error, TargetAbsentError)
        return EditReply(status=Status.CITATION_ABSENT if absent else Status.EDIT_INVALID, reason=str(error))
    intent = None if request.nothing else parse_instruction(request.positive)
    details = {"edit": intent.kind, "to": intent.new} if intent else {}
    return EditReply(Image.from_pixels(render(edited)), details)
