"""Which requests a study makes of which backend: every stage's jobs, each once however many arms share it.

Lengths are in tokens. What no one can know beforehand, how long answers and explanations are, is assumed: once as it
typically is, and once as long as `max_tokens` lets the models speak.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from cfeval.records.edct import Arm


@dataclass(frozen=True)
class Lengths:
    """How many tokens the texts of one item have."""

    question: int
    answer: int
    explanation: int
    instruction: int
    verdict: int

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


TYPICAL = Lengths(question=20, answer=15, explanation=180, instruction=100, verdict=200)
"""An explanation has five or six sentences, a judge reasons before its verdict."""
LONGEST_QUESTION = 100
UNKNOWN_LIMIT = 2048
"""The longest text of a backend that calls no provider (EDCT 2025, Appendix B)."""


@dataclass(frozen=True)
class Request:
    """What a stage asks of a backend: the tokens and pictures it shows, and the tokens of the reply."""

    shown: int
    pictures: int
    reply: int


@dataclass(frozen=True)
class Stage:
    """A stage of the study: the field of an arm that names its backend, and the fields that make its jobs differ."""

    name: str
    field: str
    fields: tuple[str, ...]


_UP_TO = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
STAGES = (
    Stage("baseline", "vlm", _UP_TO[:2]),
    Stage("instructions", "writer", _UP_TO[:4]),
    Stage("counterfactuals", "editor", _UP_TO[:5]),
    Stage("requery", "vlm", _UP_TO[:5]),
    Stage("verdicts", "judge", _UP_TO),
)


def jobs(arms: list[Arm]) -> Iterator[tuple[Stage, Arm]]:
    """Every job of the study, with an arm that it is for."""
    for stage in STAGES:
        yield from ((stage, arm) for arm in {tuple(getattr(a, f) for f in stage.fields): a for a in arms}.values())


def longest(limits: Mapping[str, int]) -> Lengths:
    """The lengths if every model speaks as long as it may; `limits` are the tokens by the field of an arm."""
    said = {field: limits.get(field) or UNKNOWN_LIMIT for field in ("vlm", "writer", "judge")}
    return Lengths(LONGEST_QUESTION, said["vlm"], said["vlm"], said["writer"], said["judge"])


def requests(stage: Stage, has: Lengths, answer_prompt: int, explain_prompt: int) -> list[Request]:
    """The requests for one item; k = 1 edit an explanation.

    Args:
        stage: which one.
        has: the lengths of the texts.
        answer_prompt: tokens of the template of the first turn.
        explain_prompt: tokens of the template of the second turn, which repeats the first.
    """
    if stage.field == "vlm":
        opening = answer_prompt + has.question
        follow_up = opening + has.answer + explain_prompt
        return [Request(opening, 1, has.answer), Request(follow_up, 1, has.explanation)]
    said = has.answer + has.explanation
    return {
        "writer": [Request(has.question + said, 0, has.instruction)],
        "editor": [Request(has.instruction, 1, 0)],
        "judge": [Request(2 * said + has.instruction, 0, has.verdict)],
    }[stage.field]
