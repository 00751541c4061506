"""Checks of the counterfactuals: was the edit made as told, and how much of the image changed?"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from cfeval.backends.verifiers.base import Verifier, VerifyReply, VerifyRequest
from cfeval.io.pictures import Picture
from cfeval.metrics.changed_share import changed_share
from cfeval.records.edct import Check, Counterfactual, Instruction, Sample
from cfeval.studies.edct.outcomes import carried, work_through

BATCH = 64


def checks(
    counterfactuals: Iterable[Counterfactual],
    samples: Mapping[str, Sample],
    instructions: Mapping[tuple[str, int], Instruction],
    original_of: Callable[[Sample], Picture],
    edited_of: Callable[[Counterfactual], Picture],
    verifier: Verifier | None,
) -> Iterator[Check]:
    """Check every counterfactual, in order; without a verifier only the changed area is measured."""

    def verify(records: list[Counterfactual]) -> list[tuple[VerifyReply, float]]:
        requests = [
            VerifyRequest(
                item=record.id,
                original=original_of(samples[record.id]),
                edited=edited_of(record),
                positive=instructions[record.id, record.edit].positive,
                scene=samples[record.id].scene,
            )
            for record in records
        ]
        replies = verifier.verify(requests) if verifier else [VerifyReply(None)] * len(requests)
        shares = [changed_share(request.original.pixels, request.edited.pixels) for request in requests]
        return list(zip(replies, shares, strict=True))

    for record, found in work_through(counterfactuals, verify, BATCH):
        yield _check(record, *found) if found else Check(id=record.id, edit=record.edit, **carried(record))


def _check(record: Counterfactual, reply: VerifyReply, share: float) -> Check:
    verified = None if reply.verified is None else int(reply.verified)
    return Check.model_validate(
        {
            "id": record.id,
            "edit": record.edit,
            "verified": verified,
            "changed_share": round(share, 4),
            "reason": reply.reason,
        }
    )
