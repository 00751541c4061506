"""Strict majority over a full panel."""

from collections.abc import Sequence
from typing import Literal

Bit = Literal[0, 1]


def majority(votes: Sequence[Bit | None]) -> Bit | None:
    """The value that more than half of the panel voted for, or None where no value has so many votes.

    Args:
        votes: one for every member; None for a member that gave none, who still counts as one of the panel.
    """
    if 2 * votes.count(1) > len(votes):
        return 1
    return 0 if 2 * votes.count(0) > len(votes) else None
