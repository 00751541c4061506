"""Which requests a study makes of which backend: every stage's jobs, each once however many arms share it.

Lengths are in tokens. What no one can know beforehand, how long answers and explanations are, is assumed: once as it
typically is, and once as long as `max_tokens` lets the models speak.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from cfeval.protocols.rules import RULES, Rules
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
    every_edit: bool = False
    """It has requests for every edit of an item."""


_UP_TO = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
STAGES = (
    Stage("baseline", "vlm", _UP_TO[:2]),
    Stage("instructions", "writer", _UP_TO[:4]),
    Stage("counterfactuals", "editor", _UP_TO[:5], every_edit=True),
    Stage("checks", "verifier", _UP_TO[:5], every_edit=True),
    Stage("requery", "vlm", _UP_TO[:5], every_edit=True),
    Stage("verdicts", "judge", _UP_TO, every_edit=True),
)


FIELDS = ("vlm", "writer", "editor", "verifier", "judge")
"""Whose calls are counted; a verifier is named by the data set that it checks."""


def named(arm: Arm, field: str) -> str:
    """The name in params.yaml of the backend that an arm meets."""
    return str(getattr(arm, "dataset" if field == "verifier" else field))


def jobs(arms: list[Arm]) -> Iterator[tuple[Stage, Arm]]:
    """Every job of the study, with an arm that it is for; where nothing is edited, nobody writes, edits or verifies."""
    for stage in STAGES:
        idle = stage.field in ("writer", "editor", "verifier")
        asked = [arm for arm in arms if not idle or RULES[arm.protocol].edits != "none"]
        yield from ((stage, arm) for arm in {tuple(getattr(a, f) for f in stage.fields): a for a in asked}.values())


def longest(limits: Mapping[str, int]) -> Lengths:
    """The lengths if every model speaks as long as it may; `limits` are the tokens by the field of an arm."""
    said = {field: limits.get(field) or UNKNOWN_LIMIT for field in ("vlm", "writer", "judge")}
    return Lengths(LONGEST_QUESTION, said["vlm"], said["vlm"], said["writer"], said["judge"])


def requests(
    stage: Stage, has: Lengths, answer_prompt: int, explain_prompt: int, rules: Rules, edits: int
) -> list[Request]:
    """The requests for one item.

    Args:
        stage: which one.
        has: the lengths of the texts.
        answer_prompt: tokens of the template of the first turn.
        explain_prompt: tokens of the template of the second turn, which repeats the first.
        rules: of the protocol.
        edits: how many there are of an explanation.
    """
    numbers = range(1, edits + 1) if stage.every_edit else [1]
    said = has.answer + has.explanation
    if stage.field == "vlm":
        opening = answer_prompt + has.question
        follow_up = opening + has.answer + explain_prompt
        return [Request(opening, 1, has.answer), Request(follow_up, 1, has.explanation)] * len(numbers)
    if stage.field == "writer":
        return [Request(has.question + said, 0, edits * has.instruction)]
    if stage.field == "editor":
        return [Request(has.instruction, 1, has.verdict)] * len(numbers)  # words come from a gate's verifier alone
    if stage.field == "verifier":
        return [Request(has.instruction, 0, has.verdict)] * len(numbers)
    told = [(n if rules.chained else 1) if rules.edits == "cited" else 0 for n in numbers]
    return [Request(2 * said + count * has.instruction, 0, has.verdict) for count in told]
