"""The built-in judge: applies the protocol's rules to the language of the test bed, without a model."""

from cfeval.core import plugin
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS
from cfeval_testbed.language.explanations import parse_explanation
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.language.verdicts import control_verdict, unread, verdict


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Judge:
        """The grammar-based judge."""
        return Grammar()


class Grammar:
    """Judges by what the texts mean.

    edct-2025: PCS, the new answer is the one the edit makes right; NCC, the new explanation cites what the edit made.
    edct-bench-2026: see `cfeval_testbed.language.reasoning`; evidence that only the new explanation cites is taken on
    trust.
    Controls: whether the answer, and what the explanation cites, are others.
    """

    needs_image = False

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request; an instruction or first explanation that the grammar cannot read is `unparsable`."""
        if request.protocol in CONTROLS:
            return control_verdict(request)
        before = parse_explanation(request.explanation)
        if before is None:
            return unread("explanation")
        read = [parse_instruction(change.positive) for change in request.changes]
        intents = [intent for intent in read if intent is not None]
        if not intents or len(intents) < len(read):
            return unread("instruction")
        return verdict(request, before, intents)
