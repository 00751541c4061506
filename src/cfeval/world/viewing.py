"""What someone sees in a picture of the drawn world, and the edits that an earlier explanation must have met since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cfeval.records.world import Claim, EditIntent, Fact, Referent
from cfeval.world.evidence import compatible
from cfeval.world.language import description


@dataclass(frozen=True)
class View:
    """The objects of a picture, each with all its attributes, in reading order, and the background."""

    things: tuple[Referent, ...]
    background: str

    def shows(self, fact: Fact) -> bool:
        """Whether the fact is true of the picture."""
        if fact.attribute == "background":
            return fact.value == self.background
        return any(compatible(description(fact), thing) for thing in self.things)


def inferred_edits(claim: Claim, view: View) -> list[EditIntent]:
    """The edits after which an explanation that was true would no longer be, as far as the picture shows.

    An object is followed by its place. The objects of an enumeration have none: what is missing was turned into what is
    new, of equal shape or color where there is one, else removed.
    """
    if claim.kind == "objects":
        return _edits_of_enumeration([description(fact) for fact in claim.facts], view.things)
    return [edit for fact in claim.facts for edit in _edits_of_fact(fact, view)]


def _edits_of_fact(fact: Fact, view: View) -> Iterable[EditIntent]:
    if view.shows(fact):
        return
    if fact.attribute == "background":
        yield EditIntent(kind="background", old=fact.value, new=view.background)
        return
    said = description(fact)
    here = next((thing for thing in view.things if thing.position == said.position), None)
    if here is None:
        yield EditIntent(kind="remove", target=said)
        return
    for kind, old, new in (("color", said.color, here.color), ("shape", said.shape, here.shape)):
        if old is not None and old != new:
            target = (here if kind == "shape" else said).model_copy(update={kind: None})
            yield EditIntent.model_validate({"kind": kind, "target": target, "old": old, "new": new or ""})


def _edits_of_enumeration(said: Sequence[Referent], things: Iterable[Referent]) -> list[EditIntent]:
    missing, new = list(said), list(things)
    for thing in said:
        found = next((one for one in new if compatible(thing, one)), None)
        if found is not None:
            missing.remove(thing)
            new.remove(found)
    turned = []
    for thing in missing[: len(new)]:
        successor = max(new, key=lambda one: (one.shape == thing.shape) + (one.color == thing.color))
        new.remove(successor)
        turned.append(EditIntent(kind="object", target=thing, new=f"{successor.color} {successor.shape}"))
    gone = [EditIntent(kind="remove", target=thing) for thing in missing[len(turned) :]]
    added = [
        EditIntent(kind="add", target=Referent(position=one.position), new=f"{one.color} {one.shape}") for one in new
    ]
    return [*turned, *gone, *added]
