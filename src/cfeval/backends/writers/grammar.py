"""The built-in writer: reads explanations in the language of the built-in world by its grammar, without a model."""

import random
from collections.abc import Sequence

from cfeval.backends.registry import PluginOptions
from cfeval.backends.writers.base import Edit, Writer, WriteReply, WriteRequest
from cfeval.records.common import Status
from cfeval.world.grammar import choose_edit, describe, parse_explanation


class Options(PluginOptions):
    """There are none."""


def build(options: Options) -> Writer:
    """The grammar-based writer."""
    del options
    return Grammar()


class Grammar:
    """Explanation → the concept it cites → the edit that changes it."""

    def write(self, requests: Sequence[WriteRequest]) -> list[WriteReply]:
        """Write the instruction of every request; what the grammar cannot read is `unparsable`."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: WriteRequest) -> WriteReply:
        claim = parse_explanation(request.explanation)
        if claim is None:
            reason = "the explanation is not in the language of the built-in world"
            return WriteReply(raw=request.explanation, status=Status.UNPARSABLE, reason=reason)
        intent = choose_edit(request.question, request.answer, claim, random.Random(request.seed))
        if intent is None:
            reason = "the explanation cites nothing that an edit could change"
            return WriteReply(raw=request.explanation, status=Status.UNPARSABLE, reason=reason)
        concept, positive, negative = describe(intent)
        return WriteReply((Edit(concept, positive, negative),), raw=f"{positive}\n{negative}")
