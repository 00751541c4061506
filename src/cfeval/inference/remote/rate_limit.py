"""How fast attempts at a server go, by its complaints and its Retry-After, and when a call is given up.

A single complaint is only a reason to try that call again: providers complain now and then, whatever is asked of them,
and nothing else is held up. Where most of the last attempts meet one, the server's limit is reached: from what it took
in the last seconds follows the rate at which attempts begin from then on. It rises with every good one, a little while
complaints come, so that the limit is not run over at once, and fast when there are none.
"""

import asyncio
import heapq
import math
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Self

from cfeval.core.config import Calls
from cfeval.core.records import Status
from cfeval.inference.remote.faults import TIMEOUT, Fault, RetryPolicy
from cfeval.inference.remote.request import Request

_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0
# Seconds of a call's first waits, at most, where the server asks for fewer calls and does not say how long: most such
# complaints are gone at once, and where they are not it is the pace that spares the server.
_SOON = (0.1, 0.25)


class Patience:
    """What is left of it with one call."""

    def __init__(self, calls: Calls, dice: random.Random) -> None:
        self._calls, self._random = calls, dice
        self._tried: Counter[str] = Counter()

    def renew(self, kind: str) -> None:
        """Faults of this kind were none of the call's own."""
        self._tried[kind] = 0

    def next(self, fault: Fault, seconds_left: float) -> float | Fault:
        """Seconds to wait before a further attempt, or the fault that the call ends with.

        Args:
            fault: how the last attempt ended.
            seconds_left: until the deadline of the call.
        """
        self._tried[fault.kind] += 1
        total, wait = self._tried.total(), fault.wait
        if wait is None:
            soon = len(_SOON) if fault.throttled else 0
            longest = _SOON[total - 1] if total <= soon else min(_LONGEST_BACK_OFF, _BACK_OFF * 2 ** (total - soon))
            wait = self._random.uniform(longest / 2, longest)
        deadline = f"the deadline of {self._calls.deadline:g} s (calls.deadline)"
        if total > self._calls.max_retries or self._tried[fault.kind] >= (fault.tries or total + 1):
            why = f"{total} attempts" if total > 1 else "1 attempt"
        elif wait <= seconds_left:
            return wait
        else:
            why = f"to wait {wait:.0f} s as asked would go over {deadline}" if fault.wait else f"{deadline} is reached"
        if fault.kind == TIMEOUT:
            why += f"; where the server is only slow, raise calls.timeout ({self._calls.timeout:g} s)"
        reason = f"{fault.reason}; given up: {why}"
        return replace(fault, reaction=RetryPolicy.RECORD, reason=reason, final=fault.status != Status.TRANSPORT_ERROR)


# Attempts that are looked at.
WINDOW = 16
# So many complaints among them are a limit. Where one attempt in ten meets one at random, it never comes to that.
MANY = 10
# Seconds over which what the server took is counted, at most.
SPAN = 10.0
# The rate is so many times what the server took: attempts just as fast would miss a part of what it takes where it
# counts by whole seconds, and what it turns away costs nothing.
MARGIN = 2.0
# Attempts a second at least: a server that takes none is asked now and then whether it does again.
SLOWEST = 0.5
# By how much each good attempt raises the rate: while some of the last met a complaint, and while none did.
CAREFUL, FAST = 1.005, 1.1


class Pace:
    """When attempts at one server begin; `rate` is how many a second, infinite until its limit is reached.

    All times are of `clock`, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = math.inf
        self.good = 0
        """How many attempts went well."""
        self._clock = clock
        self._next = self._slowed = -math.inf
        self._taken: deque[float] = deque()
        self._recent: deque[bool] = deque(maxlen=WINDOW)

    def turn(self) -> float:
        """When the next attempt may begin; that turn is taken."""
        now = self._clock()
        while self._taken and self._taken[0] < now - SPAN:
            self._taken.popleft()
        turn = max(now, self._next)
        self._next = turn + 1 / self.rate
        self._taken.append(turn)
        return turn

    def went_well(self) -> None:
        """An attempt was answered."""
        self.good += 1
        self._recent.append(False)
        self.rate *= FAST if len(self._recent) == WINDOW and not any(self._recent) else CAREFUL

    def complained(self, turn: float, wait: float | None = None) -> None:
        """The server asked for fewer calls when an attempt came at its turn, and perhaps to wait so many seconds.

        What began before the rate last fell says nothing about the new one.
        """
        if turn in self._taken:
            self._taken.remove(turn)
        if turn < self._slowed:
            return
        self._recent.append(True)
        if sum(self._recent) >= MANY:
            now = self._slowed = self._clock()
            taken = [begun for begun in self._taken if now - SPAN <= begun <= now]
            seconds = max(1.0, now - taken[0]) if taken else 1.0
            self.rate = max(SLOWEST, MARGIN * len(taken) / seconds)
            self._next = max(self._next, now + (wait or 0.0))
            self._recent.clear()


# The rank of who had a place and gave it back only to wait: it is the next.
AGAIN = -1


class Limit:
    """So many calls at once; of those that wait the lowest rank is the next, and of one rank who came first."""

    def __init__(self, places: int) -> None:
        self._free, self._came = places, 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    async def acquire(self, rank: int = 0) -> None:
        """Take a place, or wait until one is handed over."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._came += 1
        heapq.heappush(self._waiting, (rank, self._came, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was handed over in the same moment
                self.release()
            raise

    def release(self) -> None:
        """Hand a place over to who waits for one, else keep it free."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Slots:
    """What a call holds of the limits on how many go at once, as a context.

    `rank` says who goes first: the number of calls that were made before for the same item. So no item is left with all
    its calls at the end, where they could only go one after the other.
    """

    def __init__(self, *limits: Limit, rank: int = 0) -> None:
        self._limits, self._rank = limits, rank
        self._held: list[Limit] = []

    async def __aenter__(self) -> Self:
        """Wait for all of them."""
        await self._take(self._rank)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let others have what is held."""
        while self._held:
            self._held.pop().release()

    @asynccontextmanager
    async def given_back(self) -> AsyncIterator[None]:
        """Others may go as long as this call only waits; then it is the next."""
        await self.__aexit__()
        yield
        await self._take(AGAIN)

    async def _take(self, rank: int) -> None:
        for limit in self._limits:
            await limit.acquire(rank)
            self._held.append(limit)


class Lane:
    """A model at a provider: how many calls go at once and how fast, and how the first of them went."""

    def __init__(self, ceiling: int) -> None:
        self.slots, self.pace = Limit(ceiling), Pace()
        self.alike: Counter[str] | None = Counter()  # how the first calls failed; None once one went well
        self.first: set[str] = set()  # calls that began before any ended, and have not ended
        self.any_ended = False


def lane_of(call: Request) -> tuple[str, str, str, bool]:
    """What the calls of one lane have in common."""
    return call.api, call.base_url, call.model, call.batched
