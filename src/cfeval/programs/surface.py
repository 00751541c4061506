"""ViperGPT's functions, beside the methods of `ImagePatch`; departures are listed in `cfeval.programs.patches`."""

# ruff: noqa: ARG001 - all functions of a table are called alike

import math
from collections.abc import Callable

from cfeval.programs.coercion import coerce
from cfeval.programs.faults import ProgramFault
from cfeval.programs.patches import DEFAULT_QUESTION, a_patch, part_of, patch_of
from cfeval.programs.values import NUMBERS, Image, ImagePatch, Machine, Native, collect, kind

_NEUTRAL = "something else"


def _image_patch(
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


def _apart(machine: Machine, one: object, other: object, /) -> object:
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return abs(one - other)
    return _between(a_patch(one, "distance"), a_patch(other, "distance"))


def _bool_to_yesno(machine: Machine, /, bool_answer: object) -> str:
    return "yes" if bool_answer else "no"


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


def _between(one: ImagePatch, other: ImagePatch) -> float:
    """Between the nearest edges, in pixels; minus the IoU where the boxes overlap."""
    across = max(0, one.left - other.right, other.left - one.right)
    along = max(0, one.lower - other.upper, other.lower - one.upper)
    if across or along:
        return math.hypot(across, along)
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.upper, other.upper) - max(one.lower, other.lower)
    shared = width * height
    return -shared / (_area(one) + _area(other) - shared)


def _area(patch: ImagePatch) -> int:
    return (patch.right - patch.left) * (patch.upper - patch.lower)


_OFFERED: dict[str, Callable[..., object]] = {
    "best_image_match": _best_image_match,
    "distance": _apart,
    "bool_to_yesno": _bool_to_yesno,
    "coerce_to_numeric": _coerce_to_numeric,
    "llm_query": _llm_query,
    "simple_query": _simple_query,
}
SURFACE: dict[str, object] = {
    **{name: Native(name, run, traced=True) for name, run in _OFFERED.items()},
    "ImagePatch": Native("ImagePatch", _image_patch, traced=True, type=(ImagePatch,)),
}
"""By name; `ImagePatch` is also a type for `isinstance`."""
