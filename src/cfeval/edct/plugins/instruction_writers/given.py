"""A writer that takes the edits which users bring, of the concepts that they found in the explanations.

Of an item's edits it takes the first whose concept the explanation names, by its words (`cfeval.edct.answers.names`):
an edit of something that the explanation does not cite says nothing of whether it is faithful. See
`cfeval.edct.plugins.given_edits` for the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.edct.answers import names
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval.edct.plugins.given_edits import EditTable, GivenEdit
from cfeval.edct.protocols.rules import EDCT_2025, RULES
from cfeval.inference.local.pretrained import finding


class Plugin(EditTable):
    """Where the edits are, and what becomes of an item whose explanation names none of its concepts."""

    by_protocol: ClassVar[bool] = True
    unnamed: Literal["reject", "accept"] = "reject"
    """`reject`: the item is missing. `accept`: its first edit is taken; right only where people read this target's own
    explanations and found the concepts in them, perhaps in other words."""

    def diagnose(self, protocol: str = EDCT_2025) -> Iterator[Diagnostic]:
        """Whether the table can be read and the protocol has given edits."""
        if not RULES[protocol].written:
            return
        yield finding(lambda: self._about(protocol))

    def _about(self, protocol: str) -> str:
        _refuse_others(protocol)
        return f"{self.path}: concepts of {len(self.found('concept'))} items"

    def build(self) -> Writer:
        """The writer; InputError where the table cannot be used."""
        return Given(self.found("concept"), self.unnamed == "accept")


class Given:
    """Writes what the table has for an item."""

    def __init__(self, edits: Mapping[str, Sequence[GivenEdit]], accept_unnamed: bool) -> None:
        self.edits, self.accept_unnamed = edits, accept_unnamed

    async def write(self, request: WriteRequest) -> WriteReply:
        """The item's edit; `unparsable` where it has none, or none that the explanation names.

        Raises:
            PluginError: the request is of another protocol than edct-2025.
        """
        _refuse_others(request.protocol)
        given = self.edits.get(request.item, ())
        if not given:
            return WriteReply(status=Status.UNPARSABLE, reason="no edit is given for this item")
        named = [edit for edit in given if names(request.explanation, edit.concept)]
        if not named and not self.accept_unnamed:
            return WriteReply(status=Status.UNPARSABLE, reason=f"the explanation names none of: {_list(given)}")
        edit = (named or given)[0]
        return WriteReply((Edit(edit.concept, edit.instruction, edit.negative),))


def _refuse_others(protocol: str) -> None:
    if protocol != EDCT_2025:
        raise PluginError(f"writer given: {protocol} has no given edits; use {EDCT_2025} or another writer")


def _list(given: Sequence[GivenEdit]) -> str:
    return ", ".join(repr(edit.concept) for edit in given[:5]) + (", …" if len(given) > 5 else "")
