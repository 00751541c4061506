"""A test instrument: another judge made to err at known rates, to check a correction for a judge's error against.

Of the two rates the usual ones: sensitivity is the chance that a 1 stays 1, specificity that a 0 stays 0 (Rogan and
Gladen 1978 correct a rate for them). Each score errs on its own, so a product is right where both are 1 with the square
of the sensitivity.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.records import Binary, Status
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS

NO_GRADE = "a judge of known error gives no grade"


class Plugin(plugin.Plugin):
    """Whose verdicts, and how often they are spoilt."""

    judge: dict[str, Any] = plugin.component("judges")
    """The judge: its plugin and options."""
    sensitivity: float = Field(0.9, ge=0, le=1)
    """Share of scores of 1 that are left."""
    specificity: float = Field(0.9, ge=0, le=1)
    """Share of scores of 0 that are left."""
    seed: int = 0
    """Of the errors; another one errs on other items."""

    def build(self) -> Judge:
        """The judge with errors."""
        return Noisy(self, registry.build("judges", self.judge))


class Noisy:
    """Flips scores by a hash of the request; statuses are passed on as they are, grades are not."""

    def __init__(self, options: Plugin, judge: Judge) -> None:
        self.options = options
        self.wrapped = judge
        self.needs_image = judge.needs_image

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request, and err."""
        return self._spoilt(request, await self.wrapped.judge(request))

    def _spoilt(self, request: JudgeRequest, reply: JudgeReply) -> JudgeReply:
        if reply.status != Status.OK:
            return reply
        scores = {name: self._flipped(request, name, bit) for name, bit in reply.scores.items()}
        reason = NO_GRADE if reply.grade is not None else reply.grade_reason
        stated = _product(request.protocol, scores)
        return replace(reply, scores=scores, stated_ccs=stated, grade=None, grade_reason=reason)

    def _flipped(self, request: JudgeRequest, name: str, bit: Binary) -> Binary:
        texts = (request.item, request.new_answer, request.new_explanation, *(one.positive for one in request.changes))
        draw = derive_seed(self.options.seed, request.seed, request.protocol, name, *texts) / 2**31
        kept = draw < (self.options.sensitivity if bit else self.options.specificity)
        return bit if kept else 0 if bit else 1


def _product(protocol: str, scores: Mapping[str, Binary]) -> Binary | None:
    if protocol in CONTROLS:
        return None
    return 1 if all(scores.values()) else 0
