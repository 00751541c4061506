"""The edits of one item: what each one starts from, and what an editor's attempts and verifiers leave as records.

Images that show what was found out are named by their paths beside the records.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from cfeval.core.images import Image
from cfeval.core.records import Binary
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample
from cfeval.edct.interfaces import EditReply, VerifyReply
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Counterfactual, EditAttempt, Instruction, Verification

ByEdit = ByKey[tuple[str, int], Instruction]
# Numbers are rounded, so that they are the same on any machine.
DECIMALS = 4


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
    original_of: Callable[[Sample], Image],
    edited_of: Callable[[Counterfactual], Image],
    protocol: str,
) -> Callable[[Counterfactual], Image]:
    """How to open the image that an edit was applied to: the original, or in a chain the result of the edit before."""

    def base(record: Counterfactual) -> Image:
        if RULES[protocol].chained and record.edit > 1:
            return edited_of(made[record.id, record.edit - 1])
        return original_of(samples[record.id])

    return base


def verification(name: str, reply: VerifyReply) -> tuple[Verification, dict[str, Image]]:
    """A verifier's reply as a record; its images are filed as `NAME-mask.png` and the like."""
    paths = {kind: f"{name}-{kind}.png" for kind in reply.images}
    finding = Verification(
        verified=_bit(reply.verified),
        reason=" ".join(reply.reason.split()),
        numbers={key: round(float(value), DECIMALS) for key, value in reply.numbers.items()},
        images={kind: reply.images[kind].ref(path) for kind, path in paths.items()},
        completion=reply.completion,
        calls=reply.calls,
        absent=_bit(reply.absent),
    )
    return finding, {path: reply.images[kind] for kind, path in paths.items()}


def _bit(value: bool | None) -> Binary | None:
    return None if value is None else (1 if value else 0)


def attempts(name: str, reply: EditReply) -> tuple[tuple[EditAttempt, ...], dict[str, Image]]:
    """The attempts of an editor that checks its own work; images are filed as `NAME-try1.png` and the like.

    The accepted one is the counterfactual itself, `NAME.png`.
    """
    records: list[EditAttempt] = []
    images: dict[str, Image] = {}
    for number, attempt in enumerate(reply.attempts, start=1):
        this = f"{name}-try{number}"
        finding, evidence = verification(this, attempt.found)
        path = f"{name}.png" if attempt.image is reply.image else f"{this}.png"
        image = attempt.image.ref(path)
        records.append(EditAttempt(seed=attempt.seed, image=image, found=finding, details=attempt.details))
        images |= {path: attempt.image, **evidence}
    return tuple(records), images
