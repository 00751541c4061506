"""A judge without a model: a text has changed where it shares too few words with the one before."""

import re

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.records import Binary
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import RULES


class Plugin(plugin.Plugin):
    """What counts as the same."""

    threshold: float = Field(0.5, gt=0, le=1)
    """Share of the words of both texts (Jaccard) from which on they say the same."""

    def build(self) -> Judge:
        """The judge."""
        return Overlap(self.threshold)


class Overlap:
    """First score: the answer changed. Second: the explanation changed."""

    needs_image = False

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request; where its protocol wants a grade, the reply says why there is none."""
        rules = RULES[request.protocol]
        answer = self._changed(request.answer, request.new_answer)
        explanation = self._changed(request.explanation, request.new_explanation)
        scores = dict(zip(rules.scores, (answer, explanation), strict=True))
        return JudgeReply(scores, grade_reason="word overlap gives no grade" if rules.graded else "")

    def _changed(self, before: str, after: str) -> Binary:
        one, other = (set(re.findall(r"\w+", text.lower())) for text in (before, after))
        return 0 if len(one & other) >= self.threshold * len(one | other) else 1
