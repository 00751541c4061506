"""Judges of given pairs: does an explanation name the changed thing, and is an answer another one?

Answers are compared with the words and rules by which the judge `chat` compares them in controls.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from cfeval.core import plugin, registry
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.answers import names
from cfeval.edct.metrics import majority
from cfeval.edct.pairs.records import AnswersRequest, NamingRequest, PairJudge, Ruling
from cfeval.edct.panels import distinct, members, odd, together, undecided
from cfeval.edct.protocols.controls import COMPARE_SCHEMA, read_comparison
from cfeval.edct.protocols.rules import NULL_EDIT, PAIRS_2026
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema
from cfeval.inference.prompts import Prompt, PromptTemplate, estimate_parsed, generate_parsed
from cfeval.inference.verdicts import clear_verdict

# A judge's reply; the analysis comes first, so that the ruling follows from it.
NAMES_SCHEMA = object_schema(analysis=TEXT, named=BINARY)


class Naming(BaseModel):
    """Whether an explanation names a thing."""

    model_config = ConfigDict(frozen=True)

    named: StrictBinary


def read_naming(text: str) -> Naming | None:
    """The ruling of a judge's reply, or None where it leaves doubt: JSON, or a line `NAMED:`."""
    return clear_verdict(text, Naming, "01")


NAMES = PromptTemplate(PAIRS_2026, "names", ("before", "after", "explanation"), NAMES_SCHEMA, read_naming)
COMPARED = ("original_answer", "original_explanation", "edited_answer", "edited_explanation")
COMPARE = PromptTemplate("controls", "compare", COMPARED, COMPARE_SCHEMA, read_comparison)
# What the judge reads where a thing is in one image alone.
ABSENT = "(it is not there)"


class ChatPlugin(prompts.ChatPlugin):
    """A judge of pairs that is any chat model, asked once or several times.

    Templates in an own folder: names.md, names_repair.md, compare.md, compare_repair.md.
    """

    by_protocol: ClassVar[bool] = True

    votes: int = Field(1, ge=1)
    """How often it is asked, an odd number; the ruling is what more than half of the votes say."""
    _odd = odd

    def forms(self, protocol: str = "") -> Sequence[PromptTemplate[Any]]:
        """What is asked: whether a thing is named, and whether an answer is another one."""
        del protocol
        return (NAMES, COMPARE)

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """For each vote those of one naming; under `null-edit`, those of one comparison of answers."""
        return self.votes * estimate_parsed(self, COMPARE if protocol == NULL_EDIT else NAMES)

    def build(self) -> PairJudge:
        """The judge."""
        return ChatPairJudge(registry.build("chat", self.model), self)


class ChatPairJudge:
    """Asks a chat model; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, options: ChatPlugin) -> None:
        self.model = model
        self.options = options

    @cached_property
    def _prompts(self) -> tuple[Prompt[Any], Prompt[Any]]:
        return self.options.prompt(NAMES), self.options.prompt(COMPARE)

    async def names(self, request: NamingRequest) -> Ruling:
        """Whether the explanation gives the thing as a reason."""
        values = {
            "before": request.before or ABSENT,
            "after": request.after or ABSENT,
            "explanation": request.explanation,
        }
        return await self._ask(self._prompts[0], "named", request.item, values, request.seed)

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Whether the second answer says something else in substance."""
        texts = (request.answer, request.explanation, request.new_answer, request.new_explanation)
        values = dict(zip(COMPARED, texts, strict=True))
        return await self._ask(self._prompts[1], "answer_moved", request.item, values, request.seed)

    async def _ask(self, prompt: Prompt[Any], field: str, item: str, values: dict[str, str], seed: int) -> Ruling:
        async def vote(number: int) -> Ruling:
            parsed = await generate_parsed(self.model, prompt, item, values, derive_seed(seed, "sample", number))
            if parsed.value is None:
                return Ruling(None, parsed.completion, parsed.status, parsed.reason, parsed.calls)
            return Ruling(getattr(parsed.value, field), parsed.completion, Status.OK, "", parsed.calls)

        votes = await asyncio.gather(*(vote(number) for number in range(self.options.votes)))
        return majority_of({f"sample {number}": ruling for number, ruling in enumerate(votes, start=1)})


def majority_of(rulings: Mapping[str, Ruling]) -> Ruling:
    """The ruling of more than half; a single one is left as it is. See `cfeval.edct.panels`."""
    members = list(rulings.values())
    if len(members) == 1:
        return members[0]
    value = majority([ruling.value for ruling in members])
    raw, calls = together(rulings)
    if value is not None:
        return Ruling(value, raw, calls=calls)
    votes = ", ".join(
        f"{name}: {ruling.status if ruling.value is None else ruling.value}" for name, ruling in rulings.items()
    )
    return Ruling(None, raw, undecided(rulings), f"no majority ({votes})", calls)


class PanelPlugin(plugin.Plugin):
    """Several judges of pairs as one, by strict majority over all of them."""

    judges: tuple[dict[str, Any], ...] = plugin.component("pair_judges", min_length=1)
    """The judges: the plugin and options of each; none twice, since one answer would count twice."""
    _distinct = distinct

    def build(self) -> PairJudge:
        """The panel."""
        return Panel(members("pair_judges", self.judges))


class Panel:
    """Each ruling is what more than half of the judges say."""

    def __init__(self, judges: Mapping[str, PairJudge]) -> None:
        self.judges = judges

    async def names(self, request: NamingRequest) -> Ruling:
        """Have every judge rule."""
        rulings = await asyncio.gather(*(judge.names(request) for judge in self.judges.values()))
        return majority_of(dict(zip(self.judges, rulings, strict=True)))

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Have every judge rule."""
        rulings = await asyncio.gather(*(judge.moved(request) for judge in self.judges.values()))
        return majority_of(dict(zip(self.judges, rulings, strict=True)))


class LexicalPlugin(plugin.Plugin):
    """A judge of pairs without a model: words that stand there, and answers that are equal or not.

    It needs no key and errs where an explanation paraphrases, or names another thing of the same kind in the same
    words.
    """

    def build(self) -> PairJudge:
        """The judge."""
        return Lexical()


class Lexical:
    """Compares words (`cfeval.edct.answers.names`)."""

    async def names(self, request: NamingRequest) -> Ruling:
        """1 where half of the words stand there that describe the thing in either image."""
        mentions = (names(request.explanation, thing) for thing in (request.before, request.after) if thing)
        return Ruling(1 if any(mentions) else 0)

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Answers whose texts do not decide are in other words: 1."""
        del request
        return Ruling(1)
