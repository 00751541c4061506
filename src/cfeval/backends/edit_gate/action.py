"""What an instruction does, and to what: (ADD | MODIFY | REMOVE, target) (EDCT-Bench 2026).

The first words decide, after `Change:`, `please` and the like: a verb of adding, a verb of removing, and everything
else modifies. The target is the concept.
"""

import re
from dataclasses import dataclass
from typing import Literal

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
