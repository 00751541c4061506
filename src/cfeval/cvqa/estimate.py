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

# Typical lengths in tokens; with chain of thought an answer is as long as an explanation.
QUESTION, ANSWER, REASONING, PROGRAM, DRAFT, VERDICT = 30, 10, 180, 200, 120, 40


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
        times = pairs[condition.set].asked(study.orders_of(condition))
        if "program_generator" in spec:  # whoever writes programs sees no image
            writer = ("answers", condition.solver, "program_generators", spec["program_generator"], times)
            yield from _lines(*writer, QUESTION, PROGRAM, 0)
            yield from _lines("answers", condition.solver, "vision_tools", spec["vision"], times, QUESTION, ANSWER)
            if spec.get("repair"):
                # At most, every program is written once more; none is where all run.
                for line in _lines(*writer, 2 * PROGRAM, PROGRAM, 0):
                    yield replace(line, typical=Amount())
        else:
            reply = REASONING if spec.get("cot") else ANSWER
            shown = pairs[condition.set].images
            yield from _lines("answers", condition.solver, "solvers", spec, times, QUESTION, reply, shown)


def _readings(study: Cvqa, pairs: Mapping[str, Sizes]) -> Iterator[Line]:
    """Typically the share that is read twice; at most every reply, if the rules read none. Every open one is judged.

    So are replies of known truth: those written by hand, and one to each open question, whoever answers it.
    """
    times = sum(pairs[condition.set].asked(study.orders_of(condition)) for condition in study.all_conditions())
    open_ = sum(pairs[condition.set].open for condition in study.all_conditions())
    judged = open_ + sum(pairs[name].open for name in study.sets_asked())
    judged += len(written_replies()) if open_ else 0
    for name, spec in study.reply_readers.items():
        reader = ("readings", name, "reply_readers", spec.plugin_options())
        shares = zip(
            _lines(*reader, ceil(study.reread * (times - open_)) + judged, QUESTION, VERDICT, 0),
            _lines(*reader, times - open_ + judged, QUESTION, VERDICT, 0),
            strict=True,
        )
        yield from (replace(share, most=whole.most) for share, whole in shares)


def _builds(study: Cvqa) -> Iterator[Line]:
    for build in study.builds_asked().values():
        writer, checker = build.question_generator, build.question_validator
        spec = study.question_generators[writer].plugin_options()
        yield from _lines("drafts", writer, "question_generators", spec, build.items, QUESTION, DRAFT, 0)
        spec = study.question_validators[checker].plugin_options()
        yield from _lines("reviews", checker, "question_validators", spec, build.items, 2 * QUESTION, VERDICT)


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
            Amount() if call.repair else _amount(call, question, min(reply, call.max_tokens), LETTERS_A_TOKEN, images)
        )
        most = _amount(call, 2 * question, call.max_tokens + call.thinking_tokens, LETTERS_A_TOKEN_AT_LEAST, images)
        yield Line(stage, "", plugin, call.model, call.share, typical.times(times), most.times(times))


def _amount(call: CallEstimate, question: int, reply: int, letters: int, images: int) -> Amount:
    shown = max(images, call.images_shown) * call.image_tokens
    return Amount(1, ceil(call.prompt / letters) + question + shown, reply, 0, shown)
