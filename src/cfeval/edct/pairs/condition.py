"""A condition of `pairs-2026`. The parameters know no more of given pairs than this."""

from cfeval.core.records import Record


class PairCondition(Record):
    """One way through the protocol; its parts are names from params.yaml."""

    pair_set: str
    """The set of pairs."""
    vlm: str
    """The target."""
    pair_judge: str
    """Who says whether an explanation names the changed thing."""
