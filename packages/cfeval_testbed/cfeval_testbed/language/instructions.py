"""Edit instructions in words: written from an intent, parsed back to the same intent, and carried out on a scene.

What someone sees in an image of the drawn world, and the edits that an earlier explanation must have met since.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from cfeval_testbed.language.evidence import compatible
from cfeval_testbed.language.explanations import article, description, parse_referent, referent_phrase
from cfeval_testbed.records import Claim, EditIntent, Fact, Referent, Scene
from cfeval_testbed.scenes import SceneEditError, TargetAbsentError, apply, resolve

_KEEP = "Keep everything else as it is."
_PATTERNS = {
    "color": re.compile(r"Change the color of (?P<target>[a-z ]+) from (?P<old>[a-z]+) to (?P<new>[a-z]+)\."),
    "shape": re.compile(r"Change the shape of (?P<target>[a-z ]+) from an? (?P<old>[a-z]+) to an? (?P<new>[a-z]+)\."),
    "object": re.compile(
        r"Replace (?P<target>[a-z ]+)(?:, an? (?P<old>[a-z]+ [a-z]+),)?"
        r" with an? (?P<new>[a-z]+ [a-z]+) of the same size\."
    ),
    "remove": re.compile(
        r"Remove (?P<target>[a-z ]+)(?:, an? (?P<old>[a-z]+ [a-z]+),)? so that only the background remains there\."
    ),
    "add": re.compile(r"Add an? (?P<new>[a-z]+ [a-z]+) where (?P<target>[a-z ]+) would be\."),
    "background": re.compile(r"Change the background from (?P<old>[a-z]+) to (?P<new>[a-z]+)\."),
}


def describe(intent: EditIntent) -> tuple[str, str, str]:
    """The concept that an edit changes, the positive instruction, and what must not remain (the negative one)."""
    return _concept(intent), f"{_order(intent)} {_KEEP}", _negative(intent)


def parse_instruction(positive: str) -> EditIntent | None:
    """The intent of a positive instruction written by `describe`, or None."""
    order = positive.strip().removesuffix(_KEEP).strip()
    for kind, pattern in _PATTERNS.items():
        found = pattern.fullmatch(order)
        if found is not None:
            words = found.groupdict()
            target = parse_referent(words["target"]) if "target" in words else Referent()
            if target is None:
                return None
            return EditIntent.model_validate(
                {"kind": kind, "target": target, "old": words.get("old") or "", "new": words.get("new") or ""}
            )
    return None


def scene_after(scene: Scene, instructions: Iterable[str]) -> Scene:
    """The scene after instructions that are carried out one after the other.

    The target decides what is edited, the new value how; that the old value may be another than an instruction says
    does not matter, as it would not to an editor of pixels.

    Raises:
        SceneEditError: an instruction is not in the world's language, or does not fit the scene that it meets;
            TargetAbsentError where what it edits is not there.
    """
    return reduce(_carried_out, instructions, scene)


def _carried_out(scene: Scene, positive: str) -> Scene:
    intent = parse_instruction(positive)
    if intent is None:
        raise SceneEditError("the instruction is not in the test bed's language")
    fitting = len(resolve(scene, intent.target))
    if intent.kind not in ("background", "add") and fitting != 1:
        kind = SceneEditError if fitting else TargetAbsentError
        phrase = referent_phrase(intent.target)
        raise kind(f"{fitting} objects in the scene fit '{phrase}', and one is needed")
    return apply(scene, intent.model_copy(update={"old": ""}))


def _order(intent: EditIntent) -> str:
    target = referent_phrase(intent.target)
    if intent.kind == "color":
        return f"Change the color of {target} from {intent.old} to {intent.new}."
    if intent.kind == "shape":
        return f"Change the shape of {target} from {article(intent.old)} to {article(intent.new)}."
    if intent.kind == "object":
        return f"Replace {target}{_apposition(intent.old)} with {article(intent.new)} of the same size."
    if intent.kind == "remove":
        return f"Remove {target}{_apposition(intent.old)} so that only the background remains there."
    if intent.kind == "add":
        return f"Add {article(intent.new)} where {target} would be."
    return f"Change the background from {intent.old} to {intent.new}."


def _apposition(old: str) -> str:
    return f", {article(old)}," if old else ""


def _concept(intent: EditIntent) -> str:
    if intent.kind == "background":
        return f"{intent.old} background"
    target = referent_phrase(intent.target)
    if intent.kind in ("color", "shape"):
        return f"{intent.old} {intent.kind} of {target}"
    return target.removeprefix("the ")


def _negative(intent: EditIntent) -> str:
    """The thing that was there, as a noun phrase."""
    if intent.kind == "background":
        return article(f"{intent.old} background")
    if intent.kind == "add":
        return "an empty place"
    where = "" if intent.target.position is None else f" in the {intent.target.position}"
    return article(_old_thing(intent)) + where


def _old_thing(intent: EditIntent) -> str:
    target = intent.target
    if intent.kind in ("object", "remove") and intent.old:
        words = [target.size, intent.old]
    elif intent.kind == "color":
        words = [target.size, intent.old, target.shape or "object"]
    elif intent.kind == "shape":
        words = [target.size, target.color, intent.old]
    else:
        words = [target.size, target.color, target.shape or "object"]
    return " ".join(word for word in words if word)


@dataclass(frozen=True)
class View:
    """The objects of an image, each with all its attributes, in reading order, and the background."""

    things: tuple[Referent, ...]
    background: str

    def shows(self, fact: Fact) -> bool:
        """Whether the fact is true of the image."""
        if fact.attribute == "background":
            return fact.value == self.background
        return any(compatible(description(fact), thing) for thing in self.things)


def inferred_edits(claim: Claim, view: View) -> list[EditIntent]:
    """The edits after which an explanation that was true would no longer be, as far as the image shows.

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
