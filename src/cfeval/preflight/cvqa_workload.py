"""What the cvqa study asks of providers: one call a question and side, one a draft, one a review."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

from cfeval.backends import registry
from cfeval.backends.registry import CallEstimate
from cfeval.params.cvqa import Cvqa
from cfeval.preflight.estimate import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line
from cfeval.records.cvqa import SIDES

QUESTION, ANSWER, REASONING, PROGRAM, DRAFT, VERDICT = 30, 10, 180, 200, 120, 40
"""Typical lengths in tokens; with chain of thought an answer is as long as an explanation."""


class Pairs(NamedTuple):
    """How many pairs a set has, and of how many the questions have options, which are asked in several orders."""

    all: int
    with_options: int = 0

    def asked(self, orders: int) -> int:
        """How many questions are put about them."""
        return len(SIDES) * (self.all - self.with_options + self.with_options * orders)


def cvqa_lines(study: Cvqa, pairs: Mapping[str, Pairs]) -> list[Line]:
    """What every backend that calls a provider takes at every stage; see `cfeval.preflight.estimate.Line`.

    Args:
        study: the parameters.
        pairs: how many pairs each set has.
    """
    return [*_answers(study, pairs), *_builds(study)]


def _answers(study: Cvqa, pairs: Mapping[str, Pairs]) -> Iterator[Line]:
    for arm in study.all_arms():
        spec = study.answerers[arm.answerer].plugin()
        asked = pairs[arm.set].asked(study.orders_of(arm))
        if "programmer" in spec:  # whoever writes programs sees no picture
            yield from _lines("answers", arm.answerer, "programmers", spec["programmer"], asked, QUESTION, PROGRAM, 0)
            yield from _lines("answers", arm.answerer, "vision", spec["vision"], asked, QUESTION, ANSWER)
        else:
            reply = REASONING if spec.get("cot") else ANSWER
            yield from _lines("answers", arm.answerer, "answerers", spec, asked, QUESTION, reply)


def _builds(study: Cvqa) -> Iterator[Line]:
    for build in study.builds_asked().values():
        builder, checker = study.builders[build.builder].plugin(), study.checkers[build.checker].plugin()
        yield from _lines("drafts", build.builder, "builders", builder, build.items, QUESTION, DRAFT, 0)
        yield from _lines("reviews", build.checker, "checkers", checker, build.items, 2 * QUESTION, VERDICT)


def _lines(
    stage: str,
    backend: str,
    family: str,
    spec: Mapping[str, Any],
    times: int,
    question: int,
    reply: int,
    pictures: int = 1,
) -> Iterator[Line]:
    for call in registry.estimate_calls(family, spec):
        typical = (
            Amount() if call.repair else _one(call, question, min(reply, call.max_tokens), LETTERS_A_TOKEN, pictures)
        )
        most = _one(call, 2 * question, call.max_tokens, LETTERS_A_TOKEN_AT_LEAST, pictures)
        yield Line(stage, "", backend, call.model, typical.times(times), most.times(times))


def _one(call: CallEstimate, question: int, reply: int, letters: int, pictures: int) -> Amount:
    shown = max(pictures, call.pictures) * call.image_tokens
    return Amount(1, ceil(call.prompt / letters) + question + shown, reply, 0)
