"""What the parameters of the cvqa study tell beforehand: calls to providers, and what its tables say of who answers.

A call a question and side, one a draft, one a review.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.cvqa.config import Answerer, Cvqa
from cfeval.cvqa.records import SIDES
from cfeval.inference.remote.cost import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line

QUESTION, ANSWER, REASONING, PROGRAM, DRAFT, VERDICT = 30, 10, 180, 200, 120, 40
"""Typical lengths in tokens; with chain of thought an answer is as long as an explanation."""
_BUILT_IN = {
    ("chat", "world"),
    ("chat", "puzzles"),
    ("chat", "easy_vqa"),
    ("chat", "scripted"),
    ("programmers", "grammar"),
    ("programmers", "scripted"),
    ("vision", "puzzle"),
    ("vision", "world"),
    ("vision", "scripted"),
    ("answerers", "random"),
}
"""Plug-ins that stand for no real model."""


class Pairs(NamedTuple):
    """How many pairs a set has, and of how many the questions have options, which are asked in several orders."""

    all: int
    with_options: int = 0

    def asked(self, orders: int) -> int:
        """How many questions are put about them."""
        return len(SIDES) * (self.all - self.with_options + self.with_options * orders)


def cvqa_lines(study: Cvqa, pairs: Mapping[str, Pairs]) -> list[Line]:
    """What every backend that calls a provider takes at every stage; see `cfeval.inference.remote.cost.Line`.

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


def answerer_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.AnswererFacts`, by answerer."""
    return {name: _facts(name, study.answerers) for name in study.answerers}


def set_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.SetFacts`, by set."""
    return {name: {"subset": spec.plugin().get("share", 1) < 1} for name, spec in study.sets.items()}


def _facts(name: str, answerers: Mapping[str, Answerer]) -> dict[str, Any]:
    told = answerers[name]
    spec = told.plugin()
    cot = bool(spec.get("cot"))
    return {
        "kind": _kind(told),
        "cot": cot,
        "twin": _twin(name, answerers) if cot else "",
        "llm": told.llm or _writer(spec),
        "paper": told.paper,
        "test_world": any(
            (family, its["backend"]) in _BUILT_IN for family, its in registry.components("answerers", spec)
        ),
    }


def _kind(told: Answerer) -> str:
    """What answers; recorded responses are programs' where params.yaml names the language model behind them."""
    if told.backend == "responses" and told.llm:
        return "program"
    return told.backend if told.backend in ("program", "random") else "chat"


def _twin(name: str, answerers: Mapping[str, Answerer]) -> str:
    """The same answerer without chain of thought; empty where there is none."""
    plain = {other: told.plugin() | {"cot": told.plugin().get("cot", False)} for other, told in answerers.items()}
    wanted = plain[name] | {"cot": False}
    return next((other for other, spec in plain.items() if spec == wanted), "")


def _writer(spec: Mapping[str, Any]) -> str:
    """The language model that writes an answerer's programs; of a built-in programmer its own name."""
    programmer = spec.get("programmer")
    if not programmer:
        return ""
    model = programmer.get("model", {})
    return str(model.get("model") or model.get("backend") or programmer["backend"])
