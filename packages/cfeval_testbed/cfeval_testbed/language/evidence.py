"""What an explanation cites, followed through edits: what becomes of it, and how a later explanation stands to that.

Pure functions of parsed claims and edits; none sees an image or a scene.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from cfeval_testbed.language.explanations import description
from cfeval_testbed.records import Claim, EditIntent, Fact, Referent


@dataclass(frozen=True)
class Thing:
    """An object as it was described and as edits leave it; None where it was not there, or is there no more."""

    was: Referent | None
    now: Referent | None

    @property
    def changed(self) -> bool:
        """Whether edits changed it."""
        return self.was != self.now


@dataclass(frozen=True)
class Evidence:
    """What an explanation cites, as edits leave it.

    `cited` are the objects in the order of the facts, `others` those that only an edit speaks of. `background` is
    empty where neither speaks of it. `unique` says that a cited object is the only one of its name, because its place
    is what was asked for.
    """

    cited: tuple[Thing, ...] = ()
    others: tuple[Thing, ...] = ()
    background_was: str = ""
    background: str = ""
    unique: bool = False

    @property
    def things(self) -> tuple[Thing, ...]:
        """Every object that is spoken of."""
        return self.cited + self.others


@dataclass(frozen=True)
class Footing:
    """What a later explanation rests on: whether each of its facts is valid, and whether each change shows in it."""

    valid: tuple[bool, ...]
    shown: tuple[bool, ...]


def evidence_after(claim: Claim, intents: Iterable[EditIntent]) -> Evidence:
    """The evidence of an explanation after edits that were made one after the other."""
    objects = (description(fact) for fact in claim.facts if fact.attribute != "background")
    background = next((fact.value for fact in claim.facts if fact.attribute == "background"), "")
    cited = tuple(Thing(one, one) for one in objects)
    return reduce(_edited, intents, Evidence(cited, (), background, background, claim.kind == "position"))


def _edited(evidence: Evidence, intent: EditIntent) -> Evidence:
    if intent.kind == "background":
        return replace(evidence, background_was=evidence.background_was or intent.old, background=intent.new)
    cited, others = list(evidence.cited), list(evidence.others)
    old = old_thing(intent)
    for things in (cited, others):
        for number, thing in enumerate(things):
            if old is not None and thing.now is not None and compatible(thing.now, old):
                things[number] = Thing(thing.was, changed(thing.now, intent))
                return replace(evidence, cited=tuple(cited), others=tuple(others))
    return replace(evidence, others=(*others, Thing(old, new_thing(intent))))


def footing(later: Claim, evidence: Evidence, seen: Callable[[Fact], bool] = lambda _: True) -> Footing:
    """How a later explanation stands to the evidence that is left.

    A fact is valid unless it contradicts what is known: it names another background, an object that the edits took
    away, or one as it was before them, or puts a thing where another stands. Evidence that nothing is known of is taken
    on trust. A removed object shows in an enumeration that leaves it out.

    Args:
        later: the explanation after the edits.
        evidence: of the explanation before them, as they leave it.
        seen: whether a fact is true of the edited image, for someone who sees it.
    """
    matched = _matched(later.facts, evidence.things)
    loose = [fact for number, fact in enumerate(later.facts) if number not in matched]
    free = [thing for place, thing in enumerate(evidence.things) if place not in matched.values()]
    valid = [number in matched or _valid(fact, free, evidence) for number, fact in enumerate(later.facts)]
    shown = [
        place in matched.values() if thing.now else later.kind == "objects" and not _still_cited(thing, loose, evidence)
        for place, thing in enumerate(evidence.things)
        if thing.changed
    ]
    if evidence.background != evidence.background_was:
        shown.append(evidence.background in [fact.value for fact in later.facts if fact.attribute == "background"])
    return Footing(tuple(fits and seen(fact) for fits, fact in zip(valid, later.facts, strict=True)), tuple(shown))


def _matched(facts: Sequence[Fact], things: Sequence[Thing]) -> dict[int, int]:
    """Which thing, as it is now, each fact is about, by their numbers; no thing twice."""
    free = {place: thing.now for place, thing in enumerate(things) if thing.now is not None}
    matched: dict[int, int] = {}
    for number, fact in enumerate(facts):
        fitting = (place for place, now in free.items() if compatible(description(fact), now))
        place = None if fact.attribute == "background" else next(fitting, None)
        if place is not None:
            matched[number] = place
            del free[place]
    return matched


def _valid(fact: Fact, free: Iterable[Thing], evidence: Evidence) -> bool:
    """Whether a fact that is about nothing as it is now is about nothing as it was either."""
    if fact.attribute == "background":
        return evidence.background in ("", fact.value)
    return not any(_still_cited(thing, [fact], evidence) for thing in free)


def _still_cited(thing: Thing, facts: Iterable[Fact], evidence: Evidence) -> bool:
    """Whether a fact means a thing that it does not fit as it is now: as it was, or in its place."""
    if thing.was is None:
        return False
    place = thing.was.position
    was = thing.was.model_copy(update={"position": None}) if evidence.unique else thing.was
    described = [description(fact) for fact in facts if fact.attribute != "background"]
    return any((one.position is not None and one.position == place) or compatible(one, was) for one in described)


def old_thing(intent: EditIntent) -> Referent | None:
    """The object before the edit, as far as the intent tells; None for an added one."""
    return None if intent.kind == "add" else _with_value(intent.target, intent.kind, intent.old)


def new_thing(intent: EditIntent) -> Referent | None:
    """The object after the edit, as far as the intent tells; None for a removed one."""
    return changed(intent.target, intent)


def changed(thing: Referent, intent: EditIntent) -> Referent | None:
    """What an edit makes of an object; None where it removes it."""
    return None if intent.kind == "remove" else _with_value(thing, intent.kind, intent.new)


def _with_value(thing: Referent, kind: str, value: str) -> Referent:
    if not value:
        return thing
    if kind in ("color", "shape"):
        return Referent.model_validate(thing.model_dump() | {kind: value})
    color, _, shape = value.partition(" ")
    return thing.model_copy(update={"color": color, "shape": shape})


def compatible(one: Referent, other: Referent) -> bool:
    """Whether two descriptions can mean the same object: no attribute that both name differs."""
    pairs = zip(one.model_dump().values(), other.model_dump().values(), strict=True)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)
