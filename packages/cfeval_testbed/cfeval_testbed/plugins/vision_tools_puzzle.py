"""Vision operations on synthetic puzzles, by image processing on the pixels alone: exact counts, insides, colors.

A name is one of the nouns dot, circle, polygon, flower, object, in the singular or plural, and before it any of: a
color of a polygon (`red polygon`); where in the part it is (`top circle`, `bottom left circle`: all of it on that side
of the middle); an extreme, with a number (`two rightmost circles`); a place in reading order (`third circle`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from cfeval.core.images import Image
from cfeval.cvqa.plugins.vision_tool_models import Talk, TellingPlugin, center_in, whole
from cfeval.cvqa.programs.vision import Box, Found, View, Vision, VisionError
from cfeval.cvqa.synthetic.records import POLYGON_COLORS

if TYPE_CHECKING:
    from cfeval_testbed.puzzles.recognition import Sight, Thing

NOUNS = {"dot": "dot", "spot": "dot", "circle": "circle", "polygon": "polygon", "flower": "flower", "object": ""}
"""What can be found: a word, and the kind of thing that it means; empty for all."""
NUMBERS = ("one", "two", "three", "four", "five", "six")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
SIDES = ("top", "bottom", "left", "right")
EXTREMES = {"topmost": (1, 1), "bottommost": (1, -1), "leftmost": (0, 1), "rightmost": (0, -1)}
"""By the axis, and the sign with which a small coordinate comes first."""
_NAME = re.compile(
    rf"(?:(?:the|an?|all) )*(?:(?P<place>{'|'.join(ORDINALS)}) )?"
    rf"(?:(?:(?P<number>{'|'.join(NUMBERS)}|[1-9]) )?(?P<extreme>{'|'.join(EXTREMES)}) )?"
    rf"(?P<sides>(?:(?:{'|'.join(SIDES)}) )*)(?:(?P<color>{'|'.join(POLYGON_COLORS)}) )?(?P<noun>{'|'.join(NOUNS)})s?"
)
_PLACE = r"(?:this|the|that) (?P<place>image|picture|part|circle|polygon)"
_COUNTS = (
    re.compile(
        r"(?:how many|what is the number of) (?P<name>.+?s)(?: (?:are|is))?(?: (?:there|here|shown|visible))?"
        rf"(?: (?:in|inside|within) (?:it|{_PLACE}))?"
    ),
    re.compile(rf"how many (?P<name>.+?s) does (?:it|{_PLACE}) (?:contain|have|hold|show)"),
)
_THERE = re.compile(rf"(?:is|are) there (?P<name>.+?)(?: here| (?:in|inside|within) (?:it|{_PLACE}))?")
_COLOR = re.compile(r"(?:what|which) colou?r (?:is|are|does) (?:it|(?:this|the|that) (?P<name>.+?))(?: have)?")
_IS = re.compile(r"is (?:this|that|it) (?P<name>.+)")
OFFERED = "dots, circles, flowers and polygons (of a color, as in 'red polygon'), 'top circle', 'two rightmost circles'"
QUESTIONS = "'How many dots are there?', 'Is there a red polygon?' and 'What color is this polygon?'"


class Plugin(TellingPlugin):
    """Which language model the operation `tell` asks; there is no other choice."""

    def build(self) -> Vision:
        """The operations."""
        return Puzzle(self)


@lru_cache(maxsize=32)
def _seen(image: Image) -> "Sight":
    """What is in an image: a program asks about one again and again."""
    from cfeval_testbed.puzzles.recognition import see

    return see(image.pixels)


class Puzzle:
    """The operations; see the module."""

    def __init__(self, options: Plugin) -> None:
        self._talk = Talk(options, "puzzle")

    def find(self, view: View, name: str) -> list[Found]:
        """See `Vision.find`. What has its middle in the part is in it; circles come row by row, the rest from the top.

        Raises:
            VisionError: nothing is ever found by this name.
        """
        return [_found(number, thing) for number, thing in _named(view, name)]

    def ask(self, view: View, question: str) -> str:
        """How many there are, whether there is one, whether this is one, what color a polygon has.

        Raises:
            VisionError: it is another question, or the color of what has none or of several.
        """
        words = " ".join(re.findall(r"[a-z0-9]+", question.lower()))
        if asked := _COLOR.fullmatch(words):
            return _color(view, asked["name"] or "polygon")
        if (asked := _IS.fullmatch(words)) and _NAME.fullmatch(asked["name"]):
            return "yes" if _is(view, asked["name"]) else "no"
        for count in _COUNTS:
            if (asked := count.fullmatch(words)) and _NAME.fullmatch(asked["name"]):
                return str(_number_in(view, asked["name"], asked["place"]))
        if (asked := _THERE.fullmatch(words)) and _NAME.fullmatch(asked["name"]):
            return "yes" if _number_in(view, asked["name"], asked["place"]) else "no"
        raise VisionError(f"vision 'puzzle' cannot answer {question[:60]!r}; it answers such as {QUESTIONS}")

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """See `Vision.match`, for texts of which at least one names a color: all weight is on the polygon's.

        Raises:
            VisionError: no text names a polygon's color, or there is not one polygon in the part.
        """
        named = [[word for word in re.findall(r"[a-z]+", text.lower()) if word in POLYGON_COLORS] for text in texts]
        if not any(named):
            allowed = ", ".join(POLYGON_COLORS)
            raise VisionError(f"vision 'puzzle' matches colors of polygons: a text must name one of {allowed}")
        color = _color(view, "polygon")
        right = [colors == [color] for colors in named]
        rest = [not colors for colors in named]  # what names no color is meant for anything else
        chosen = right if any(right) else rest if any(rest) else [True] * len(named)
        return [one / sum(chosen) for one in chosen]

    def depth(self, view: View) -> float:
        """There is none in a flat image."""
        del view
        raise VisionError("vision 'puzzle' offers no depth: its images are flat")

    def inside(self, inner: View, outer: View) -> bool:
        """Whether the middle of a part lies within the outline of what was found; within its box, if it is no finding.

        Raises:
            VisionError: what was found has no outline to be in.
        """
        if outer.found is None or not outer.found.key:
            return center_in(inner.box, outer.box)
        thing = _seen(outer.image).things[int(outer.found.key)]
        if thing.kind not in ("circle", "polygon"):
            raise VisionError(f"nothing is inside a {thing.kind}: only circles and polygons have an inside")
        # A finding's own box: around it a program's part may be larger, and cut at the image's border.
        left, top, right, bottom = inner.found.box if inner.found else inner.box
        return _seen(outer.image).holds(thing, (left + right) / 2, (top + bottom) / 2)

    def tell(self, question: str, long: bool) -> str:
        """See `Vision.tell`."""
        return self._talk.tell(question, long)


def _found(number: int, thing: "Thing") -> Found:
    left, top, right, bottom = thing.box
    return Found((float(left), float(top), float(right), float(bottom)), 1.0, str(number))


def _named(view: View, name: str) -> list[tuple[int, "Thing"]]:
    """The things of that name in the part, each with its number in the image."""
    read = _NAME.fullmatch(" ".join(re.findall(r"[a-z0-9]+", name.lower())))
    if read is None:
        raise VisionError(f"vision 'puzzle' finds no {name[:60]!r}; it finds {OFFERED}")
    there = [one for one in enumerate(_seen(view.image).things) if center_in(one[1].box, view.box)]
    kind, color = NOUNS[read["noun"]], read["color"]
    found = [one for one in there if kind in ("", one[1].kind) and color in (None, one[1].color)]
    for side in read["sides"].split():
        found = [one for one in found if _on(side, one[1], view.box)]
    if extreme := read["extreme"]:
        axis, sign = EXTREMES[extreme]
        found = sorted(found, key=lambda one: sign * one[1].middle[axis])[: _number(read["number"])]
    return found if read["place"] is None else found[(place := ORDINALS.index(read["place"])) : place + 1]


def _number_in(view: View, name: str, place: str | None) -> int:
    """How many things of that name are in the part; in its outline, where the question speaks of one."""
    named = [thing for _, thing in _named(view, name)]
    if place not in ("circle", "polygon"):
        return len(named)
    sight = _seen(view.image)
    outer = sight.things[int(view.found.key)] if view.found is not None and view.found.key else None
    if outer is None or outer.kind != place:
        raise VisionError(f"vision 'puzzle' cannot tell which {place} is meant: the part is none that was found")
    return sum(sight.holds(outer, *thing.middle) for thing in named if thing is not outer)


def _is(view: View, name: str) -> bool:
    """Whether the name is one of what was found in the part, or else of anything in it."""
    keys = {str(number) for number, _ in _named(view, name)}
    return view.found.key in keys if view.found is not None and view.found.key else bool(keys)


def _on(side: str, thing: "Thing", box: Box) -> bool:
    """Whether all of a thing is on that side of the middle of a part: the second of three circles is neither."""
    axis = 0 if side in ("left", "right") else 1
    middle = (box[axis] + box[axis + 2]) / 2
    return thing.box[axis + 2] <= middle if side in ("left", "top") else thing.box[axis] >= middle


def _number(word: str | None) -> int:
    if word is None:
        return 1
    return int(word) if word.isdecimal() else NUMBERS.index(word) + 1


def _color(view: View, name: str) -> str:
    """The color of the polygon that was found in the part, or else of the only one of that name in it."""
    whole(view)
    things = _seen(view.image).things
    if view.found is not None and view.found.key and things[int(view.found.key)].kind == "polygon":
        return things[int(view.found.key)].color
    colors = [thing.color for _, thing in _named(view, name) if thing.color]
    if len(colors) != 1:
        raise VisionError(f"vision 'puzzle' tells the color of one polygon, and there are {len(colors)} in the part")
    return colors[0]
