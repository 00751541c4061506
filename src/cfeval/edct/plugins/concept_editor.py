"""Concept counterfactuals by edct's means: a writer names what sets two classes apart, an editor changes it.

The writer reads what it reads of an explanation in edct (protocol edct-2025): a question, an answer, and here where the
classifier looks. The editor changes one concept of the original at a time, so that each stands for itself. Without a
writer the editor is told to change nothing, and without an editor the image is encoded again: the floors that an edit
is measured against. V-CECE (2025) has concepts edited one by one in this way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import Edit, Editor, EditRequest, Writer, WriteRequest
from cfeval.edct.metrics import is_unedited
from cfeval.edct.protocols.rules import EDCT_2025

NOTHING = Edit("nothing", "Change nothing at all: return this image exactly as it is.", "")


class Plugin(plugin.Plugin):
    """Who names the concepts, and who edits them."""

    writer: dict[str, Any] | None = plugin.component("instruction_writers", None)
    """The writer of the instructions; none: nothing is changed."""
    editor: dict[str, Any] | None = plugin.component("editors", None)
    """The editor; none: the image is encoded again, as JPEG."""
    edits: int = Field(6, ge=1, le=20)
    """At most so many concepts of an image are edited."""

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One of the writer and, without it too, of the editor; with it, as many of the editor as it may list edits."""
        written = registry.estimate_calls("instruction_writers", self.writer, [EDCT_2025]) if self.writer else ()
        edited = registry.estimate_calls("editors", self.editor) if self.editor else ()
        return written + (self.edits if self.writer else 1) * edited

    def build(self) -> "Instructed":
        """The writer and the editor together; ParamsError where there is nobody to carry out what is written."""
        if self.writer and not self.editor:
            raise ParamsError("concept editor 'instructed': a writer without an editor; name an editor, or no writer")
        writer = registry.build("instruction_writers", self.writer) if self.writer else None
        editor = registry.build("editors", self.editor) if self.editor else None
        return Instructed(writer, editor, self.edits)


@dataclass(frozen=True)
class ConceptEdit:
    """See `cfeval.vce.interfaces.ConceptEdit`."""

    concept: str
    instruction: str = ""
    image: Image | None = None
    status: Status = Status.OK
    stage: str = "counterfactuals"
    reason: str = ""
    calls: tuple[str, ...] = ()


class Instructed:
    """Has concepts named and edited."""

    def __init__(self, writer: Writer | None, editor: Editor | None, edits: int) -> None:
        self.writer, self.editor, self.edits = writer, editor, edits

    @property
    def wants_explanation(self) -> bool:
        """Whether somebody reads the explanation."""
        return self.writer is not None

    async def edit(
        self, item: str, image: Image, classes: tuple[str, str], explanation: str, seed: int
    ) -> Sequence[ConceptEdit]:
        """See `cfeval.vce.interfaces.ConceptEditor`."""
        if self.editor is None:
            return [ConceptEdit(NOTHING.concept, "Encode the image again.", image.reencoded())]
        if self.writer is None:
            return [await self._edited(self.editor, item, image, NOTHING, 1, seed)]
        source, target = classes
        reply = await self.writer.write(
            WriteRequest(
                item=item,
                question=f"What does this image show: {source} or {target}?",
                answer=source,
                explanation=explanation,
                seed=derive_seed(seed, item, "instruction"),
                edits=self.edits,
                protocol=EDCT_2025,
            )
        )
        if reply.status != Status.OK or not reply.edits:
            status = Status.UNPARSABLE if reply.status == Status.OK else reply.status
            reason = reply.reason or "the writer named no concept"
            return [ConceptEdit("", status=status, stage="instructions", reason=reason, calls=reply.calls)]
        made = [
            await self._edited(self.editor, item, image, edit, number, seed)
            for number, edit in enumerate(reply.edits[: self.edits], start=1)
        ]
        return [replace(edit, calls=(*reply.calls, *edit.calls)) for edit in made]

    async def _edited(self, editor: Editor, item: str, image: Image, edit: Edit, number: int, seed: int) -> ConceptEdit:
        request = EditRequest(
            item=item,
            image=image,
            positive=edit.positive,
            negative=edit.negative,
            seed=derive_seed(seed, item, number, "edit"),
            concept=edit.concept,
            edit=number,
            nothing=edit is NOTHING,
        )
        reply = await editor.edit(request)
        made = ConceptEdit(" ".join(edit.concept.split()), " ".join(edit.positive.split()), calls=reply.calls)
        if reply.status != Status.OK:
            # What is missing in the image is no finding about a classifier, which cited nothing.
            absent = reply.status == Status.CITATION_ABSENT
            return replace(made, status=Status.EDIT_INVALID if absent else reply.status, reason=reply.reason)
        if reply.image is None:
            return replace(made, status=Status.NO_IMAGE, reason="the editor returned no image")
        height, width = image.pixels.shape[:2]
        edited = reply.image
        if edited.pixels.shape[:2] != (height, width):
            edited = edited.resized(width, height)
        if not request.nothing and is_unedited(image.pixels, edited.pixels):
            return replace(made, status=Status.EDIT_INVALID, reason="the image did not change")
        return replace(made, image=edited)
