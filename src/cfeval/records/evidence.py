"""A line of the evidence chain that an auditor keeps (`cfeval edct verify --out`)."""

from cfeval.records.common import ItemId, Sha256, Status
from cfeval.records.edct import Arm


class ChainLine(Arm):
    """Everything behind one score, by SHA-256.

    `image` and `edited` are picture files. A stage's field is the hash of its record as a JSONL line (keys sorted,
    UTF-8, with the line end); the record names pictures and calls by hash in turn.
    """

    id: ItemId
    edit: int
    status: Status
    image: Sha256
    sample: Sha256
    baseline: Sha256
    instruction: Sha256
    edited: Sha256 | None
    """None where the edit failed."""
    counterfactual: Sha256
    check: Sha256
    requery: Sha256
    verdict: Sha256
    score: Sha256
    pictures: tuple[Sha256, ...] = ()
    """The pictures of attempts and checks: rejected edits, masks, heat maps."""
    calls: tuple[Sha256, ...] = ()
    """The calls to models outside: keys of the response store, each the hash of what was asked."""
    head: Sha256
    """The hash of this line without its head, after the head of the line before: the last one stands for all."""
