"""ViperGPT's `ImagePatch` and its functions (ICCV 2023), on an injected vision.

Coordinates are whole pixels with the y axis pointing up, as there. Methods take their coordinates relative to the patch
(its left and lower edge are 0), attributes are those of the whole image. `crop` and what `find` returns reach 10 pixels
farther on each side, within the patch, as there. Kept as published: those 10 pixels, truncation to whole pixels,
`exists` asking about each finding, `distance` of overlapping boxes being minus their IoU.

Departures. `verify_property` tells `red car` from `blue car` and so on where the attribute is of a known kind, else
from plain `car`; the published list of options is not used. `best_image_match` scores each content against `something
else`, as our vision's scores sum to one. `exists` stops at the first finding that is confirmed. `ImagePatch(image,
left, …)` stops at the image's edges. `llm_query` works as a method and as a function, and so does `simple_query`.
`patch.inside(other)` is an EXTENSION of this project: whether what was found in one patch lies within the OUTLINE, not
the box, of what was found in the other.

The attributes that `alternatives` lists are those from which a model that compares descriptions tells another.

Numbers are read as by `coerce_to_numeric`: digits or number words, a leading minus, the first of a range (`10-15`), a
year beside the name of a month; an integer unless there is a point; a text without a number comes back unchanged. Two
faults are repaired: the year of a date is read (upstream never does), and the first number of a text is taken (all
digits of the text were run together: `2 of 5` gave 25). An answer is the first of a list, or `no` where it is empty;
`no` for nothing; yes and no for booleans and for the texts `true` and `false`; lower case. Beyond ViperGPT, a whole
number that came out as a float is written without its `.0`.
"""

# ruff: noqa: ARG001, ARG005

import math
import re
from collections.abc import Callable, Sequence

from cfeval.cvqa.programs.limits import ProgramFault, clean
from cfeval.cvqa.programs.values import NUMBERS, Image, ImagePatch, Machine, Native, by_name, collect, kind
from cfeval.cvqa.programs.vision import Found

_MONTHS = re.compile(
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_YEAR = re.compile(r"\b([12][0-9]{3})\b")
_UNDER_TEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UNITS = {word: number for number, word in enumerate((*_UNDER_TEN, *_TEENS))}
_TENS_NAMES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * number for number, word in enumerate(_TENS_NAMES, start=2)}
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_WORD = "|".join([*_UNITS, *_TENS, "hundred", *_SCALES])
_NUMBER = re.compile(
    rf"(?P<digits>(?<![\w.-])-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)|[0-9][0-9,]*(?:\.[0-9]+)?)"
    rf"|(?P<words>\b(?:{_WORD})\b(?:(?:[\s-]+|\s+and\s+)\b(?:{_WORD})\b)*)",
    re.IGNORECASE,
)
# Characters in which a number is looked for.
_READ = 2_000
_DIGITS = 300
_TRUTH = {"true": "yes", "false": "no"}
# Characters of an answer that are kept.
_LONGEST_ANSWER = 4_000


def coerce(text: str) -> int | float | str:
    """The number in a text, or the text itself."""
    if _MONTHS.search(text[:_READ]) and (year := _YEAR.search(text[:_READ])):
        return int(year[1])
    match = _NUMBER.search(text[:_READ])
    if match is None:
        return text
    if match["words"]:
        return words_to_number(match["words"])
    digits = match["digits"].replace(",", "")
    if len(digits) > _DIGITS:
        return text
    return float(digits) if "." in digits else int(digits)


def words_to_number(text: str) -> int:
    """The number that number words say: `two hundred and five` is 205."""
    total = part = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _UNITS or word in _TENS:
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
    return total + part


def normalise(value: object) -> str:
    """The answer's text.

    Raises:
        ProgramFault: a value that is no answer, such as a patch of the image.
    """
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if value is None:
        return "no"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        raise ProgramFault(
            f"the program returned a value of type {kind(value)}; an answer is a text, a number or a boolean"
        )
    text = clean(str(value)[:_LONGEST_ANSWER].strip().lower())
    return _TRUTH.get(text, text)


# Pixels by which a crop is grown on each side.
MARGIN = 10
# The score above which an attribute is taken to be there.
VERIFIED = 0.6
DEFAULT_QUESTION = "What is this?"
_NEUTRAL = "something else"
_FAMILIES = (
    ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray"),
    ("wooden", "metal", "plastic", "glass", "stone", "leather", "paper"),
    ("round", "square", "triangular", "rectangular"),
    ("small", "large"),
    ("open", "closed"),
    ("wet", "dry"),
    ("old", "young"),
    ("empty", "full"),
)
_SAME = {"grey": "gray", "violet": "purple", "wood": "wooden", "metallic": "metal", "big": "large", "circular": "round"}


def alternatives(attribute: str) -> tuple[str, ...]:
    """The other attributes of its kind; empty where the attribute is of no kind that is listed."""
    name = attribute.strip().lower()
    name = _SAME.get(name, name)
    family = next((family for family in _FAMILIES if name in family), ())
    return tuple(other for other in family if other != name)


def patch_of(image: Image) -> ImagePatch:
    """The patch that covers an image; its lower left corner is (0, 0)."""
    left, top, right, bottom = image.view.box
    return ImagePatch(0, 0, int(right - left), int(bottom - top), left, bottom, image.view, image.view.found)


def part_of(patch: ImagePatch, edges: Sequence[object], margin: int, place: Found | None = None) -> ImagePatch:
    """A part of a patch by left, lower, right, upper relative to it, grown by a margin and kept within it.

    Raises:
        ProgramFault: nothing is left, as upstream refuses a patch without an area.
    """
    left, lower, right, upper = (pixel(edge) for edge in edges)
    width, height = patch.right - patch.left, patch.upper - patch.lower
    left, lower = max(0, left - margin), max(0, lower - margin)
    right, upper = min(width, right + margin), min(height, upper + margin)
    if left >= right or lower >= upper:
        raise ProgramFault(
            f"a crop without an area: left {left}, lower {lower}, right {right}, upper {upper} "
            f"of a patch of {width} × {height}",
            kind="ValueError",
        )
    x, y = patch.left, patch.lower
    return ImagePatch(x + left, y + lower, x + right, y + upper, patch.x, patch.y, patch.source, place)


def pixel(edge: object) -> int:
    """A coordinate as a whole pixel, cut off towards zero; a fault where it is none."""
    if not isinstance(edge, NUMBERS) or not math.isfinite(edge):
        raise ProgramFault(f"a coordinate is a finite number, not {kind(edge)}", kind="TypeError")
    return int(edge)


def a_patch(value: object, where: str) -> ImagePatch:
    """A value that must be a patch, or a fault that names the function."""
    if not isinstance(value, ImagePatch):
        raise ProgramFault(f"{where} takes an ImagePatch, not {kind(value)}", kind="TypeError")
    return value


def size(image: Image) -> tuple[int, int]:
    """Width and height of a bare image."""
    left, top, right, bottom = image.view.box
    return int(right - left), int(bottom - top)


# Of a patch.
ATTRIBUTES: dict[str, Callable[..., object]] = {
    "left": lambda patch: patch.left,
    "lower": lambda patch: patch.lower,
    "right": lambda patch: patch.right,
    "upper": lambda patch: patch.upper,
    "width": lambda patch: patch.right - patch.left,
    "height": lambda patch: patch.upper - patch.lower,
    "horizontal_center": lambda patch: (patch.left + patch.right) / 2,
    "vertical_center": lambda patch: (patch.lower + patch.upper) / 2,
    "cropped_image": lambda patch: Image(patch.view()),
}
# Of a bare image.
IMAGE_ATTRIBUTES: dict[str, Callable[..., object]] = {
    "width": lambda image: size(image)[0],
    "height": lambda image: size(image)[1],
    "size": size,
}


def _find(machine: Machine, self: ImagePatch, /, object_name: object) -> list[ImagePatch]:
    patches = []
    for place in machine.eyes.find(self.view(), object_name):
        left, top, right, bottom = place.box
        x, y = self.x + self.left, self.y - self.lower
        patches.append(part_of(self, (left - x, y - bottom, right - x, y - top), MARGIN, place))
    return patches


def _exists(machine: Machine, self: ImagePatch, /, object_name: str) -> bool:
    name = str(object_name).strip().lower()
    if name.isdigit() or name.startswith("number"):
        wanted = coerce(name.removeprefix("number").strip())
        return coerce(machine.eyes.ask(self.view(), "What number is written here, in digits?")) == wanted
    question = f"Is this a {object_name}?"
    patches = _find(machine, self, object_name)
    return any("yes" in machine.eyes.ask(patch.view(), question).lower() for patch in patches)


def _verify_property(
    machine: Machine, self: ImagePatch, /, object_name: str, visual_property: object = None, attribute: object = None
) -> bool:
    """`attribute` is what our prompt calls `visual_property`."""
    wanted = attribute if visual_property is None else visual_property
    if wanted is None:
        raise ProgramFault("verify_property takes (object_name, visual_property)", kind="TypeError")
    others = [f"{other} {object_name}" for other in alternatives(str(wanted))] or [object_name]
    return machine.eyes.match(self.view(), [f"{wanted} {object_name}", *others])[0] > VERIFIED


def _best_text_match(machine: Machine, self: ImagePatch, /, option_list: object, prefix: object = None) -> object:
    options = collect(option_list, machine.meter)
    if not options:
        raise ProgramFault("best_text_match of no options", kind="ValueError")
    texts = options if prefix is None else [f"{prefix} {option}" for option in options]
    scores = machine.eyes.match(self.view(), texts)
    return options[max(range(len(options)), key=scores.__getitem__)]


def _patch_simple_query(machine: Machine, self: ImagePatch, /, question: object = None) -> str:
    return machine.eyes.ask(self.view(), DEFAULT_QUESTION if question is None else question)


def _crop(
    machine: Machine, self: ImagePatch, /, left: object, lower: object, right: object, upper: object
) -> ImagePatch:
    return part_of(self, (left, lower, right, upper), MARGIN)


def _overlaps_with(
    machine: Machine, self: ImagePatch, /, left: object, lower: object, right: object, upper: object
) -> bool:
    edges = [pixel(edge) for edge in (left, lower, right, upper)]
    apart = self.left > edges[2] or self.right < edges[0] or self.lower > edges[3] or self.upper < edges[1]
    return not apart


def _inside(machine: Machine, self: ImagePatch, /, other: object) -> bool:
    return machine.eyes.inside(self.view(), a_patch(other, "inside").view())


# Of a patch; names and parameters are ViperGPT's.
METHODS: dict[str, Callable[..., object]] = {
    **by_name(_find, _exists, _verify_property, _best_text_match, _crop, _overlaps_with, _inside),
    "simple_query": _patch_simple_query,
    "llm_query": lambda machine, self, /, question, long_answer=True: _llm_query(machine, question, long_answer),
    "compute_depth": lambda machine, self, /: machine.eyes.depth(self.view()),
}


def _whole_or_part(
    machine: Machine,
    /,
    image: object,
    left: object = None,
    lower: object = None,
    right: object = None,
    upper: object = None,
) -> ImagePatch:
    if not isinstance(image, Image):
        raise ProgramFault(f"ImagePatch takes an image, not {kind(image)}", kind="TypeError")
    whole = patch_of(image)
    given = (left, lower, right, upper)
    if all(edge is None for edge in given):
        return whole
    if any(edge is None for edge in given):
        raise ProgramFault("ImagePatch takes all of left, lower, right, upper, or none", kind="TypeError")
    return part_of(whole, given, 0)


def _best_image_match(
    machine: Machine, /, list_patches: object, content: object, return_index: object = False
) -> object:
    patches = [a_patch(patch, "best_image_match") for patch in collect(list_patches, machine.meter)]
    contents = [content] if isinstance(content, str) else collect(content, machine.meter)
    if not patches or not contents:
        return None
    scores = [
        sum(machine.eyes.match(patch.view(), [text, _NEUTRAL])[0] for text in contents) / len(contents)
        for patch in patches
    ]
    best = max(range(len(patches)), key=scores.__getitem__)
    return best if return_index else patches[best]


def _distance(machine: Machine, /, a: object, b: object) -> object:
    if isinstance(a, NUMBERS) and isinstance(b, NUMBERS):
        return abs(a - b)
    # Between the nearest edges, in pixels; minus the IoU where the boxes overlap.
    patch = a_patch(a, "distance")
    other = a_patch(b, "distance")
    across = max(0, patch.left - other.right, other.left - patch.right)
    along = max(0, patch.lower - other.upper, other.lower - patch.upper)
    if across or along:
        return math.hypot(across, along)
    width = min(patch.right, other.right) - max(patch.left, other.left)
    height = min(patch.upper, other.upper) - max(patch.lower, other.lower)
    shared = width * height
    return -shared / (_area(patch) + _area(other) - shared)


def _coerce_to_numeric(machine: Machine, /, string: object) -> object:
    if isinstance(string, NUMBERS):
        return string
    if not isinstance(string, str):
        raise ProgramFault(f"coerce_to_numeric takes a text, not {kind(string)}", kind="TypeError")
    return coerce(string)


def _llm_query(machine: Machine, /, question: object, long_answer: object = True) -> str:
    return machine.eyes.tell(question, bool(long_answer))


def _simple_query(machine: Machine, /, question: object = None) -> str:
    return machine.eyes.ask(machine.eyes.root, DEFAULT_QUESTION if question is None else question)


def _area(patch: ImagePatch) -> int:
    return (patch.right - patch.left) * (patch.upper - patch.lower)


_OFFERED: dict[str, Callable[..., object]] = {
    **by_name(_best_image_match, _distance, _coerce_to_numeric, _llm_query, _simple_query),
    "bool_to_yesno": lambda machine, /, bool_answer: "yes" if bool_answer else "no",
}
# By name; `ImagePatch` is also a type for `isinstance`.
SURFACE: dict[str, object] = {
    **{name: Native(name, run, traced=True) for name, run in _OFFERED.items()},
    "ImagePatch": Native("ImagePatch", _whole_or_part, traced=True, type=(ImagePatch,)),
}
