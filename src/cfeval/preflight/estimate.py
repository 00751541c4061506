"""What a study comes to before it runs: calls, tokens and money, by stage and by model, against store and budget."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cfeval.backends import registry
from cfeval.backends.registry import CallEstimate
from cfeval.calls.call import Usage
from cfeval.calls.prices import Price, Prices
from cfeval.params.edct import Edct
from cfeval.params.sections import Calls
from cfeval.preflight.used import Used, used_by_edct
from cfeval.preflight.workload import FIELDS, TYPICAL, Lengths, Request, Stage, jobs, longest, named, requests
from cfeval.protocols.rules import RULES

LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST = 4, 3


@dataclass(frozen=True)
class Amount:
    """Calls, and what they use."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.images + other.images,
        )

    def times(self, count: int) -> "Amount":
        """So many of it."""
        return Amount(self.calls * count, self.input_tokens * count, self.output_tokens * count, self.images * count)

    def usd(self, price: Price | None) -> float | None:
        """What it costs; None where the price is not known."""
        return None if price is None else price.of(Usage(self.input_tokens, self.output_tokens, self.images))


@dataclass(frozen=True)
class Line:
    """What one backend takes at one stage, of one model."""

    stage: str
    protocol: str
    """Empty where the stage is the same under every protocol."""
    backend: str
    model: str
    typical: Amount
    most: Amount


@dataclass(frozen=True)
class Held:
    """What the store knows of a model: answers that stand, calls sent, USD spent."""

    stored: int = 0
    sent: int = 0
    spent_usd: float = 0.0


@dataclass(frozen=True)
class ModelLine:
    """What a model takes over all stages, and what the store knows of it."""

    model: str
    typical: Amount
    most: Amount
    price: Price | None
    held: Held

    def still(self, amount: Amount) -> int:
        """The calls still to be sent, if what the store holds is of this study."""
        return max(0, amount.calls - self.held.stored)

    def still_usd(self, amount: Amount) -> float:
        """What these cost; 0 where the price is not known."""
        return (amount.usd(self.price) or 0.0) * self.still(amount) / max(1, amount.calls)


def lines(
    study: Edct, items: Mapping[str, int], answer_prompt: str, explain_prompt: str, edits: Mapping[str, int]
) -> tuple[list[Line], list[str]]:
    """What every backend that calls a provider takes at every stage, and the places of those that do not say.

    Args:
        study: the parameters.
        items: how many items each data set has.
        answer_prompt: the template of the first turn.
        explain_prompt: the template of the second turn.
        edits: how many an explanation has under each protocol, one where it is not named.
    """
    backends = used_by_edct(study)
    expected = {
        (use.section, use.name, protocol): registry.estimate_calls(use.family, use.spec, [protocol])
        for use in backends
        for protocol in use.protocols
    }
    found: dict[tuple[str, str, str, str], Line] = {}
    for stage, arm in jobs(study.arms()):
        calls_of = {f: expected.get((f"{f}s", named(arm, f), arm.protocol), ()) for f in FIELDS}
        limits = {field: max((call.max_tokens for call in calls), default=0) for field, calls in calls_of.items()}
        for call in calls_of[stage.field]:
            protocol = arm.protocol if "protocol" in stage.fields else ""
            key = stage.name, protocol, named(arm, stage.field), call.model
            asking = _Asking(stage, call, (answer_prompt, explain_prompt), arm.protocol, edits.get(arm.protocol, 1))
            typical, most = asking.amount(TYPICAL, most=False), asking.amount(longest(limits), most=True)
            before = found.get(key, Line(*key, Amount(), Amount()))
            count = items[arm.dataset]
            found[key] = Line(*key, before.typical + typical.times(count), before.most + most.times(count))
    return list(found.values()), [use.place for use in backends if _silent(use)]


def by_model(found: Iterable[Line], prices: Prices, held: Mapping[str, Held]) -> list[ModelLine]:
    """The same by model."""
    totals: dict[str, tuple[Amount, Amount]] = {}
    for line in found:
        typical, most = totals.get(line.model, (Amount(), Amount()))
        totals[line.model] = typical + line.typical, most + line.most
    return [
        ModelLine(model, typical, most, prices.of(model), held.get(model, Held()))
        for model, (typical, most) in totals.items()
    ]


def added(found: Iterable[Line]) -> dict[str, int]:
    """How many calls each protocol takes at most besides what all share, in the order of the study."""
    calls: dict[str, int] = {}
    for line in found:
        if line.protocol:
            calls[line.protocol] = calls.get(line.protocol, 0) + line.most.calls
    return calls


def budget(models: Iterable[ModelLine], held: Mapping[str, Held], calls: Calls) -> list[tuple[bool, str]]:
    """For every limit that is set, whether it suffices, and that in one line."""
    models = list(models)
    sent, spent = sum(one.sent for one in held.values()), sum(one.spent_usd for one in held.values())
    said = []
    if calls.max_calls is not None:
        typical = sum(one.still(one.typical) for one in models)
        most = sum(one.still(one.most) for one in models)
        said.append(_verdict("calls.max_calls", calls.max_calls, sent, typical, most, lambda n: f"{n:,.0f} calls"))
    if calls.max_cost_usd is not None:
        usd = sum(one.still_usd(one.typical) for one in models), sum(one.still_usd(one.most) for one in models)
        said.append(_verdict("calls.max_cost_usd", calls.max_cost_usd, spent, *usd, lambda n: f"{n:,.2f} USD"))
        said += [
            (False, f"calls.max_cost_usd stops the run before its first call to {one.model}: its price is not known")
            for one in models
            if one.price is None
        ]
    return said


def _verdict(
    name: str, limit: float, spent: float, typical: float, most: float, shown: Callable[[float], str]
) -> tuple[bool, str]:
    so_far = f"{shown(spent)} so far, {shown(typical)} to go ({shown(most)} at most)"
    if spent + typical > limit:
        return False, f"{name} = {limit:g} will not suffice: {so_far}; raise it, or lower edct.items"
    if spent + most > limit:
        return True, f"{name} = {limit:g} suffices for a typical run: {so_far}"
    return True, f"{name} = {limit:g} suffices: {so_far}"


def _silent(use: Used) -> bool:
    """Whether a backend calls a provider and does not say how often; where nothing is edited, nothing is written."""
    edited = [protocol for protocol in use.protocols if RULES[protocol].edits != "none"]
    return use.needs.api and bool(edited) and not registry.estimate_calls(use.family, use.spec, edited)


@dataclass(frozen=True)
class _Asking:
    """One of the calls that a backend makes at a stage."""

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
        asked = requests(self.stage, has, answer_prompt, explain_prompt, RULES[self.protocol], self.edits)
        return sum((_of(one, self.call, -(-self.call.prompt // letters), most) for one in asked), Amount())


def _of(request: Request, call: CallEstimate, prompt: int, most: bool) -> Amount:
    first_reply = call.max_tokens if call.repair else 0
    shown = request.shown + prompt + max(request.pictures, call.pictures) * call.image_tokens + first_reply
    reply = call.max_tokens if most else min(request.reply, call.max_tokens)
    return Amount(1, shown, reply, call.images)
