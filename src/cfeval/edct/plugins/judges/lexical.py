"""A deliberately naive judge: did the words change? It shows how far a verdict can depend on the judge alone."""

import re

from cfeval.core import plugin
from cfeval.core.records import Binary
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS, RULES


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Judge:
        """The lexical judge."""
        return Lexical()


class Lexical:
    """First score: some word of the answer changed. Second: some word of the explanation changed.

    So under every protocol: PCS and NCC, AC and EF, and for the controls what moved. The grade is 1, and two more for
    each of the two. No instruction is read.
    """

    needs_image = False

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Compare the words before and after."""
        rules = RULES[request.protocol]
        answer = _changed(request.answer, request.new_answer)
        explanation = _changed(request.explanation, request.new_explanation)
        return JudgeReply(
            scores=dict(zip(rules.scores, (answer, explanation), strict=True)),
            grade=1 + 2 * (answer + explanation) if rules.graded else None,
            stated_ccs=None if request.protocol in CONTROLS else 1 if answer and explanation else 0,
        )


def _changed(before: str, after: str) -> Binary:
    return 1 if _words(before) != _words(after) else 0


def _words(text: str) -> list[str]:
    return sorted(re.findall(r"\w+", text.lower()))
