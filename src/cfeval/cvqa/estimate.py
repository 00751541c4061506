"""The calls to providers that the parameters of the cvqa study ask for.

A call a question and side, one a draft, one a review.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.interfaces import Sizes
from cfeval.cvqa.open_answers import written_replies
from cfeval.inference.remote.prices import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line

QUESTION, ANSWER, REASONING, PROGRAM, DRAFT, VERDICT = 30, 10, 180, 200, 120, 40
"""Typical lengths in tokens; with chain of thought an answer is as long as an explanation."""


def cvqa_lines(study: Cvqa, pairs: Mapping[str, Sizes]) -> list[Line]:
    """What every plugin that calls a provider takes at every stage; see `cfeval.inference.remote.prices.Line`.

    Args:
        study: the parameters.
        pairs: how many pairs each set has.
    """
    return [*_answers(study, pairs), *_readings(study, pairs), *_builds(study)]


def _answers(study: Cvqa, pairs: Mapping[str, Sizes]) -> Iterator[Line]:
    for condition in study.all_conditions():
        spec = study.solvers[condition.solver].plugin_options()
        asked = pairs[condition.set].asked(study.orders_of(condition))
        if "program_generator" in spec:  # whoever writes programs sees no image
            yield from _lines(
                "answers",
                condition.solver,
                "program_generators",
                spec["program_generator"],
                asked,
                QUESTION,
                PROGRAM,
                0,
            )
            yield from _lines("answers", condition.solver, "vision_tools", spec["vision"], asked, QUESTION, ANSWER)
            if spec.get("repair"):
                yield from _repairs(condition.solver, spec["program_generator"], asked)
        else:
            reply = REASONING if spec.get("cot") else ANSWER
            shown = pairs[condition.set].images
            yield from _lines("answers", condition.solver, "solvers", spec, asked, QUESTION, reply, shown)


def _readings(study: Cvqa, pairs: Mapping[str, Sizes]) -> Iterator[Line]:
    """Typically the share that is read twice; at most every reply, if the rules read none. Every open one is judged.

    So are replies of known truth: those written by hand, and one to each open question, whoever answers it.
    """
    asked = sum(pairs[one.set].asked(study.orders_of(one)) for one in study.all_conditions())
    open_ = sum(pairs[one.set].open for one in study.all_conditions())
    judged = open_ + sum(pairs[name].open for name in study.sets_asked())
    judged += len(written_replies()) if open_ else 0
    for name, spec in study.reply_readers.items():
        of = ("readings", name, "reply_readers", spec.plugin_options())
        shares = zip(
            _lines(*of, ceil(study.reread * (asked - open_)) + judged, QUESTION, VERDICT, 0),
            _lines(*of, asked - open_ + judged, QUESTION, VERDICT, 0),
            strict=True,
        )
        yield from (replace(share, most=whole.most) for share, whole in shares)


def _repairs(solver: str, program_generator: Mapping[str, Any], times: int) -> Iterator[Line]:
    """At most, every program is written once more; none is where all run."""
    for line in _lines("answers", solver, "program_generators", program_generator, times, 2 * PROGRAM, PROGRAM, 0):
        yield replace(line, typical=Amount())


def _builds(study: Cvqa) -> Iterator[Line]:
    for build in study.builds_asked().values():
        question_generator, question_validator = (
            study.question_generators[build.question_generator].plugin_options(),
            study.question_validators[build.question_validator].plugin_options(),
        )
        yield from _lines(
            "drafts",
            build.question_generator,
            "question_generators",
            question_generator,
            build.items,
            QUESTION,
            DRAFT,
            0,
        )
        yield from _lines(
            "reviews",
            build.question_validator,
            "question_validators",
            question_validator,
            build.items,
            2 * QUESTION,
            VERDICT,
        )


def _lines(
    stage: str,
    plugin: str,
    family: str,
    spec: Mapping[str, Any],
    times: int,
    question: int,
    reply: int,
    images: int = 1,
) -> Iterator[Line]:
    for call in registry.estimate_calls(family, spec):
        typical = (
            Amount() if call.repair else _one(call, question, min(reply, call.max_tokens), LETTERS_A_TOKEN, images)
        )
        most = _one(call, 2 * question, call.max_tokens + call.thinking_tokens, LETTERS_A_TOKEN_AT_LEAST, images)
        yield Line(stage, "", plugin, call.model, call.share, typical.times(times), most.times(times))


def _one(call: CallEstimate, question: int, reply: int, letters: int, images: int) -> Amount:
    shown = max(images, call.images_shown) * call.image_tokens
    return Amount(1, ceil(call.prompt / letters) + question + shown, reply, 0, shown)
