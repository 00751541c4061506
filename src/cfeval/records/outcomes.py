"""How failures travel: a later stage repeats the status of the stage that failed, and does no work for the item."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from cfeval.records.common import Outcome, Status
from cfeval.streams import batched

Ended = TypeVar("Ended", bound=Outcome)
Result = TypeVar("Result")


def work_through(
    records: Iterable[Ended], work: Callable[[list[Ended]], Sequence[Result]], batch: int
) -> Iterator[tuple[Ended, Result | None]]:
    """Do a stage's work, batch by batch, for the records that have not failed before.

    Args:
        records: what the stage before passed on.
        work: from a list of sound records to their results, in order.
        batch: how many records to hold at a time.

    Yields:
        Every record in its order, with its result, or with None where it failed at an earlier stage.
    """
    for some in batched(records, batch):
        sound = [record for record in some if not failed(record)]
        results = iter(work(sound) if sound else ())
        for record in some:
            yield record, None if failed(record) else next(results)


def failed(outcome: Outcome) -> bool:
    """Whether an item has ended."""
    return outcome.status != Status.OK


def carried(outcome: Outcome) -> dict[str, Any]:
    """Status, stage and reason of an earlier failure, as fields for the next record."""
    return {"status": outcome.status, "stage": outcome.stage, "reason": outcome.reason}


def ended(status: Status, stage: str, reason: str) -> dict[str, Any]:
    """Status, stage and reason of what ended here; no stage and no reason where all is well."""
    if status == Status.OK:
        return {}
    return {"status": status, "stage": stage, "reason": " ".join(reason.split())}
