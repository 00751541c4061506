"""An editor that takes the edited images which users bring: made by hand, by a tool, or by an earlier study.

An image belongs to the instruction that it was made by: another instruction for the same item has no image. So it
serves the writer `given`, or instructions that an earlier run wrote and that the table repeats word by word. See
`cfeval.edct.plugins.given_edits` for the table.
"""

from collections.abc import Iterator, Mapping

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.datasets.pair import changed_outside
from cfeval.datasets.pairs.rows import image, mask
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.given_edits import EditTable, GivenEdit, has, one_line
from cfeval.inference.local.pretrained import finding


class Plugin(EditTable):
    """Where the edited images are."""

    def dependencies(self) -> tuple[str, ...]:
        """The table and its images."""
        if self.images:
            return super().dependencies()
        try:
            files = [str(file) for edit in self._edits().values() for file in edit.files()]
        except InputError:
            files = []  # `diagnose` and `build` say what is wrong
        return (*super().dependencies(), *dict.fromkeys(files))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the table can be read, and every image that it names is there."""
        yield finding(lambda: f"{self.path}: {len(self._there())} edited images")

    def build(self) -> Editor:
        """The editor; InputError where the table cannot be used or an image is missing."""
        return Given(self._there())

    def _edits(self) -> dict[tuple[str, str], GivenEdit]:
        return {(item, edit.instruction): edit for item, edits in self.found("image").items() for edit in edits}

    def _there(self) -> dict[tuple[str, str], GivenEdit]:
        edits = self._edits()
        for edit in edits.values():
            edit.files()
        return edits


class Given:
    """Gives the image of an item and instruction.

    `details` has its path in the table and, where there is a mask, `outside`: of the pixels that changed, the share
    outside the mask, in [0, 1].
    """

    needs_metadata = False

    def __init__(self, edits: Mapping[tuple[str, str], GivenEdit]) -> None:
        self.edits = edits

    async def edit(self, request: EditRequest) -> EditReply:
        """The image; `edit_invalid` where none is given. InputError where the file is no image."""
        edit = self.edits.get((request.item, one_line(request.positive)))
        if edit is None:
            return EditReply(status=Status.EDIT_INVALID, reason="no image is given for this item and instruction")
        made = image(edit.place, edit.row, "image")
        details = {"given": str(edit.row["image"])}
        if has(edit, "mask"):
            region = mask(edit.place, edit.row, "mask", request.image.pixels.shape[:2])
            outside = changed_outside(request.image, made, region)
            details |= {} if outside is None else {"outside": f"{outside:.4f}"}
        return EditReply(made, details)
