"""Programs that answer questions about scenes, with what they suppose, in ViperGPT's and in VisProg's language.

What is supposed is reckoned with, not looked for: a program counts kinds of objects in the image as it is, and a
formula makes the answer of the counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from cfeval.cvqa.records import Language
from cfeval_testbed.counterfactual_questions.language import singular
from cfeval_testbed.counterfactual_questions.meaning import (
    HALVES,
    NAMED,
    Add,
    Change,
    Join,
    Keep,
    Kind,
    Meaning,
    Multiply,
    Remove,
    Supposition,
    Take,
    Thing,
    is_of,
)
from cfeval_testbed.records import POSITIONS

_CONDITIONS = {
    "top": "patch.vertical_center > image_patch.vertical_center",
    "bottom": "patch.vertical_center < image_patch.vertical_center",
    "left": "patch.horizontal_center < image_patch.horizontal_center",
    "right": "patch.horizontal_center > image_patch.horizontal_center",
}
"""Where a thing is, in ViperGPT's coordinates: y points up."""


class UnsettledError(ValueError):
    """What was said does not settle the answer, and why."""


@dataclass
class Reckoning:
    """How the answer follows from counts: `text` is a formula in which `{0}` is the number of the first kind."""

    kinds: list[Kind] = field(default_factory=list)
    text: str = ""

    def count(self, kind: Kind | None) -> str:
        """What stands in the formula for the number of a kind; None is a kind of which there can be none."""
        if kind is None:
            return "0"
        if kind not in self.kinds:
            self.kinds.append(kind)
        return f"{{{self.kinds.index(kind)}}}"


def program(meaning: Meaning, language: Language, heed: bool = True) -> str:
    """A program that answers a question.

    Args:
        meaning: what is asked and supposed.
        language: of the program.
        heed: whether it takes note of what is supposed.

    Raises:
        UnsettledError: the question has no answer that follows from what it says.
    """
    reckoning = reckon(meaning if heed else replace(meaning, supposed=None))
    presence = meaning.asked == "presence"
    lines = _vipergpt(reckoning, presence) if language == "vipergpt" else _visprog(reckoning, presence)
    return "\n".join(lines)


def reckon(meaning: Meaning) -> Reckoning:
    """How many objects of the kind that is asked about there are in the supposed world, from counts of the real one.

    Raises:
        UnsettledError: whether a new object is of that kind was left open.
    """
    made = Reckoning()
    if meaning.supposed is None:
        made.text = made.count(meaning.kind)
    elif isinstance(meaning.supposed, Keep):
        made.text = made.count(meet(meaning.kind, meaning.supposed.kind))
    else:
        made.text = f"{made.count(meaning.kind)}{_difference(made, meaning, meaning.supposed)}"
    return made


def _difference(made: Reckoning, meaning: Meaning, supposed: Supposition) -> str:
    """What a supposition adds to the number of the objects asked about, and takes from it; as the end of a formula."""
    both = meet(meaning.kind, supposed.kind)
    match supposed:
        case Add(number, kind):
            return f" + {number}" if _counts(kind, meaning) else ""
        case Multiply(factor, kind):
            return f" + {factor - 1} * {made.count(kind)}" if _counts(kind, meaning) else ""
        case Join(new, kind):
            return f" + {made.count(kind)}" if _counts(new, meaning) else ""
        case Take(number, kind):
            return _taken(made, number, kind, both)
        case Remove():
            return "" if both is None else f" - {made.count(both)}"
        case Change():
            after = _changed(meaning.kind, supposed)
            gone = "" if both is None else f" - {made.count(both)}"
            return gone if after is None else f"{gone} + {made.count(after)}"
        case Keep():
            raise AssertionError("what is kept is counted by itself")
        case _:
            assert_never(supposed)


def meet(one: Kind, other: Kind) -> Kind | None:
    """The kind of what is of both kinds; None where nothing can be."""
    named: dict[str, str | None] = {}
    for name in NAMED:
        values = {value for kind in (one, other) if (value := getattr(kind, name)) is not None}
        if len(values) > 1:
            return None
        named[name] = values.pop() if values else None
    places = _places(one.area) & _places(other.area)
    return Kind(**named, area=_AREAS[places]) if places else None


def _counts(new: Kind, meaning: Meaning) -> bool:
    """Whether a new object of a kind is one of those that are asked about."""
    fits = is_of(Thing(new.color, new.shape, new.size), meaning.kind)
    if fits is None and meaning.asked == "count":
        raise UnsettledError(f"whether a new {singular(new)} is a {singular(meaning.kind)} was left open")
    return bool(fits)  # an object that may or may not be of the kind does not settle whether there is one


def _taken(made: Reckoning, number: int, kind: Kind, both: Kind | None) -> str:
    """So many of a kind are gone: all of them, or some of which it does not matter which."""
    if both is None or both == kind:
        return "" if both is None else f" - {number}"
    some = made.count(both)
    return f" - ({number} if {some} == {made.count(kind)} else {some})"


def _changed(asked: Kind, change: Change) -> Kind | None:
    """The objects as they were that are of the kind asked about once they are changed; None where none can be."""
    if getattr(asked, change.attribute) not in (None, change.value):
        return None
    before = {name: None if name == change.attribute else getattr(asked, name) for name in NAMED}
    return meet(Kind(**before, area=asked.area), change.kind)


def _places(area: str | None) -> frozenset[str]:
    if area in HALVES:
        return frozenset(place for place in POSITIONS if area.removesuffix(" half") in place.split())
    return frozenset(POSITIONS if area is None else (area,))


_AREAS: Mapping[frozenset[str], str | None] = {_places(area): area for area in (None, *HALVES, *POSITIONS)}


def _vipergpt(reckoning: Reckoning, presence: bool) -> list[str]:
    lines = ["image_patch = ImagePatch(image)"]
    for number, kind in enumerate(reckoning.kinds):
        lines += [f'patches_{number} = image_patch.find("{singular(replace(kind, area=None))}")']
        if kind.area is not None:
            where = " and ".join(_CONDITIONS[side] for side in kind.area.split() if side != "half")
            lines += [f"patches_{number} = [patch for patch in patches_{number} if {where}]"]
    counts = [f"len(patches_{number})" for number in range(len(reckoning.kinds))]
    lines += [f"number = {reckoning.text.format(*counts)}"]
    lines += ["return bool_to_yesno(number > 0)" if presence else "return number"]
    return ["def execute_command(image):", *(f"    {line}" for line in lines)]


def _visprog(reckoning: Reckoning, presence: bool) -> list[str]:
    lines = []
    for number, kind in enumerate(reckoning.kinds):
        lines += [f"BOX{number}=LOC(image=IMAGE,object='{singular(kind)}')", f"N{number}=COUNT(box=BOX{number})"]
    counts = [f"{{N{number}}}" for number in range(len(reckoning.kinds))]
    lines += [f"ANSWER0=EVAL(expr='{reckoning.text.format(*counts)}')"]
    if presence:
        lines += ["""ANSWER1=EVAL(expr="'yes' if {ANSWER0} > 0 else 'no'")""", "FINAL_RESULT=RESULT(var=ANSWER1)"]
        return lines
    return [*lines, "FINAL_RESULT=RESULT(var=ANSWER0)"]
