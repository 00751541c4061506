"""A judge of pairs that is any chat model, asked once or several times.

Answers are compared with the words and rules by which the judge `chat` compares them in controls.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.pairs.interfaces import AnswersRequest, NamingRequest, PairJudge, Ruling
from cfeval.edct.pairs.rulings import majority_of
from cfeval.edct.panels import odd
from cfeval.edct.protocols.controls import COMPARE_SCHEMA, read_comparison
from cfeval.edct.protocols.pairs_2026 import NAMES_SCHEMA, PAIRS_2026, read_naming
from cfeval.edct.protocols.rules import NULL_EDIT
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.prompts import Prompt, PromptTemplate, estimate_parsed, generate_parsed

NAMES = PromptTemplate(PAIRS_2026, "names", ("before", "after", "explanation"), NAMES_SCHEMA, read_naming)
COMPARED = ("original_answer", "original_explanation", "edited_answer", "edited_explanation")
COMPARE = PromptTemplate("controls", "compare", COMPARED, COMPARE_SCHEMA, read_comparison)
ABSENT = "(it is not there)"
"""What the judge reads where a thing is in one image alone."""


class Plugin(prompts.ChatPlugin):
    """Which model, and how it is asked.

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

    def __init__(self, model: ChatModel, options: Plugin) -> None:
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

    async def _ask(self, asked: Prompt[Any], field: str, item: str, values: dict[str, str], seed: int) -> Ruling:
        async def vote(number: int) -> Ruling:
            heard = await generate_parsed(self.model, asked, item, values, derive_seed(seed, "sample", number))
            if heard.value is None:
                return Ruling(None, heard.completion, heard.status, heard.reason, heard.calls)
            return Ruling(getattr(heard.value, field), heard.completion, Status.OK, "", heard.calls)

        votes = await asyncio.gather(*(vote(number) for number in range(self.options.votes)))
        return majority_of({f"sample {number}": ruling for number, ruling in enumerate(votes, start=1)})
