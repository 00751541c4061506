"""A deliberately naive judge: did the words change? It shows how far a verdict can depend on the judge alone."""

import re
from collections.abc import Sequence

from cfeval.backends.judges.base import Judge, JudgeReply, JudgeRequest
from cfeval.backends.registry import PluginOptions


class Options(PluginOptions):
    """There are none."""


def build(options: Options) -> Judge:
    """The lexical judge."""
    del options
    return Lexical()


class Lexical:
    """PCS: some word of the answer changed. NCC: some word of the explanation changed. The instruction is not read."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Compare the words before and after."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> JudgeReply:
        pcs = _words(request.answer) != _words(request.new_answer)
        ncc = _words(request.explanation) != _words(request.new_explanation)
        return JudgeReply(1 if pcs else 0, 1 if ncc else 0, 1 if pcs and ncc else 0)


def _words(text: str) -> list[str]:
    return sorted(re.findall(r"\w+", text.lower()))
