"""Are the pictures that records name there, and are they the ones that the records were written for?"""

from collections.abc import Callable, Collection, Iterator, Sequence

from cfeval.records.common import ImageRef, Record
from cfeval.records.edct import Check, Counterfactual, Sample, Verification
from cfeval.studies.edct.evidence.link import Link, key_of


def pictures_of(record: Record) -> Iterator[ImageRef]:
    """Every picture that a record names: images, the attempts at an edit, masks and heat maps."""
    if isinstance(record, Sample | Counterfactual) and record.image is not None:
        yield record.image
    if isinstance(record, Counterfactual):
        for attempt in record.tries:
            yield attempt.image
            yield from _found(attempt.found)
    if isinstance(record, Check) and record.found is not None:
        yield from _found(record.found)


def _found(found: Verification) -> Iterator[ImageRef]:
    return (found.pictures[name] for name in sorted(found.pictures))


def picture_links(
    stage: str, records: Sequence[Record], look: Callable[[ImageRef], str], there: Collection[str]
) -> Iterator[Link]:
    """A link for each picture that a stage's records name, and a fault for each that lies there unnamed.

    Args:
        look: what is wrong with a picture's file; empty where nothing is.
        there: the names of the picture files beside the records.
    """
    named = set()
    for record in records:
        for ref in pictures_of(record):
            named.add(ref.path)
            yield Link(stage, key_of(record), look(ref))
    for name in sorted(set(there) - named):
        yield Link(stage, ("", 0), f"no line names the picture {name}")
