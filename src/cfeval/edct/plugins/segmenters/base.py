"""What every segmenter offers, and how those that look for a text in an image go about it.

What an instruction does, and to what: (ADD | MODIFY | REMOVE, target) (EDCT-Bench 2026). The first words decide, after
`Change:`, `please` and the like: a verb of adding, a verb of removing, and everything else modifies. The target is the
concept.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cfeval.core.images import Mask, Pixels
from cfeval.edct.interfaces import VerifyRequest

Action = Literal["add", "modify", "remove"]


_OPENING = r"(?:\W|(?:change|edit|instruction)\s*:|(?:please|now|then|first|next|finally)\b)*"
_ADDING = r"add|insert|attach|introduce|(?:put|place|hang|lay|draw|paint)\s+(?:an?|another|some|more)"
_REMOVING = r"remove|delete|erase|eliminate|hide|get\s+rid\s+of|(?:take|clear|cut)\s+(?:away|out|off)"
_ADDS, _REMOVES = (re.compile(rf"{_OPENING}(?:{verbs})\b", re.IGNORECASE) for verbs in (_ADDING, _REMOVING))


@dataclass(frozen=True)
class Wanted:
    """What an instruction does, and to what."""

    action: Action
    target: str


def wanted(positive: str, concept: str) -> Wanted:
    """Read an instruction; `concept` is what it changes, in a few words."""
    return Wanted(_action(positive), " ".join(concept.split()))


def _action(positive: str) -> Action:
    if _ADDS.match(positive):
        return "add"
    return "remove" if _REMOVES.match(positive) else "modify"


@dataclass(frozen=True)
class Found:
    """Where an edit belongs: the union of a mask of the original and one of the edited image, bool (H, W), any size.

    Without either, `reason` says why there is none, and `refuted` whether that shows that the edit was not made.
    `absent`: True where the segmenter is sure that the target is not in the original, False where it found it there,
    None where it did not look or cannot tell. `numbers` are what was measured on the way.
    """

    original: Mask | None = None
    edited: Mask | None = None
    reason: str = ""
    refuted: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)
    absent: bool | None = None


class Segmenter(Protocol):
    """A segmenter. A reply depends on its own request only.

    One that knows few words answers any other by a reason alone: a mask of what it knows would pass for what was asked.
    """

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        """Find where an edit belongs; both images have one size.

        Args:
            request: images and instruction.
            changed: the pixels that changed, (H, W), in the original's frame at the gate's working size.
        """
        ...


@dataclass(frozen=True)
class Seen:
    """What a text names in an image, and how sure that is; None where nothing is found.

    `absent`: whether it is sure that nothing of it is there.
    """

    mask: Mask | None
    score: float
    absent: bool = False


def look(request: VerifyRequest, see: Callable[[Pixels, str], Seen], both: bool) -> Found:
    """Look for an edit's target: in the edited image for what is added, else in the original (EDCT-Bench 2026).

    Args:
        request: images, instruction and concept.
        see: looks for a text in an image.
        both: look for what is modified in the edited image as well.
    """
    edit = wanted(request.positive, request.concept)
    if not edit.target:
        return Found(reason="the instruction names no concept that could be looked for")
    if edit.action == "add":
        seen = see(request.edited.pixels, edit.target)
        missing = f"no {edit.target!r} is found in the edited image, to which it was to be added"
        return Found(edited=seen.mask, reason="" if seen.mask is not None else missing, refuted=True, numbers=_of(seen))
    seen = see(request.original.pixels, edit.target)
    if seen.mask is None:
        reason = f"no {edit.target!r} is found in the original"
        return Found(reason=reason, numbers=_of(seen), absent=seen.absent or None)
    after = see(request.edited.pixels, edit.target).mask if both and edit.action == "modify" else None
    return Found(seen.mask, after, numbers=_of(seen), absent=False)


def _of(seen: Seen) -> dict[str, float]:
    return {"mask_score": seen.score}
