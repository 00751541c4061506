"""Times of several works that are compared: in turn, so that a machine that is busy is busy for all of them."""

import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]


def in_turn(works: Sequence[Callable[[], object]], repeats: int, clock: Clock = time.process_time) -> list[float]:
    """The least seconds of each work; CPU seconds of this process, unless another clock is given."""
    least = [float("inf")] * len(works)
    for _ in range(repeats):
        for number, work in enumerate(works):
            start = clock()
            work()
            least[number] = min(least[number], clock() - start)
    return least
