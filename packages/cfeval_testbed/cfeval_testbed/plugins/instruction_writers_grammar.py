"""The built-in writer: reads explanations in the language of the test bed by its grammar, without a model."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval.edct.protocols.rules import LISTED, RULES, SAME
from cfeval_testbed.language.edit_choice import background_edits, choose_chain, cited_things, uncited_edits
from cfeval_testbed.language.explanations import parse_answer, parse_explanation
from cfeval_testbed.language.instructions import describe
from cfeval_testbed.language.questions import parse_question
from cfeval_testbed.language.reasoning import expected_answer
from cfeval_testbed.records import NOWHERE, Claim, EditIntent
from cfeval_testbed.scenes import scene_in

T = TypeVar("T")


class Plugin(plugin.Plugin):
    """How it chooses."""

    pick: Literal["random", "first"] = "random"
    """Among cited things and new values: at random by the request's seed, or always the first: another writer."""

    def build(self) -> Writer:
        """The grammar-based writer."""
        return Grammar(self.pick == "first")


class First(random.Random):
    """Takes the first of what it may choose from."""

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]
        """The first."""
        return seq[0]


class UnwritableError(ValueError):
    """There is no edit to write, and why."""


class Grammar:
    """Explanation → what it cites, or leaves out → the edits that change it.

    edct-2025: one edit; edct-bench-2026: a chain. uncited-edit: what the explanation leaves out, found in the scene
    record. An image of easy-VQA has no record and shows one shape, which every explanation of it cites: the ground is
    what is left out.
    """

    def __init__(self, first: bool = False) -> None:
        self.first = first

    async def write(self, request: WriteRequest) -> WriteReply:
        """Write the instructions of a request; what the grammar cannot read or edit is `unparsable`."""
        return _reply(request, First() if self.first else random.Random(request.seed))


def _reply(request: WriteRequest, rng: random.Random) -> WriteReply:
    claim = parse_explanation(request.explanation)
    scene = scene_in(request.metadata)
    cited, absent = cited_things(claim, scene) if claim and scene else (None, ())
    try:
        if claim is None:
            raise UnwritableError("the explanation is not in the language of the test bed")
        edits = tuple(_edit(intent, _implied(request, claim, intent)) for intent in _intents(request, claim, rng))
    except UnwritableError as error:
        found = WriteReply(completion=request.explanation, status=Status.UNPARSABLE, reason=str(error))
    else:
        found = WriteReply(edits, completion="\n".join(f"{edit.positive}\n{edit.negative}" for edit in edits))
    whole = RULES[request.protocol].edits == "uncited" and request.edits > LISTED
    return replace(found, lists_all=whole, cited=cited, absent=absent, implied_blank=_implied_blank(request))


def _edit(intent: EditIntent, implied: str) -> Edit:
    evidence: Literal["background", "object"] = "background" if intent.kind == "background" else "object"
    return Edit(*describe(intent), evidence=evidence, implied=implied)


def _implied(request: WriteRequest, claim: Claim, intent: EditIntent) -> str:
    """The answer that follows from the explanation after an edit of what it cites: another one, for it is a reason."""
    if RULES[request.protocol].edits != "cited":
        return ""
    old, expected = parse_answer(request.answer), expected_answer(claim, request.answer, [intent])
    return f"not {old or request.answer}" if expected.equals in (None, old) else str(expected.equals)


def _implied_blank(request: WriteRequest) -> str:
    """What is to be said of an image that shows nothing: what is not there stays so."""
    if RULES[request.protocol].edits != "cited":
        return ""
    return SAME if parse_answer(request.answer) in NOTHING else "nothing to be seen"


NOTHING = ("no", "zero", NOWHERE)
"""Answers that also hold of an image that shows nothing."""


def _intents(request: WriteRequest, claim: Claim, rng: random.Random) -> list[EditIntent]:
    """The edits that the protocol asks for; `UnwritableError` where there is none."""
    rules = RULES[request.protocol]
    if not rules.written:
        raise UnwritableError(f"{request.protocol} has no instructions: nothing is edited")
    if rules.edits == "uncited":
        intents = _uncited_edits(request, claim, rng)
        fault = "the explanation leaves nothing out that an edit could change"
    else:
        most = request.edits if rules.chained else 1
        intents = choose_chain(request.question, request.answer, claim, rng, most)
        fault = "the explanation cites nothing that an edit could change"
    if not intents:
        raise UnwritableError(fault)
    return intents


def _uncited_edits(request: WriteRequest, claim: Claim, rng: random.Random) -> list[EditIntent]:
    question = parse_question(request.question)
    if question is None:
        raise UnwritableError("the question is not in the language of the test bed")
    scene = scene_in(request.metadata)
    if scene is not None:
        return uncited_edits(question, claim, scene, rng)[: request.edits]
    edits = background_edits(_ground(request))
    return [] if claim.kind == "background" else [rng.choice(edits)]


def _ground(request: WriteRequest) -> str:
    """The name of an easy-VQA image's ground."""
    from cfeval_testbed.agents.repaint import RepaintError, find

    fault = "no scene record, and without one what an explanation leaves out is known for easy-VQA images only"
    if request.image is None:
        raise UnwritableError(fault)
    try:
        return find(request.image.pixels).background
    except RepaintError as error:
        raise UnwritableError(f"{fault}: {error}") from None
