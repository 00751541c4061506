"""How failures travel: a later stage repeats the status of the stage that failed, and does no work for the item."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from cfeval.records.common import Outcome, Status

Ended = TypeVar("Ended", bound=Outcome)
Result = TypeVar("Result")


def work_through(
    records: Iterable[Ended], work: Callable[[Iterator[Ended]], Iterator[tuple[Ended, Result]]]
) -> Iterator[tuple[Ended, Result | None]]:
    """Do a stage's work for the records that have not failed before.

    Args:
        records: what the stage before passed on.
        work: from the sound records, of which it may take some ahead, to the same with their results, in order.

    Yields:
        Every record in its order, with its result, or with None where it failed at an earlier stage.
    """
    taken: deque[Ended] = deque()

    def sound() -> Iterator[Ended]:
        for record in records:
            taken.append(record)
            if not failed(record):
                yield record

    for record, result in work(sound()):
        while (earlier := taken.popleft()) is not record:
            yield earlier, None
        yield record, result
    yield from ((record, None) for record in taken)


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
