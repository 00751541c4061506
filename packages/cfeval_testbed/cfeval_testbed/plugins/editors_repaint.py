"""Repaints the flat shape of an easy-VQA image, or its ground, from its pixels alone."""

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval_testbed.agents.repaint import RepaintError, repaint
from cfeval_testbed.language.instructions import parse_instruction


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Editor:
        """The editor."""
        return Repaint()


class Repaint:
    """Changes the color or the form of the one shape, or the tint of the ground."""

    needs_metadata = False

    async def edit(self, request: EditRequest) -> EditReply:
        """Repaint an image; an instruction that does not fit it is `edit_invalid`."""
        return _edit(request)


def _edit(request: EditRequest) -> EditReply:
    if request.nothing:
        return EditReply(request.image)
    intent = parse_instruction(request.positive)
    if intent is None:
        return EditReply(status=Status.EDIT_INVALID, reason="the instruction is not in the test bed's language")
    try:
        pixels = repaint(request.image.pixels, intent)
    except RepaintError as error:
        return EditReply(status=Status.EDIT_INVALID, reason=str(error))
    return EditReply(Image.from_pixels(pixels), {"edit": intent.kind, "to": intent.new})
