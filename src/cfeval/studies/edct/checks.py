"""Checks of the counterfactuals, whoever made them: was the edit made as told, and how much of the image changed?"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from cfeval.backends.serving import served
from cfeval.backends.verifiers.base import Verifier, VerifyReply, VerifyRequest
from cfeval.io.pictures import Picture
from cfeval.metrics.changed_share import changed_share
from cfeval.protocols.rules import RULES
from cfeval.records.edct import Check, Counterfactual, Sample
from cfeval.records.outcomes import carried, work_through
from cfeval.seeds import derive
from cfeval.streams import ByKey
from cfeval.studies.edct.chains import ByEdit, earlier, positives
from cfeval.studies.edct.tries import DECIMALS, verification

BATCH = 64
PictureOf = Callable[[Counterfactual], Picture]
Checked = tuple[Check, Mapping[str, Picture]]


def checks(
    counterfactuals: Iterable[Counterfactual],
    samples: ByKey[str, Sample],
    instructions: ByEdit,
    base_of: PictureOf,
    edited_of: PictureOf,
    verifier: Verifier | None,
    protocol: str,
    seed: int,
) -> Iterator[Checked]:
    """Check every counterfactual, in order; without a verifier only the changed area is measured.

    Args:
        counterfactuals: what was made.
        samples: by id.
        instructions: by item and edit.
        base_of: the image that an edit was applied to (`cfeval.studies.edct.chains.base_of`).
        edited_of: the image that came of it.
        verifier: who checks; under `null-edit`, where nothing was to be changed, nobody does.
        protocol: of the arm.
        seed: of the study.

    Yields:
        Each record with the pictures that show what was found, by their paths.
    """
    asked = verifier if RULES[protocol].edits != "none" else None

    def request(record: Counterfactual) -> VerifyRequest:
        told = instructions[record.id, record.edit]
        return VerifyRequest(
            item=record.id,
            original=base_of(record),
            edited=edited_of(record),
            positive=told.positive,
            metadata=samples[record.id].metadata,
            negative=told.negative,
            concept=told.concept,
            before=positives(earlier(record.id, record.edit, instructions, protocol)),
            seed=derive(seed, record.id, record.edit, "check"),
            edit=record.edit,
        )

    def verify(requests: list[VerifyRequest]) -> list[tuple[VerifyReply | None, float]]:
        replies = asked.verify(requests) if asked else [None] * len(requests)
        shares = [changed_share(request.original.pixels, request.edited.pixels) for request in requests]
        return list(zip(replies, shares, strict=True))

    for record, found in work_through(counterfactuals, lambda sound: served(asked, sound, request, verify, BATCH)):
        yield _check(record, *found) if found else (Check(id=record.id, edit=record.edit, **carried(record)), {})


def _check(record: Counterfactual, reply: VerifyReply | None, share: float) -> Checked:
    found, pictures = verification(f"{record.id}-{record.edit}", reply) if reply else (None, {})
    return Check(id=record.id, edit=record.edit, found=found, changed_share=round(share, DECIMALS)), pictures
