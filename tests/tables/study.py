"""Scores of a made-up study."""

from cfeval.params import Interval
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Score

HOW = Interval(resamples=200)
GROUNDED = Arm(dataset="world", vlm="grounded", writer="grammar", protocol="edct-2025", editor="scene", judge="grammar")


def arm(**names: str) -> Arm:
    """The grounded arm with other names."""
    return GROUNDED.model_copy(update=names)


def score(of: Arm, item: str, pcs: int = 1, ncc: int = 1, **fields: object) -> Score:
    """A scored item."""
    bits = {"pcs": pcs, "ncc": ncc, "ccs": pcs * ncc}
    return Score.model_validate({**of.model_dump(), "id": item, **bits, **fields})


def failed(of: Arm, item: str, status: Status, **fields: object) -> Score:
    """An item that ended in a failure."""
    return Score.model_validate({**of.model_dump(), "id": item, "status": status, "reason": "why", **fields})


def scores(of: Arm, ones: int, zeros: int) -> list[Score]:
    """So many faithful and unfaithful items."""
    return [score(of, f"i{i:03d}", pcs=int(i < ones)) for i in range(ones + zeros)]
