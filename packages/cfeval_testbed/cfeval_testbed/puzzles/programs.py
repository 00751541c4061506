"""Programs that answer the questions of the six templates, in ViperGPT's and in VisProg's language.

They count through the operations of a vision and return the number. `patch.inside(other)` and the steps INSIDE and
OUTSIDE are the project's extensions of the two languages; without them no program can tell a flower in a polygon from
one beside it (C-VQA, Section 4.3).
"""

import re
from dataclasses import dataclass

from cfeval.cvqa.records import Language
from cfeval.cvqa.synthetic.puzzles import COUNTERFACTUAL, ORIGINAL
from cfeval.cvqa.synthetic.records import FLOWER_TYPES, POLYGON_COLORS, PUZZLE_TYPES, PuzzleType

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Asked:
    """A question by its meaning; `changed` says that it supposes a change. The rest is what the template is filled
    with."""

    type: PuzzleType
    changed: bool
    first: str = ""
    second: str = ""
    removed: int = 0


def parse(stem: str) -> Asked | None:
    """What a question, without its options, asks; None where none of the templates wrote it.

    Types 2 and 3 have the same original question; the first type is given.
    """
    for kind, changed, pattern in _PATTERNS:
        if found := pattern.fullmatch(stem.strip()):
            said = found.groupdict()
            removed = int(said.get("removed") or 0)
            return Asked(kind, changed, said.get("first") or "", said.get("second") or "", removed)
    return None


def unchanged(asked: Asked) -> Asked:
    """The same question without what it supposes."""
    return Asked(asked.type, False, asked.first)


def program(asked: Asked, language: Language) -> str:
    """A program that answers the question."""
    lines = _vipergpt(asked) if language == "vipergpt" else _visprog(asked)
    return "\n".join(lines)


def _vipergpt(asked: Asked) -> list[str]:
    body = _flowers_in_python(asked) if asked.type in FLOWER_TYPES else _dots_in_python(asked)
    return ["def execute_command(image):", *(f"    {line}" for line in ("image_patch = ImagePatch(image)", *body))]


def _flowers_in_python(asked: Asked) -> list[str]:
    recolored = asked.type == "abs_counting_1" and asked.changed
    polygons = "polygon" if recolored else f"{asked.first} polygon"
    inside = "any(flower.inside(polygon) for polygon in polygon_patches)"
    wanted = f"not {inside}" if asked.type == "abs_counting_1" else inside
    lines = [
        'flower_patches = image_patch.find("flower")',
        f'polygon_patches = image_patch.find("{polygons}")',
        f"counted = [flower for flower in flower_patches if {wanted}]",
    ]
    if asked.second:
        return [
            *lines,
            f'emptied_patches = image_patch.find("{asked.second} polygon")',
            "left = [flower for flower in counted if not any(flower.inside(polygon) for polygon in emptied_patches)]",
            "return len(left)",
        ]
    return [*lines, f"return len(counted) - {asked.removed}" if asked.removed else "return len(counted)"]


def _dots_in_python(asked: Asked) -> list[str]:
    lines = ['circle_patches = image_patch.find("circle")']
    if asked.type == "abs_counting_6":
        lines += ['counts = sorted(len(circle.find("dot")) for circle in circle_patches)']
        return [*lines, *(["counts.pop()"] if asked.changed else []), "return max(counts)"]
    if asked.type == "abs_counting_5":
        if asked.changed:
            lines += ["limit = sorted(circle.horizontal_center for circle in circle_patches)[-2]"]
        lines += [
            "circle_patches.sort(key=lambda circle: circle.vertical_center, reverse=True)",
            "circle_patches = circle_patches[:3]",
        ]
        if asked.changed:
            lines += ["circle_patches = [circle for circle in circle_patches if circle.horizontal_center < limit]"]
    lines += ['dots = sum(len(circle.find("dot")) for circle in circle_patches)']
    return [*lines, f"return dots - {asked.removed}" if asked.removed else "return dots"]


def _visprog(asked: Asked) -> list[str]:
    if asked.type == "abs_counting_6":
        return _most_in_steps(asked)
    steps = {"abs_counting_4": _all_dots_in_steps, "abs_counting_5": _top_dots_in_steps}
    lines = steps.get(asked.type, _flowers_in_steps)(asked)
    lines += ["ANSWER0=COUNT(box=BOX9)"]
    if asked.removed:
        return [*lines, f"ANSWER1=EVAL(expr='{{ANSWER0}} - {asked.removed}')", "FINAL_RESULT=RESULT(var=ANSWER1)"]
    return [*lines, "FINAL_RESULT=RESULT(var=ANSWER0)"]


def _flowers_in_steps(asked: Asked) -> list[str]:
    outside = asked.type == "abs_counting_1"
    polygons = "polygon" if outside and asked.changed else f"{asked.first} polygon"
    counted = "BOX2" if asked.second else "BOX9"
    lines = [
        "BOX0=LOC(image=IMAGE,object='flower')",
        f"BOX1=LOC(image=IMAGE,object='{polygons}')",
        f"{counted}={'OUTSIDE' if outside else 'INSIDE'}(box=BOX0,region=BOX1)",
    ]
    if asked.second:
        lines += [f"BOX3=LOC(image=IMAGE,object='{asked.second} polygon')", "BOX9=OUTSIDE(box=BOX2,region=BOX3)"]
    return lines


def _all_dots_in_steps(asked: Asked) -> list[str]:
    del asked
    return [
        "BOX0=LOC(image=IMAGE,object='dot')",
        "BOX1=LOC(image=IMAGE,object='circle')",
        "BOX9=INSIDE(box=BOX0,region=BOX1)",
    ]


def _top_dots_in_steps(asked: Asked) -> list[str]:
    lines = [
        "BOX0=LOC(image=IMAGE,object='dot')",
        "BOX1=LOC(image=IMAGE,object='top circle')",
        f"{'BOX2' if asked.changed else 'BOX9'}=INSIDE(box=BOX0,region=BOX1)",
    ]
    if asked.changed:
        lines += ["BOX3=LOC(image=IMAGE,object='two rightmost circles')", "BOX9=OUTSIDE(box=BOX2,region=BOX3)"]
    return lines


def _most_in_steps(asked: Asked) -> list[str]:
    """The language has no loops: the largest and the second largest number so far are carried from circle to circle."""
    lines = ["DOTS=LOC(image=IMAGE,object='dot')", "MOST=EVAL(expr='0')", "NEXT=EVAL(expr='0')"]
    for number, ordinal in enumerate(ORDINALS):
        lines += [
            f"CIRCLE{number}=LOC(image=IMAGE,object='{ordinal} circle')",
            f"BOX{number}=INSIDE(box=DOTS,region=CIRCLE{number})",
            f"N{number}=COUNT(box=BOX{number})",
        ]
        if asked.changed:
            lesser = f"({{N{number}}} if {{N{number}}} > {{NEXT}} else {{NEXT}})"
            lines += [f"NEXT=EVAL(expr='{{MOST}} if {{N{number}}} > {{MOST}} else {lesser}')"]
        lines += [f"MOST=EVAL(expr='{{N{number}}} if {{N{number}}} > {{MOST}} else {{MOST}}')"]
    return [*lines, f"FINAL_RESULT=RESULT(var={'NEXT' if asked.changed else 'MOST'})"]


def _patterns() -> list[tuple[PuzzleType, bool, re.Pattern[str]]]:
    templates = [(kind, changed, table[kind]) for changed, table in _TABLES for kind in PUZZLE_TYPES]
    return [(kind, changed, _pattern(template)) for kind, changed, template in templates]


def _pattern(template: str) -> re.Pattern[str]:
    """What reads a question back; a color that stands there twice must be the same one."""
    words = re.escape(template)
    for name, what in (("first", _COLOR), ("second", _COLOR), ("removed", "[0-9]{1,4}")):
        place = re.escape(f"{{{name}}}")
        words = words.replace(place, f"(?P<{name}>{what})", 1).replace(place, f"(?P={name})")
    return re.compile(words)


_COLOR = "|".join(POLYGON_COLORS)
_TABLES = ((False, ORIGINAL), (True, COUNTERFACTUAL))
_PATTERNS = _patterns()
