"""What tests steer and read: which fault comes next, the latency, the log of requests and the counts over it."""

import hashlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.loopback.fault import Fault, Kind
from tests.loopback.faults import CALLS, FAULTS

PROVIDER = (*CALLS, Kind.POLL, Kind.DOWNLOAD)
"""The requests that random faults meet, if nothing else is said."""


@dataclass
class Request:
    """A request as it came in; never the key, only whether one was there. Times in seconds since the last reset."""

    route: str
    kind: Kind
    path: str
    model: str
    digest: str
    """Hash of path and body; for a form, of its fields."""
    auth: bool
    payload: Any = field(default=None, repr=False)
    """The body: parsed JSON, or the fields of a form, each file as its hash."""
    attempt: int = 0
    """How often this digest has come, this time included."""
    fault: str | None = None
    began: float = 0.0
    ended: float | None = None
    status: int | None = None
    """The HTTP status that was answered; None while it is being served, or when the connection broke."""
    usd: float = 0.0
    """What was charged for it, whether or not the answer arrived."""


@dataclass(frozen=True)
class _Random:
    rate: float
    faults: tuple[Fault, ...]
    seed: int
    at: frozenset[Kind]


class Control:
    """The server's state. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget the log, the counts, the script and the random faults."""
        with self._lock:
            self.log: list[Request] = []
            self.in_flight = 0
            self.most_in_flight = 0
            self.held: Callable[[int], bool] = lambda _: False
            """Whether a request is not answered yet, by its place (1, 2, …) among those that a provider charges for."""
            self.usd = 0.0
            """What OpenRouter charged: what its answers say, whether or not they arrived; in US dollars."""
            self.credits = 0.0
            """What BFL charged, in credits."""
            self._attempts: Counter[str] = Counter()
            self._charged = 0
            self._scripts: dict[Kind | None, deque[str | None]] = {}
            self._random: _Random | None = None
            self._limit: int | None = None
            self._taken: Counter[int] = Counter()
            self._start = time.monotonic()

    def script(self, faults: Iterable[str | None], at: Kind | str | None = None) -> None:
        """Queue faults, one a request; None is a healthy answer.

        `at` names the kind of request they wait for; without it, they meet whatever a provider charges for.
        """
        names = [None if name is None else known(name).name for name in faults]
        with self._lock:
            self._scripts.setdefault(None if at is None else Kind(at), deque()).extend(names)

    def random(
        self,
        rate: float,
        faults: Iterable[str] | None = None,
        seed: int = 0,
        at: Sequence[Kind | str] = PROVIDER,
    ) -> None:
        """Give a share `rate` of requests a fault, out of those named that fit the request; without names, of all.

        Seed, body and attempt decide, so a rerun makes the same choices in whatever order the requests come.
        """
        chosen = tuple(known(name) for name in faults) if faults is not None else tuple(FAULTS.values())
        with self._lock:
            self._random = _Random(rate, chosen, seed, frozenset(Kind(kind) for kind in at))

    def limit(self, per_second: int) -> None:
        """Answer so many requests that a provider charges for in each second, and the others with a 429."""
        with self._lock:
            self._limit = per_second

    def requests(self) -> Counter[str]:
        """How many requests came, by route."""
        return Counter(request.route for request in self._logged())

    def models(self) -> Counter[str]:
        """How many requests came that a provider charges for, by model."""
        return Counter(request.model for request in self._logged() if request.kind in CALLS)

    def sent(self) -> Counter[str]:
        """How often each body came, of the requests that a provider charges for."""
        return Counter(request.digest for request in self._logged() if request.kind in CALLS)

    def attempts(self, digest: str) -> int:
        """How often a body came."""
        with self._lock:
            return self._attempts[digest]

    def faults(self) -> Counter[str]:
        """How often each fault was played."""
        return Counter(request.fault for request in self._logged() if request.fault)

    def summary(self) -> dict[str, Any]:
        """All counts, for other processes."""
        return {
            "requests": self.requests(),
            "models": self.models(),
            "sent": self.sent(),
            "faults": self.faults(),
            "most_in_flight": self.most_in_flight,
            "usd": self.usd,
            "credits": self.credits,
        }

    def entries(self) -> list[dict[str, Any]]:
        """The log, for other processes: without the bodies."""
        return [{k: v for k, v in asdict(request).items() if k != "payload"} for request in self._logged()]

    @contextmanager
    def serving(self, request: Request, *, aimed: str | None, healthy: bool) -> Iterator[int]:
        """Log a request, count it as in flight, and choose its fault; yields its place among those charged for, or 0.

        `aimed` is the fault its own header asks for; a `healthy` request gets none and uses up nothing.
        """
        with self._lock:
            self._attempts[request.digest] += 1
            request.attempt = self._attempts[request.digest]
            request.began = time.monotonic() - self._start
            request.fault = None if healthy else aimed or self._next(request)
            self.log.append(request)
            self.in_flight += 1
            self._charged += request.kind in CALLS
            place = self._charged if request.kind in CALLS else 0
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield place
        finally:
            with self._lock:
                self.in_flight = max(0, self.in_flight - 1)  # a reset may have come in between
                request.ended = time.monotonic() - self._start

    def charge(self, *, usd: float = 0.0, credits: float = 0.0) -> None:
        """Add to what was charged."""
        with self._lock:
            self.usd += usd
            self.credits += credits

    def _logged(self) -> list[Request]:
        with self._lock:
            return list(self.log)

    def _next(self, request: Request) -> str | None:
        kind = request.kind
        for queue in (self._scripts.get(kind), self._scripts.get(None) if kind in CALLS else None):
            if queue:
                return queue.popleft()
        return self._over(request) or self._drawn(request)

    def _over(self, request: Request) -> str | None:
        second = int(request.began)
        if self._limit is None or request.kind not in CALLS:
            return None
        if self._taken[second] >= self._limit:
            return "http_429"
        self._taken[second] += 1
        return None

    def _drawn(self, request: Request) -> str | None:
        random = self._random
        if random is None or request.kind not in random.at:
            return None
        fitting = [fault.name for fault in random.faults if request.kind in fault.where]
        dice = hashlib.sha256(f"{random.seed}|{request.digest}|{request.attempt}".encode()).digest()
        if not fitting or int.from_bytes(dice[:8], "big") >= random.rate * 2**64:
            return None
        return fitting[int.from_bytes(dice[8:16], "big") % len(fitting)]


def known(name: str) -> Fault:
    """The fault of a name.

    Raises:
        ValueError: there is none.
    """
    if name not in FAULTS:
        raise ValueError(f"no fault is called {name!r}; see tests/loopback/faults.py")
    return FAULTS[name]
