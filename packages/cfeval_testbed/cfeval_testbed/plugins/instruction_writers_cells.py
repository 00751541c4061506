"""The writer for drawn cells: names what sets two classes of cells apart, the parts that the classifier looks at first.

That is the object's shape and color, and the patch in the corner that one of the built-in classifiers believes. The
same patch in the opposite corner is named too: nobody should follow it.
"""

import re

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval_testbed.language.instructions import describe
from cfeval_testbed.plugins.editors_cells import patch_instruction
from cfeval_testbed.records import POSITIONS, EditIntent, Referent
from cfeval_testbed.scenes import CELL_CLASSES, parts_of

_ASKED = re.compile(r"What does this image show: (?P<source>[a-z ]+) or (?P<target>[a-z ]+)\?")


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Writer:
        """The writer."""
        return Cells()


class Cells:
    """Knows the classes of cells by their names."""

    async def write(self, request: WriteRequest) -> WriteReply:
        """Write the edits of a request; what is not about two classes of cells is `unparsable`."""
        asked = _ASKED.fullmatch(request.question)
        classes = (asked["source"], asked["target"]) if asked else ()
        if not classes or not set(classes) <= set(CELL_CLASSES):
            return WriteReply(status=Status.UNPARSABLE, reason="the question is not about two classes of cells")
        named = [*_of_object(*classes), *_of_patch(parts_of(classes[1])[1])]
        order = sorted(named, key=lambda part: _rank(part[0], request.explanation))
        edits = tuple(edit for _, edit in order)[: request.edits]
        return WriteReply(edits, completion="\n".join(edit.positive for edit in edits), lists_all=True)


def _rank(region: str, explanation: str) -> int:
    place = explanation.find(f"{region} (")
    return place if place >= 0 else len(explanation)


def _of_object(source: str, target: str) -> list[tuple[str, Edit]]:
    """The edits of the object, each with the region that it is in."""
    (old_color, old_shape), (new_color, new_shape) = parts_of(source), parts_of(target)
    there = Referent(position=POSITIONS[0])
    intents = []
    if old_shape != new_shape:
        intents.append(("shape", EditIntent(kind="shape", target=there, old=old_shape, new=new_shape)))
    if old_color != new_color:
        intents.append(("color", EditIntent(kind="color", target=there, old=old_color, new=new_color)))
    if len(intents) == 2:
        intents.append(("shape and color", EditIntent(kind="object", target=there, old=source, new=target)))
    return [("middle", Edit(f"{what} of the object", *describe(intent)[1:])) for what, intent in intents]


def _of_patch(shape: str) -> list[tuple[str, Edit]]:
    return [
        (
            corner,
            Edit(f"patch in the {corner} corner", patch_instruction(shape, corner), "a plain corner", "background"),
        )
        for corner in ("top left", "bottom right")
    ]
