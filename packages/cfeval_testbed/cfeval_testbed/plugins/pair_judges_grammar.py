"""The built-in judge of pairs: reads what an explanation cites in the test bed's language, without a model."""

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.edct.pairs.records import AnswersRequest, NamingRequest, PairJudge, Ruling
from cfeval_testbed.language.evidence import compatible
from cfeval_testbed.language.explanations import description, parse_answer, parse_explanation, parse_referent
from cfeval_testbed.records import Claim

BACKGROUND = " background"
"""How the words end that name a background."""


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> PairJudge:
        """The judge."""
        return Grammar()


class Grammar:
    """Rules by what the texts mean; an explanation that it cannot read is `unparsable`."""

    async def names(self, request: NamingRequest) -> Ruling:
        """Whether the explanation cites the thing: an object that the words fit, or the background."""
        claim = parse_explanation(request.explanation)
        if claim is None:
            return Ruling(status=Status.UNPARSABLE, reason="the explanation is not in the test bed's language")
        return Ruling(1 if any(_cites(claim, thing) for thing in (request.before, request.after) if thing) else 0)

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Whether the canonical answers differ; answers in other words are other ones."""
        before, after = (parse_answer(text) or text for text in (request.answer, request.new_answer))
        return Ruling(1 if before != after else 0)


def _cites(claim: Claim, thing: str) -> bool:
    if thing.endswith(BACKGROUND):
        return any(fact.attribute == "background" for fact in claim.facts)
    wanted = parse_referent(thing)
    cited = (description(fact) for fact in claim.facts if fact.attribute != "background")
    return wanted is not None and any(compatible(one, wanted) for one in cited)
