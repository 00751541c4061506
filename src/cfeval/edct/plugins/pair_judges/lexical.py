"""A judge of pairs without a model: words that stand there, and answers that are equal or not.

It needs no key and errs where an explanation paraphrases, or names another thing of the same kind in the same words.
"""

from cfeval.core import plugin
from cfeval.edct.answers import names
from cfeval.edct.pairs.interfaces import AnswersRequest, NamingRequest, PairJudge, Ruling


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> PairJudge:
        """The judge."""
        return Lexical()


class Lexical:
    """Compares words (`cfeval.edct.answers.names`)."""

    async def names(self, request: NamingRequest) -> Ruling:
        """1 where half of the words stand there that describe the thing in either image."""
        found = (names(request.explanation, thing) for thing in (request.before, request.after) if thing)
        return Ruling(1 if any(found) else 0)

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Answers whose texts do not decide are in other words: 1."""
        del request
        return Ruling(1)
