"""The edits of one item: what each one starts from, and what was done to the image before it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from cfeval.io.pictures import Picture
from cfeval.protocols.rules import RULES
from cfeval.records.edct import Counterfactual, Instruction, Sample
from cfeval.streams import ByKey

ByEdit = ByKey[tuple[str, int], Instruction]


def by_item(instructions: Iterable[Instruction]) -> Iterator[list[Instruction]]:
    """The instructions of one item after the other, each list in the order of its edits."""
    for _, chain in groupby(instructions, key=lambda instruction: instruction.id):
        yield list(chain)


def earlier(item: str, edit: int, instructions: ByEdit, protocol: str) -> list[Instruction]:
    """The instructions whose edits the image has been through before this one, in order."""
    return [instructions[item, number] for number in range(1, edit)] if RULES[protocol].chained else []


def positives(instructions: Sequence[Instruction]) -> tuple[str, ...]:
    """Their positive parts."""
    return tuple(instruction.positive for instruction in instructions)


def base_of(
    made: ByKey[tuple[str, int], Counterfactual],
    samples: ByKey[str, Sample],
    original_of: Callable[[Sample], Picture],
    edited_of: Callable[[Counterfactual], Picture],
    protocol: str,
) -> Callable[[Counterfactual], Picture]:
    """How to open the image that an edit was applied to: the original, or in a chain the result of the edit before."""

    def base(record: Counterfactual) -> Picture:
        if RULES[protocol].chained and record.edit > 1:
            return edited_of(made[record.id, record.edit - 1])
        return original_of(samples[record.id])

    return base
