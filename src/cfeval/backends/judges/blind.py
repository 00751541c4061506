"""A judge that is any chat model with eyes: it is shown the edited image, and is not told what was edited.

Neither paper has it. It must find out from the image which of the cited evidence has changed, so that it does not take
an instruction for an edit that was never made; its disagreement with the judge of the texts is reported. Under the
controls, where no judge is told of an edit, it compares the texts like any other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cfeval.backends import registry
from cfeval.backends.asking import Form, expected, model_of, template_faults, template_files
from cfeval.backends.judges.base import Judge
from cfeval.backends.judging import FORMS, SEEN, ChatJudge, Forms, JudgeOptions
from cfeval.backends.registry import Expected, Finding, Part
from cfeval.protocols.rules import CONTROLS


class Options(JudgeOptions):
    """Which model, and how it is asked.

    Templates in an own folder: those of the judge `chat`, but blind_judge.md, blind_grade.md for judge.md, grade.md.
    """


def files(options: Options, protocol: str) -> tuple[str, ...]:
    """The templates."""
    return template_files(options, *forms(options)[protocol])


def parts(options: Options) -> tuple[Part, ...]:
    """The chat model."""
    return model_of(options)


def calls(options: Options, protocol: str) -> tuple[Expected, ...]:
    """Those of the judge `chat`, each with a picture."""
    return options.samples * expected(options, *forms(options)[protocol])


def examine(options: Options, protocol: str) -> Iterator[Finding]:
    """Templates that cannot be filled."""
    yield from template_faults(options, *forms(options)[protocol])


def build(options: Options) -> Judge:
    """The judge."""
    return ChatJudge(registry.build("chat", options.model), options, forms(options), needs_picture=True)


def forms(options: Options) -> Mapping[str, Forms]:
    """What is asked, by protocol."""
    return {
        protocol: tuple(options.ordered(form if protocol in CONTROLS else _blind(form)) for form in asked)
        for protocol, asked in FORMS.items()
    }


def _blind(form: Form[Any]) -> Form[Any]:
    return replace(form, opening=f"blind_{form.name}", placeholders=SEEN, seen=True)
