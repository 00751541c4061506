"""A judge whose verdicts follow from a hash of what it reads: for tests."""

import hashlib

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import RULES


class Plugin(plugin.Plugin):
    """How to judge."""

    threshold: float = Field(0.5, ge=0, le=1)
    """Share of each score that comes out as 1."""
    stated_ccs: int | None = Field(None, ge=0, le=1)
    """The product the judge states, right or wrong; none: it states none."""
    statuses: dict[str, Status] = {}
    crash_on: tuple[str, ...] = ()

    def build(self) -> Judge:
        """The mock judge."""
        return Scripted(self)


class Scripted:
    """Draws scores and grades by hash; see `Plugin`."""

    needs_image = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Draw a verdict."""
        if request.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in self.options.statuses:
            return JudgeReply(status=self.options.statuses[request.item], reason="mock")
        digest = hashlib.sha256(f"{request.item}{request.new_answer}{request.new_explanation}".encode()).digest()
        rules = RULES[request.protocol]
        first, second = (byte < 256 * self.options.threshold for byte in digest[:2])
        stated = self.options.stated_ccs
        return JudgeReply(
            scores={rules.scores[0]: 1 if first else 0, rules.scores[1]: 1 if second else 0},
            grade=1 + digest[2] % 5 if rules.graded else None,
            stated_ccs=None if stated is None else 1 if stated else 0,
            completion="mock",
        )
