"""A judge that is any chat model, asked once or several times (EDCT 2025, Section 3, Stage 4: self-consistency)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from cfeval.backends import registry
from cfeval.backends.asking import expected, model_of, template_faults, template_files
from cfeval.backends.judges.base import Judge
from cfeval.backends.judging import FORMS, ChatJudge, Forms, JudgeOptions
from cfeval.backends.registry import Expected, Finding, Part


class Options(JudgeOptions):
    """Which model, and how it is asked.

    Templates in an own folder: judge.md, judge_repair.md; for edct-bench-2026 grade.md, grade_repair.md too; for the
    controls compare.md, compare_repair.md. With `wording: b` it is judge_b.md, grade_b.md, compare_b.md.
    """

    wording: Literal["a", "b"] = "a"
    """Which of two templates for the same task, rules and form of reply."""


def files(options: Options, protocol: str) -> tuple[str, ...]:
    """The templates."""
    return template_files(options, *forms(options)[protocol])


def parts(options: Options) -> tuple[Part, ...]:
    """The chat model."""
    return model_of(options)


def calls(options: Options, protocol: str) -> tuple[Expected, ...]:
    """For each sample the scores and, where there is one, the grade; and each again where a reply must be repaired."""
    return options.samples * expected(options, *forms(options)[protocol])


def examine(options: Options, protocol: str) -> Iterator[Finding]:
    """Templates that cannot be filled."""
    yield from template_faults(options, *forms(options)[protocol])


def build(options: Options) -> Judge:
    """The judge."""
    return ChatJudge(registry.build("chat", options.model), options, forms(options))


def forms(options: Options) -> Mapping[str, Forms]:
    """What is asked, by protocol."""
    ending = "" if options.wording == "a" else f"_{options.wording}"
    return {
        protocol: tuple(replace(options.ordered(form), opening=f"{form.name}{ending}") for form in asked)
        for protocol, asked in FORMS.items()
    }
