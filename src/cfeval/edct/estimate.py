"""What the study comes to before it runs: which requests it makes of which plugin, however many conditions share each.

Lengths are in tokens. What no one can know beforehand, how long answers and explanations are, is assumed: once as it
typically is, and once as long as `max_tokens` lets the models speak.

Given pairs take two conversations each and some once more. Their judge is asked whether either explanation names the
changed thing, and whether either names that of another pair (sham). A judge compares answers only where their texts do
not decide; here it compares all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import ceil, sqrt

from cfeval.core import registry
from cfeval.core.registry import CallEstimate, Used
from cfeval.edct.asked import asks_again
from cfeval.edct.config import SECTIONS, Edct, used_by_edct
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT, PAIRS_2026, REPEATABLE, RULES, Rules, listed
from cfeval.edct.records import Condition
from cfeval.inference.remote.prices import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line

LONGEST_QUESTION = 100
# The longest text of a plugin that calls no provider (EDCT 2025, Appendix B).
UNKNOWN_LIMIT = 2048
# Whose calls are counted; verifier and reader are named by the dataset.
FIELDS = ("vlm", "writer", "editor", "verifier", "reader", "judge")
_SECTIONS = {**SECTIONS, "verifier": "verifiers", "reader": "readers"}
# Of conversations with a target that samples; one of some 5 of an item is asked again in about one item of 6.
AGAIN = 30
_UP_TO = ("dataset", "vlm", "writer", "protocol", "editor", "judge")


@dataclass(frozen=True)
class Lengths:
    """How many tokens the texts of one item have."""

    question: int
    answer: int
    explanation: int
    instruction: int
    verdict: int

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


# An explanation has five or six sentences, a judge reasons before its verdict.
TYPICAL = Lengths(question=20, answer=15, explanation=180, instruction=100, verdict=200)


@dataclass(frozen=True)
class RequestSize:
    """What a stage asks of a plugin: the tokens and images it shows, and the tokens of the reply."""

    shown: int
    images: int
    reply: int


@dataclass(frozen=True)
class Stage:
    """A stage of the study: a condition's field that names its plugin, and the fields that make its jobs differ."""

    name: str
    field: str
    fields: tuple[str, ...]
    every_edit: bool = False
    """It has requests for every edit of an item."""


STAGES = (
    Stage("baselines", "vlm", _UP_TO[:2]),
    Stage("instructions", "writer", _UP_TO[:4]),
    Stage("counterfactuals", "editor", _UP_TO[:5], every_edit=True),
    Stage("checks", "verifier", _UP_TO[:5], every_edit=True),
    Stage("readings", "reader", _UP_TO[:5], every_edit=True),
    Stage("readings of originals", "reader", _UP_TO[:1]),
    Stage("requeries", "vlm", _UP_TO[:5], every_edit=True),
    Stage("verdicts", "judge", _UP_TO, every_edit=True),
)


def lines(
    study: Edct, items: Mapping[str, int], answer_prompt: str, explain_prompt: str, edits: Mapping[str, int]
) -> tuple[list[Line], list[str]]:
    """What every plugin that calls a provider takes at every stage, and the places of those that do not say.

    Args:
        edits: how many an explanation has under each protocol, one where it is not named.
    """
    plugins = used_by_edct(study)
    calls_by_plugin = {
        (use.section, use.name, protocol): registry.estimate_calls(use.family, use.spec, [protocol])
        for use in plugins
        for protocol in use.protocols
        if protocol in RULES
    }
    by_key: dict[tuple[str, str, str, str, float], Line] = {}
    controlled = set(study.tables.conditions("controls"))
    for stage, condition in jobs(study.conditions()):
        calls_of = {f: calls_by_plugin.get((_SECTIONS[f], named(condition, f), condition.protocol), ()) for f in FIELDS}
        limits = {field: max((call.max_tokens for call in calls), default=0) for field, calls in calls_of.items()}
        protocol = condition.protocol if "protocol" in stage.fields else ""
        taken_in = next((many for name, many in study.one_item_in.items() if name == protocol), 1)
        own = [(condition.protocol, call, edits.get(condition.protocol, 1)) for call in calls_of[stage.field]]
        requests_made = [(*request, taken(items[condition.dataset], taken_in)) for request in own]
        for more in further_protocols(stage, condition, condition in controlled, condition.dataset in study.readers):
            others = calls_by_plugin.get(("judges", condition.judge, more), ())
            requests_made += [
                (more, call, 1, taken(items[condition.dataset], taken_in))
                for call in others
                if more == NULL_EDIT or not call.images_shown
            ]
        if stage.field == "verifier" and condition.protocol == EDCT_2025:
            for every in (study.sham_every, 2 * study.sham_every):
                requests_made += [(*request, taken(items[condition.dataset], every)) for request in own]
        if asks_again(study, condition.vlm) and again(stage, condition):
            likely, at_most = taken(items[condition.dataset], taken_in)
            requests_made += [(*request, (round(likely / AGAIN), at_most)) for request in own]
        if stage.field == "writer":
            requests_made = [(under, call, listed(under, study.edits), many) for under, call, _, many in requests_made]
        for under, call, number, (likely, at_most) in requests_made:
            key = stage.name, protocol, named(condition, stage.field), call.model, call.share
            asking = _Asking(stage, call, (answer_prompt, explain_prompt), under, number)
            typical, most = asking.amount(TYPICAL, most=False), asking.amount(longest(limits), most=True)
            before = by_key.get(key, Line(*key, Amount(), Amount()))
            by_key[key] = Line(*key, before.typical + typical.times(likely), before.most + most.times(at_most))
    return list(by_key.values()), [use.place for use in plugins if _silent(use)]


def further_protocols(stage: Stage, condition: Condition, controlled: bool, read: bool) -> tuple[str, ...]:
    """The protocols under which a judge is asked once more of an item: a comparison of answers under edct-2025, where
    the study has controls, and one of the reader's answers, where it has a reader; a sham edit, a swapped pair and a
    reworded answer for a null edit. Texts may spare all but the sham edit.

    A judge that looks at the image judges no sham edit.
    """
    if stage.field != "judge":
        return ()
    if condition.protocol == NULL_EDIT:
        return (EDCT_2025, NULL_EDIT, NULL_EDIT)
    return (NULL_EDIT,) * (1 + read) if controlled and condition.protocol == EDCT_2025 else ()


def again(stage: Stage, condition: Condition) -> bool:
    """Whether a target that samples is asked again at a stage, and a judge compares what it says then."""
    changes = RULES[condition.protocol].edits in REPEATABLE
    return stage.field == "vlm" or (stage.field == "judge" and changes)


def taken(items: int, every: int) -> tuple[int, int]:
    """Of how many items a control is made where one in `every` is drawn: on average, and at most (in 999 of 1000)."""
    chance = 1 / every
    return ceil(items * chance), min(items, ceil(items * chance + 3 * sqrt(items * chance * (1 - chance))))


def named(condition: Condition, field: str) -> str:
    """The name in params.yaml of the plugin that a condition meets."""
    return str(getattr(condition, "dataset" if field in ("verifier", "reader") else field))


def jobs(conditions: list[Condition]) -> Iterator[tuple[Stage, Condition]]:
    """Every job of the study, with a condition that it is for; where nothing is edited, nobody writes, edits or
    verifies.
    """
    for stage in STAGES:
        involved = [condition for condition in conditions if _is_asked(stage.field, RULES[condition.protocol])]
        by_job = {tuple(getattr(condition, name) for name in stage.fields): condition for condition in involved}
        for condition in by_job.values():
            yield stage, condition


def _is_asked(field: str, rules: Rules) -> bool:
    if field == "editor":
        return rules.edited
    if field == "reader":
        return rules == RULES[EDCT_2025]
    return rules.written or field not in ("writer", "verifier")


def longest(limits: Mapping[str, int]) -> Lengths:
    """The lengths if every model speaks as long as it may; `limits` are the tokens by the field of a condition."""
    limit_of = {field: limits.get(field) or UNKNOWN_LIMIT for field in ("vlm", "writer", "judge")}
    return Lengths(LONGEST_QUESTION, limit_of["vlm"], limit_of["vlm"], limit_of["writer"], limit_of["judge"])


def requests(
    stage: Stage, has: Lengths, answer_prompt: int, explain_prompt: int, rules: Rules, edits: int
) -> list[RequestSize]:
    """The requests for one item.

    Args:
        answer_prompt: tokens of the template of the first turn.
        explain_prompt: tokens of the template of the second turn, which repeats the first.
    """
    numbers = range(1, edits + 1) if stage.every_edit else [1]
    spoken = has.answer + has.explanation
    opening = answer_prompt + has.question
    if stage.field == "reader":
        return [RequestSize(opening, 1, has.answer)]
    if stage.field == "vlm":
        follow_up = opening + has.answer + explain_prompt
        return [RequestSize(opening, 1, has.answer), RequestSize(follow_up, 1, has.explanation)] * len(numbers)
    if stage.field == "writer":
        return [RequestSize(has.question + spoken, 0, edits * has.instruction)]
    if stage.field == "editor":
        return [RequestSize(has.instruction, 1, has.verdict)] * len(numbers)  # words come from a gate's verifier alone
    if stage.field == "verifier":
        return [RequestSize(has.instruction, 0, has.verdict)] * len(numbers)
    instructions = [(n if rules.chained else 1) if rules.edits == "cited" else 0 for n in numbers]
    return [RequestSize(2 * spoken + count * has.instruction, 0, has.verdict) for count in instructions]


def _silent(use: Used) -> bool:
    """Whether a plugin calls a provider and does not say how often; where nothing is edited, nothing is written."""
    edited = [protocol for protocol in use.protocols if protocol not in RULES or RULES[protocol].written]
    return use.resources.api and bool(edited) and not registry.estimate_calls(use.family, use.spec, edited)


@dataclass(frozen=True)
class _Asking:
    """One of the calls that a plugin makes at a stage."""

    stage: Stage
    call: CallEstimate
    prompts: tuple[str, str]
    protocol: str
    edits: int

    def amount(self, has: Lengths, most: bool) -> Amount:
        """What it uses for one item; a repair counts only at most."""
        if self.call.repair and not most:
            return Amount()
        letters = LETTERS_A_TOKEN_AT_LEAST if most else LETTERS_A_TOKEN
        answer_prompt, explain_prompt = (-(-len(prompt) // letters) for prompt in self.prompts)
        sizes = requests(self.stage, has, answer_prompt, explain_prompt, RULES[self.protocol], self.edits)
        return sum((amount_of(size, self.call, -(-self.call.prompt // letters), most) for size in sizes), Amount())


def amount_of(request: RequestSize, call: CallEstimate, prompt: int, most: bool) -> Amount:
    """What a call uses for one request; `prompt` are the tokens of its own template."""
    first_reply = call.max_tokens if call.repair else 0
    of_images = max(request.images, call.images_shown) * call.image_tokens
    shown = request.shown + prompt + of_images + first_reply
    reply = call.max_tokens + call.thinking_tokens if most else min(request.reply, call.max_tokens)
    return Amount(1, shown, reply, call.images, of_images)


# How often a pair's judge is asked whether a thing is named.
NAMINGS = 4
# Tokens that say what was changed.
CHANGE = 20


def pair_lines(study: Edct, pairs: Mapping[str, int], answer_prompt: str, explain_prompt: str) -> list[Line]:
    """What every model that calls a provider takes for given pairs, by stage."""
    prompts, conditions = (answer_prompt, explain_prompt), study.pair_conditions()
    by_key: dict[tuple[str, str, str, str, float], tuple[Amount, Amount]] = {}
    for request in (*_conversations(study, conditions, pairs), *_rulings(study, conditions, pairs)):
        key = request.stage, request.protocol, request.plugin, request.call.model, request.call.share
        typical, most = by_key.get(key, (Amount(), Amount()))
        by_key[key] = typical + request.amount(prompts, most=False), most + request.amount(prompts, most=True)
    return [Line(*key, *amounts) for key, amounts in by_key.items()]


@dataclass(frozen=True)
class _PairRequests:
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
        has = self.lengths if most else TYPICAL
        if self.protocol:
            shown = 2 * (has.answer + has.explanation) if self.comparison else has.explanation + 2 * CHANGE
            sizes = [RequestSize(shown, 0, has.verdict)]
        else:
            answer_prompt, explain_prompt = (-(-len(prompt) // letters) for prompt in prompts)
            sizes = requests(STAGES[0], has, answer_prompt, explain_prompt, RULES[EDCT_2025], 1)
        own = -(-self.call.prompt // letters)
        return sum((amount_of(size, self.call, own, most) for size in sizes), Amount()).times(self.times[most])


def _conversations(
    study: Edct, conditions: Sequence[PairCondition], pairs: Mapping[str, int]
) -> Iterator[_PairRequests]:
    """Of each target and set: both images of every pair, and the one that comes first once more of one in `again`."""
    for pair_set, vlm in dict.fromkeys((condition.pair_set, condition.vlm) for condition in conditions):
        likely, most = (2 * pairs[pair_set] + more for more in taken(pairs[pair_set], study.again))
        calls = _calls(study, "vlms", vlm)
        for call in calls:
            yield _PairRequests("pair_baselines", "", vlm, call, _longest(calls), (likely, most))


def _rulings(study: Edct, conditions: Sequence[PairCondition], pairs: Mapping[str, int]) -> Iterator[_PairRequests]:
    """Of each condition: what is named, and whether the answer moved, also where nothing was changed."""
    for condition in conditions:
        number = pairs[condition.pair_set]
        again = taken(number, study.again)
        lengths = _longest(_calls(study, "vlms", condition.vlm), _calls(study, "pair_judges", condition.pair_judge))
        for comparison, times in ((False, (NAMINGS * number,) * 2), (True, (number + again[0], number + again[1]))):
            for call in _calls(study, "pair_judges", condition.pair_judge, NULL_EDIT if comparison else PAIRS_2026):
                yield _PairRequests("pair_verdicts", PAIRS_2026, condition.pair_judge, call, lengths, times, comparison)


def _calls(study: Edct, section: str, name: str, protocol: str = PAIRS_2026) -> tuple[CallEstimate, ...]:
    family = {"vlms": "chat"}.get(section, section)
    return registry.estimate_calls(family, getattr(study, section)[name].plugin_options(), [protocol])


def _longest(estimates: Sequence[CallEstimate], judged: Sequence[CallEstimate] = ()) -> Lengths:
    limits = {"vlm": estimates, "judge": judged}
    return longest({field: max((call.max_tokens for call in calls), default=0) for field, calls in limits.items()})
