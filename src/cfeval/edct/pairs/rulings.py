"""Several rulings made one: what more than half of a panel, or of the votes of one judge, say."""

from collections.abc import Mapping

from pydantic import field_validator

from cfeval.core.records import Status
from cfeval.edct.metrics import majority
from cfeval.edct.pairs.interfaces import Ruling
from cfeval.inference.prompts import named_texts


def _is_odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("must be odd, so that there can be a majority")
    return value


odd = field_validator("votes")(_is_odd)
"""For the option `votes` of a judge's plugin."""


def majority_of(rulings: Mapping[str, Ruling]) -> Ruling:
    """The ruling of more than half; a single one is left as it is.

    A member that failed has no vote and still counts as one of the panel. Where all failed in the same way, that is how
    the panel failed; else a panel without a majority is `unparsable`.

    Args:
        rulings: at least one, by the name of who gave it.
    """
    members = list(rulings.values())
    if len(members) == 1:
        return members[0]
    value = majority([one.value for one in members])
    raw = named_texts({name: one.completion for name, one in rulings.items()})
    calls = tuple(call for one in members for call in one.calls)
    if value is not None:
        return Ruling(value, raw, calls=calls)
    ends = {one.status for one in members}
    status = ends.pop() if len(ends) == 1 and Status.OK not in ends else Status.UNPARSABLE
    votes = ", ".join(f"{name}: {one.status if one.value is None else one.value}" for name, one in rulings.items())
    return Ruling(None, raw, status, f"no majority ({votes})", calls)
