"""What panels share, of judges of edits and of given pairs: who sits on one, what they say together, and how one ends.

EDCT 2025, Section 3, Stage 4: a strict majority decides. A member that failed has no vote and still counts as one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import field_validator

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.inference.prompts import named_texts


class Vote(Protocol):
    """What one member gave: its reply as it came, the stored calls, and how it ended."""

    @property
    def completion(self) -> str:
        """The reply as it came."""

    @property
    def calls(self) -> tuple[str, ...]:
        """The stored calls."""

    @property
    def status(self) -> Status:
        """How it ended."""


def _is_odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("must be odd, so that there can be a majority")
    return value


def _are_distinct(judges: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    if any(judge in judges[:number] for number, judge in enumerate(judges)):
        raise ValueError("the same judge stands there twice; for several votes of one judge set its 'votes'")
    return judges


# For the option `votes` of a judge's plugin.
odd = field_validator("votes")(_is_odd)
# For the option `judges` of a panel's plugin.
distinct = field_validator("judges")(_are_distinct)


def members(family: str, judges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every judge of a panel by name: `judge 2 (chat)`."""
    numbered = enumerate(judges, start=1)
    return {f"judge {number} ({spec.get('plugin')})": registry.build(family, dict(spec)) for number, spec in numbered}


def together(votes: Mapping[str, Vote]) -> tuple[str, tuple[str, ...]]:
    """All replies in one text, each under its name, and all calls."""
    raw = named_texts({name: vote.completion for name, vote in votes.items()})
    return raw, tuple(call for vote in votes.values() for call in vote.calls)


def undecided(votes: Mapping[str, Vote]) -> Status:
    """How a panel without a majority ends: as all its members, where they failed in the same way, else unparsable."""
    ends = {vote.status for vote in votes.values()}
    return ends.pop() if len(ends) == 1 and Status.OK not in ends else Status.UNPARSABLE
