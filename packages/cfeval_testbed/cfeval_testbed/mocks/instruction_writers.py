"""A writer that says what it was told to: for tests."""

from typing import Literal

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval.edct.protocols.rules import EDCT_2025, UNCITED_EDIT

KINDS: tuple[Literal["background"], Literal["object"]] = ("background", "object")
"""What the edits of an uncited edit are said to change, by turns; the first an object."""


class Plugin(plugin.Plugin):
    """What to write; texts may name {explanation}. Every edit but the first has its number behind concept and texts."""

    concept: str = "the cited thing"
    positive: str = "Change what is meant by: {explanation}"
    negative: str = "the cited thing"
    statuses: dict[str, Status] = {}
    crash_on: tuple[str, ...] = ()

    def build(self) -> Writer:
        """The mock writer."""
        return Scripted(self)


class Scripted:
    """Instructions from templates; see `Plugin`."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def write(self, request: WriteRequest) -> WriteReply:
        """Fill in the templates."""
        if request.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in self.options.statuses:
            return WriteReply(status=self.options.statuses[request.item], reason="mock")
        several = request.edits
        if request.protocol in (EDCT_2025, UNCITED_EDIT):
            several = 1 if request.protocol == EDCT_2025 else len(KINDS)
        edits = tuple(self._edit(request, number) for number in range(1, several + 1))
        return WriteReply(edits, completion=edits[0].positive)

    def _edit(self, request: WriteRequest, number: int) -> Edit:
        end = "" if number == 1 else f" ({number})"
        positive = self.options.positive.replace("{explanation}", request.explanation)
        evidence = KINDS[number % 2] if request.protocol == UNCITED_EDIT else ""
        return Edit(self.options.concept + end, positive + end, self.options.negative + end, evidence)
