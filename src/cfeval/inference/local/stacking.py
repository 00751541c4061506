"""Inputs of several requests as one batch, without padding: only those of equal shapes go together.

What a model says of one then depends on the others by rounding alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def stacked(inputs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """The inputs of equal shapes as one, with their places among all; in the order of the first of each.

    Args:
        inputs: of each request the tensors that its processor made, the first axis that of the batch.
    """
    import torch

    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, one in enumerate(inputs):
        shapes = tuple((name, *of.shape) for name, of in sorted(one.items()))
        groups.setdefault(shapes, []).append(place)
    for places in groups.values():
        yield places, {name: torch.cat([inputs[place][name] for place in places]) for name in inputs[places[0]]}
