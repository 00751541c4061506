"""What given pairs come to before they run: two conversations a pair and some once more, and what their judge is asked.

Of each pair the judge is asked whether either explanation names the changed thing, and whether either names that of
another pair (sham). A judge compares answers only where their texts do not decide; here it compares all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.edct.config import Edct
from cfeval.edct.estimate import STAGES, TYPICAL, Lengths, RequestSize, amount_of, longest, requests, taken
from cfeval.edct.pairs.condition import PairCondition
from cfeval.edct.protocols.pairs_2026 import PAIRS_2026
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT, RULES
from cfeval.inference.remote.cost import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line

NAMINGS = 4
"""How often a pair's judge is asked whether a thing is named."""
CHANGE = 20
"""Tokens that say what was changed."""


def pair_lines(study: Edct, pairs: Mapping[str, int], answer_prompt: str, explain_prompt: str) -> list[Line]:
    """What every model that calls a provider takes for given pairs, by stage.

    Args:
        study: the parameters.
        pairs: how many each set has.
        answer_prompt: the template of the first turn.
        explain_prompt: the template of the second turn.
    """
    prompts, conditions = (answer_prompt, explain_prompt), study.pair_conditions()
    found: dict[tuple[str, str, str, str, float], tuple[Amount, Amount]] = {}
    asked = [*_conversations(study, conditions, pairs), *_rulings(study, conditions, pairs)]
    for one in asked:
        key = one.stage, one.protocol, one.plugin, one.call.model, one.call.share
        typical, most = found.get(key, (Amount(), Amount()))
        found[key] = typical + one.amount(prompts, most=False), most + one.amount(prompts, most=True)
    return [Line(*key, *amounts) for key, amounts in found.items()]


@dataclass(frozen=True)
class _Asked:
    """A call that a plugin makes at a stage, and how often: typically, and at most."""

    stage: str
    protocol: str
    plugin: str
    call: CallEstimate
    lengths: Lengths
    """Of the texts, if every model speaks as long as it may."""
    times: tuple[int, int]
    comparison: bool = False
    """It compares two answers; else it says whether a thing is named."""

    def amount(self, prompts: tuple[str, str], most: bool) -> Amount:
        """What it uses over all pairs; a repair counts only at most."""
        if self.call.repair and not most:
            return Amount()
        letters = LETTERS_A_TOKEN_AT_LEAST if most else LETTERS_A_TOKEN
        sizes = self._sizes(self.lengths if most else TYPICAL, [-(-len(prompt) // letters) for prompt in prompts])
        own = -(-self.call.prompt // letters)
        return sum((amount_of(size, self.call, own, most) for size in sizes), Amount()).times(self.times[most])

    def _sizes(self, has: Lengths, prompts: Sequence[int]) -> list[RequestSize]:
        if not self.protocol:
            return requests(STAGES[0], has, prompts[0], prompts[1], RULES[EDCT_2025], 1)
        shown = 2 * (has.answer + has.explanation) if self.comparison else has.explanation + 2 * CHANGE
        return [RequestSize(shown, 0, has.verdict)]


def _conversations(study: Edct, conditions: Sequence[PairCondition], pairs: Mapping[str, int]) -> Iterator[_Asked]:
    """Of each target and set: both images of every pair, and the one that comes first once more of one in `again`."""
    for pair_set, vlm in dict.fromkeys((one.pair_set, one.vlm) for one in conditions):
        likely, most = (2 * pairs[pair_set] + more for more in taken(pairs[pair_set], study.again))
        calls = _calls(study, "vlms", vlm)
        for call in calls:
            yield _Asked("pair_baselines", "", vlm, call, _longest(calls), (likely, most))


def _rulings(study: Edct, conditions: Sequence[PairCondition], pairs: Mapping[str, int]) -> Iterator[_Asked]:
    """Of each condition: what is named, and whether the answer moved, also where nothing was changed."""
    for one in conditions:
        number = pairs[one.pair_set]
        again = taken(number, study.again)
        said = _longest(_calls(study, "vlms", one.vlm), _calls(study, "pair_judges", one.pair_judge))
        for comparison, times in ((False, (NAMINGS * number,) * 2), (True, (number + again[0], number + again[1]))):
            for call in _calls(study, "pair_judges", one.pair_judge, NULL_EDIT if comparison else PAIRS_2026):
                yield _Asked("pair_verdicts", PAIRS_2026, one.pair_judge, call, said, times, comparison)


def _calls(study: Edct, section: str, name: str, protocol: str = PAIRS_2026) -> tuple[CallEstimate, ...]:
    family = {"vlms": "chat"}.get(section, section)
    return registry.estimate_calls(family, getattr(study, section)[name].plugin_options(), [protocol])


def _longest(said: Sequence[CallEstimate], judged: Sequence[CallEstimate] = ()) -> Lengths:
    limits = {"vlm": said, "judge": judged}
    return longest({field: max((call.max_tokens for call in calls), default=0) for field, calls in limits.items()})
