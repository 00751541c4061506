"""An interval where nothing varies: resampling equal values gives a width of 0, which claims too much.

If all n clusters show the same mean, then at most a share u of clusters can be of another kind, u being Wilson's upper
limit for 0 of n (close to the rule of three: Hanley and Lippman-Hand 1983). Those could have any mean that is possible.
For zeros or ones this is Wilson's interval with n clusters.
"""

from cfeval.stats.wilson import wilson_limits


def constant_limits(value: float, clusters: int, level: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """The limits of a mean whose clusters all show `value`; a single cluster is such a case too.

    Args:
        value: what every cluster shows, within `bounds`.
        clusters: how many there are, at least one.
        level: nominal coverage, in (0, 1).
        bounds: the least and the greatest value possible.
    """
    other = wilson_limits(0.0, clusters, level)[1]
    return value + other * (bounds[0] - value), value + other * (bounds[1] - value)
