"""Vision operations on scenes of the test bed, through the trained reader: what it takes for there, is there.

A name is `large red circle`, any of the three left out, with `object` for any shape, in the singular or plural, and
with `in the top half` or `in the top left` behind it where only that part of the image is meant. The reader knows
which quadrant holds an object; the quadrant is its box.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.cvqa.plugins.vision_tool_models import Talk, TellingPlugin, center_in
from cfeval.cvqa.programs.vision import Found, View, Vision, VisionError
from cfeval_testbed.language.questions import Question, parse_question
from cfeval_testbed.records import ACTION_OF_SIGNAL, COLORS, NOWHERE, NUMBERS, POSITIONS, SHAPES, SIZES
from cfeval_testbed.weights import examine_weights, models_dir

if TYPE_CHECKING:
    from cfeval_testbed.agents.scene_reader import Reading, SceneReader

SIDE = 64
HALVES = ("top half", "bottom half", "left half", "right half")
_NAME = re.compile(
    rf"(?:(?:the|an?|all) )*(?:(?P<size>{'|'.join(SIZES)}) )?(?:(?P<color>{'|'.join(COLORS)}) )?"
    rf"(?P<shape>{'|'.join(SHAPES)}|object|thing|shape)(?:e?s)?(?: in the (?P<area>{'|'.join((*HALVES, *POSITIONS))}))?"
)
_COUNT = re.compile(r"(?:how many|what is the number of) (?P<name>.+?)(?: (?:are there|does the picture show))?")
_THERE = re.compile(r"(?:is there|does the picture show|can you see) (?P<name>.+)")
_IS = re.compile(r"is (?:this|that|it) (?P<name>.+)")
OFFERED = "objects by size, color and shape, such as 'large blue star', 'red object', 'circle in the top half'"


class Plugin(TellingPlugin):
    """Which language model the operation `tell` asks; there is no other choice."""

    def dependencies(self) -> tuple[str, ...]:
        """The reader's weights, and the templates of the language model."""
        return (_weights(), *super().dependencies())

    def diagnose(self) -> Iterator[Diagnostic]:
        """Weights that are not there, and templates that cannot be filled."""
        yield from examine_weights([_weights()])
        yield from super().diagnose()

    def build(self) -> Vision:
        """The operations."""
        from cfeval_testbed.agents.scene_reader import SceneReader

        return World(SceneReader(), Talk(self, "world"))


def _weights() -> str:
    return str(Path(models_dir()) / "reader-b.safetensors")


@dataclass(frozen=True)
class Thing:
    """An object that the reader saw."""

    place: int
    size: str
    color: str
    shape: str

    @property
    def found(self) -> Found:
        """Its quadrant; the key is the quadrant's number."""
        half = SIDE / 2
        row, column = divmod(self.place, 2)
        return Found((column * half, row * half, (column + 1) * half, (row + 1) * half), 1.0, str(self.place))


class World:
    """The operations; see the module."""

    def __init__(self, observer: "SceneReader", talk: Talk) -> None:
        self._observer, self._talk = observer, talk
        self._last: tuple[Image, Reading] | None = None

    def find(self, view: View, name: str) -> list[Found]:
        """See `Vision.find`. What has the middle of its quadrant in the part is in it; in reading order.

        Raises:
            VisionError: nothing is ever found by this name, or the image is no scene of the world.
        """
        return [thing.found for thing in self._named(view, name)]

    def ask(self, view: View, question: str) -> str:
        """The answer to a question of the world about the part, from what the reader saw.

        Raises:
            VisionError: it is no question of the world, or what it points at is not there or not unique.
        """
        words = " ".join(re.findall(r"[a-z0-9]+", question.lower()))
        asked = parse_question(question)
        if asked is not None:
            return self._answer(view, asked, question)
        if (read := _IS.fullmatch(words)) and _NAME.fullmatch(read["name"]):
            named = self._named(view, read["name"])
            meant = {str(thing.place) for thing in named}
            return "yes" if meant and (not view.found or view.found.key in ("", *meant)) else "no"
        if (read := _COUNT.fullmatch(words)) and _NAME.fullmatch(read["name"]):
            return str(len(self._named(view, read["name"])))
        if (read := _THERE.fullmatch(words)) and _NAME.fullmatch(read["name"]):
            return "yes" if self._named(view, read["name"]) else "no"
        raise VisionError(f"vision 'world' cannot answer {question[:60]!r}: it is no question of the test bed")

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """See `Vision.match`: the more of a text's words are true of an object in the part, the higher its weight.

        Raises:
            VisionError: no text names anything that an object can be.
        """
        if not any(_words(text, _KNOWN) for text in texts):
            raise VisionError("vision 'world' matches sizes, colors and shapes: a text must name one of them")
        things = self._there(view)
        # A text that is all true is far above many that are half true, and the worst still has some weight.
        weights = [10_000.0 ** _truth(text, things) for text in texts]
        return [weight / sum(weights) for weight in weights]

    def depth(self, view: View) -> float:
        """There is none in a flat image."""
        del view
        raise VisionError("vision 'world' offers no depth: its images are flat")

    def inside(self, inner: View, outer: View) -> bool:
        """There are no outlines to be in, only parts of the image.

        Raises:
            VisionError: the outer part is a finding.
        """
        if outer.found is not None:
            raise VisionError("vision 'world' offers no outlines: no object of its scenes is inside another")
        return center_in(inner.box, outer.box)

    def tell(self, question: str, long: bool) -> str:
        """See `Vision.tell`."""
        return self._talk.tell(question, long)

    def _reading(self, image: Image) -> "Reading":
        """What the reader sees. A program asks about one image again and again."""
        if self._last is None or self._last[0] != image:
            height, width = image.pixels.shape[:2]
            if (height, width) != (SIDE, SIDE):
                raise VisionError(
                    f"vision 'world' sees images of {SIDE} × {SIDE} pixels, and this has {width} × {height}"
                )
            [reading] = self._observer.read([image.pixels])
            self._last = (image, reading)
        return self._last[1]

    def _there(self, view: View) -> list[Thing]:
        slots = enumerate(self._reading(view.image).slots)
        things = [Thing(place, *slot) for place, slot in slots if slot is not None]
        return [thing for thing in things if center_in(thing.found.box, view.box)]

    def _named(self, view: View, name: str) -> list[Thing]:
        read = _NAME.fullmatch(" ".join(re.findall(r"[a-z0-9]+", name.lower())))
        if read is None:
            raise VisionError(f"vision 'world' finds no {name[:60]!r}; it finds {OFFERED}")
        size, color, shape = read["size"], read["color"], read["shape"]
        shape = shape if shape in SHAPES else None
        there = [thing for thing in self._there(view) if _lies(thing, read["area"])]
        return [t for t in there if size in (None, t.size) and color in (None, t.color) and shape in (None, t.shape)]

    def _answer(self, view: View, asked: Question, question: str) -> str:
        if asked.kind == "background":
            return self._reading(view.image).background
        things = self._there(view)
        if asked.kind == "count":
            return NUMBERS[len(things)]
        wanted = [t for t in things if asked.color in (None, t.color) and asked.shape in (None, t.shape)]
        if asked.kind == "robot":
            wanted = [thing for thing in things if thing.size == "large"]
        if asked.kind == "presence":
            return "yes" if wanted else "no"
        if asked.kind == "position" and not wanted:
            return NOWHERE
        if len(wanted) != 1:
            raise VisionError(f"vision 'world' cannot answer {question[:60]!r}: {len(wanted)} objects are meant")
        [thing] = wanted
        if asked.kind == "robot" and thing.color not in ACTION_OF_SIGNAL:
            raise VisionError(f"vision 'world': a large {thing.color} object is no signal for the robot")
        answers = {"color": thing.color, "shape": thing.shape, "position": POSITIONS[thing.place]}
        return answers.get(asked.kind) or ACTION_OF_SIGNAL[thing.color]


def _lies(thing: Thing, area: str | None) -> bool:
    position = POSITIONS[thing.place]
    if area is None:
        return True
    return area.removesuffix(" half") in position.split() if area.endswith(" half") else area == position


_KNOWN = frozenset((*SIZES, *COLORS, *SHAPES))
_EMPTY = frozenset(("a", "an", "the", "this", "photo", "picture", "of", "object", "thing", "shape"))


def _truth(text: str, things: Sequence[Thing]) -> float:
    """The largest share of a text's words that is true of one object; words without a meaning here do not count."""
    said = [word for word in re.findall(r"[a-z]+", text.lower()) if word not in _EMPTY]
    shares = (sum(word in (t.size, t.color, t.shape) for word in said) / max(1, len(said)) for t in things)
    return max(shares, default=0.0)


def _words(text: str, wanted: Collection[str]) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", text.lower()) if word in wanted]
