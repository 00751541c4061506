"""Several rulings made one: what more than half of a panel, or of the votes of one judge, say."""

from collections.abc import Mapping

from cfeval.edct.metrics import majority
from cfeval.edct.pairs.interfaces import Ruling
from cfeval.edct.panels import together, undecided


def majority_of(rulings: Mapping[str, Ruling]) -> Ruling:
    """The ruling of more than half; a single one is left as it is. See `cfeval.edct.panels`.

    Args:
        rulings: at least one, by the name of who gave it.
    """
    members = list(rulings.values())
    if len(members) == 1:
        return members[0]
    value = majority([one.value for one in members])
    raw, calls = together(rulings)
    if value is not None:
        return Ruling(value, raw, calls=calls)
    votes = ", ".join(f"{name}: {one.status if one.value is None else one.value}" for name, one in rulings.items())
    return Ruling(None, raw, undecided(rulings), f"no majority ({votes})", calls)
