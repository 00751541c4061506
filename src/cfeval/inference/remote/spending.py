"""What paid attempts may cost is set aside before they leave, and what they came to is noted once they ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cfeval.core.config import Calls
from cfeval.core.errors import PluginError
from cfeval.inference.remote.cache import Budget, BudgetError, ResponseCache, Sent, UsageEntry
from cfeval.inference.remote.prices import Prices, missing_price, price_of
from cfeval.inference.remote.rate_limit import lane_of
from cfeval.inference.remote.request import Request, Usage
from cfeval.inference.remote.settings import ProgressMeter

T = TypeVar("T")


class Disk(Protocol):
    """Has the cache do something in its own thread, and undoes it where nobody waits any more."""

    def __call__(
        self, work: Callable[..., T], *arguments: object, undo: Callable[[T], None] | None = None
    ) -> Awaitable[T]:
        """The result."""


@dataclass
class _ModelCost:
    """Of the calls to a model: whether one went well, here or before (None: not looked yet), how many leave, and what
    the dearest of this job cost in USD."""

    cost: bool | None = None
    paying: int = 0
    dearest_usd: float = 0.0


class Spending:
    """The attempts of one job that are paid for."""

    def __init__(
        self,
        calls: Calls,
        cache: ResponseCache,
        prices: Prices,
        meter: ProgressMeter,
        on_disk: Disk,
        go_on: Callable[[], None],
    ) -> None:
        """`go_on` raises what has stopped the run."""
        self.budget = Budget(calls.max_calls, calls.max_cost_usd)
        self._cache, self._prices, self._meter, self._on_disk, self._go_on = cache, prices, meter, on_disk, go_on
        self._known: dict[tuple[str, str, str, bool], _ModelCost] = {}
        self._under_way: dict[int, tuple[_ModelCost, Sent]] = {}
        self._settled = asyncio.Event()

    async def send(self, call: Request) -> int:
        """Set aside what an attempt may cost, where need be once this job's attempts under way have cost less.

        Under a limit in USD the first call to a model goes alone, but not of a batch: the price list may be too low.

        Returns:
            The number of the attempt in the ledger.

        Raises:
            BudgetError: see `ResponseCache.send`.
            CfevalError: the run has stopped, or no list has a price that is needed.
        """

        def not_sent(sent: Sent) -> None:
            self._cache.record_usage(_not_sent(sent.number))
            self._cache.batches.withdraw(call.key)

        model_cost = self._model_cost(call)
        price = price_of(self._prices, call.model, call.share)
        if price is None and self.budget.max_cost_usd is not None:
            raise PluginError(
                f"calls.max_cost_usd is set, but no list has a price of {call.model}; {missing_price(self._prices)}"
            )
        listed = price.of(call.expected) if price else 0.0
        if self.budget.max_cost_usd is not None and model_cost.cost is None and not call.batched:
            model_cost.cost = await self._on_disk(self._cache.knows_cost, call.model)
        while True:
            self._go_on()
            if model_cost.paying and model_cost.cost is False:
                await self._settled.wait()
                continue
            model_cost.paying += 1
            try:
                sent = await self._on_disk(self._cache.send, call, listed, self.budget, undo=not_sent)
            except BaseException as error:
                model_cost.paying -= 1
                self.wake()
                if not isinstance(error, BudgetError) or not self._under_way:
                    raise
                await self._settled.wait()
            else:
                self._under_way[sent.number] = model_cost, sent
                return sent.number

    def _model_cost(self, call: Request) -> _ModelCost:
        return self._known.setdefault(lane_of(call), _ModelCost())

    def entry(self, number: int, call: Request, ended: str, usage: Usage | None, charged: bool) -> UsageEntry:
        """What an attempt came to; a usage of nothing at all is one that nobody told."""
        price, known_usage = price_of(self._prices, call.model, call.share), None if usage == Usage() else usage
        return UsageEntry(number, ended, known_usage, price.of(known_usage) if price and known_usage else None, charged)

    def resumed(self, call: Request, number: int) -> None:
        """An attempt that an earlier run began is this one's now; what that set aside is set aside already."""
        model_cost = self._model_cost(call)
        model_cost.paying += 1
        self._under_way[number] = model_cost, Sent(number, 0.0)

    async def not_sent(self, number: int) -> None:
        """Nothing was sent of an attempt that was set aside for."""
        await self.record(_not_sent(number))

    async def record(self, entry: UsageEntry) -> None:
        """Note what an attempt came to."""
        try:
            await self._on_disk(self._cache.record_usage, entry)
        finally:
            self.record_usage(entry)

    def record_usage(self, entry: UsageEntry | None) -> None:
        """An attempt has ended that is noted already, if there was one."""
        if entry is None:
            return
        model_cost, sent = self._under_way.pop(entry.send)
        model_cost.paying -= 1
        model_cost.cost = model_cost.cost or entry.ended == "ok"
        model_cost.dearest_usd = max(model_cost.dearest_usd, entry.paid_usd or 0.0)
        set_aside = max(sent.reserved_usd, model_cost.dearest_usd) if entry.charged else 0.0
        self._meter.used(entry.usage, entry.listed_usd, set_aside)
        self.wake()

    def wake(self) -> None:
        """Have those look again who wait until an attempt has ended."""
        self._settled.set()
        self._settled = asyncio.Event()


def _not_sent(number: int) -> UsageEntry:
    return UsageEntry(number, "not sent", None, None, charged=False)
