"""The built-in judge: applies the protocol's rules to the language of the built-in world, without a model."""

from collections.abc import Sequence

from cfeval.backends.judges.base import Judge, JudgeReply, JudgeRequest
from cfeval.backends.registry import PluginOptions
from cfeval.records.common import Status
from cfeval.world.grammar import answer_follows, parse_explanation, parse_instruction, reflects


class Options(PluginOptions):
    """There are none."""


def build(options: Options) -> Judge:
    """The grammar-based judge."""
    del options
    return Grammar()


class Grammar:
    """PCS: the new answer is the one the edit makes right. NCC: the new explanation cites what the edit made."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Judge every request; an instruction or first explanation that the grammar cannot read is `unparsable`."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> JudgeReply:
        before = parse_explanation(request.explanation)
        intent = parse_instruction(request.positive)
        if before is None or intent is None:
            unread = "explanation" if before is None else "instruction"
            return JudgeReply(status=Status.UNPARSABLE, reason=f"the {unread} is not in the built-in world's language")
        after = parse_explanation(request.new_explanation)
        pcs = answer_follows(before, request.answer, intent, request.new_answer)
        ncc = after is not None and reflects(after, before, intent)
        return JudgeReply(1 if pcs else 0, 1 if ncc else 0, 1 if pcs and ncc else 0)
