"""Concurrency adapts: halved when a server complains, raised as calls go well, first come first served."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.inference.remote.rate_limit import Limiter


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def limiter(ceiling: int) -> tuple[Limiter, Clock]:
    clock = Clock()
    return Limiter(ceiling, clock), clock


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 5))


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Crowd:
    """Tasks that want a slot; each holds it until it is let go."""

    def __init__(self, limiter: Limiter, size: int) -> None:
        self.inside: list[int] = []
        self.order: list[int] = []
        self._doors = [asyncio.Event() for _ in range(size)]
        self._tasks = [asyncio.create_task(self._visit(limiter, n)) for n in range(size)]

    async def _visit(self, limiter: Limiter, n: int) -> None:
        async with limiter:
            self.inside.append(n)
            self.order.append(n)
            await self._doors[n].wait()
            self.inside.remove(n)

    async def let_go(self, *numbers: int) -> None:
        for n in numbers:
            self._doors[n].set()
        await settle()

    async def everyone(self) -> None:
        for door in self._doors:
            door.set()
        await asyncio.gather(*self._tasks)


def test_no_more_than_the_ceiling_are_inside_and_they_enter_in_the_order_they_came() -> None:
    async def scene() -> None:
        crowd = Crowd(limiter(3)[0], 10)
        await settle()
        assert crowd.inside == [0, 1, 2]
        await crowd.let_go(1)
        assert crowd.inside == [0, 2, 3]
        await crowd.everyone()
        assert crowd.order == list(range(10))

    play(scene())


def test_a_complaint_halves_those_who_may_enter_and_those_inside_finish() -> None:
    async def scene() -> None:
        gate, _ = limiter(8)
        crowd = Crowd(gate, 20)
        await settle()
        gate.throttled()
        assert gate.limit == 4
        assert len(crowd.inside) == 8
        await crowd.let_go(0, 1, 2, 3)
        assert len(crowd.inside) == 4
        await crowd.let_go(4)
        assert crowd.inside == [5, 6, 7, 8]
        await crowd.everyone()

    play(scene())


def test_complaints_at_the_same_moment_count_once_later_ones_again_and_one_call_is_always_let_in() -> None:
    async def scene() -> None:
        gate, clock = limiter(8)
        for _ in range(8):
            gate.throttled()
        assert gate.limit == 4
        for expected in (2, 1, 1, 1):
            clock.now += 5
            gate.throttled()
            assert gate.limit == expected
        crowd = Crowd(gate, 4)
        await settle()
        assert crowd.inside == [0]
        await crowd.everyone()
        assert crowd.order == [0, 1, 2, 3]

    play(scene())


def test_good_calls_raise_the_limit_by_one_a_round_up_to_the_ceiling() -> None:
    async def scene() -> None:
        gate, _ = limiter(8)
        gate.throttled()
        limits = []
        for _ in range(40):
            gate.went_well()
            limits.append(gate.limit)
        assert limits[:4] == [4, 4, 4, 5]
        assert limits[8] == 6
        assert limits[-1] == 8
        crowd = Crowd(gate, 20)
        await settle()
        assert len(crowd.inside) == 8
        await crowd.everyone()

    play(scene())


def test_free_slots_are_taken_away_too() -> None:
    async def scene() -> None:
        gate, _ = limiter(8)
        crowd = Crowd(gate, 2)
        await settle()
        gate.throttled()
        more = Crowd(gate, 6)
        await settle()
        assert len(crowd.inside) + len(more.inside) == 4
        await crowd.everyone()
        await more.everyone()

    play(scene())


@pytest.mark.parametrize("steps", range(6))
def test_one_who_gives_up_waiting_takes_no_slot_at_whatever_moment(steps: int) -> None:
    async def scene() -> None:
        gate, _ = limiter(1)
        crowd = Crowd(gate, 1)
        await settle()

        async def visit() -> None:
            async with gate:
                await settle()

        impatient = [asyncio.create_task(visit()) for _ in range(3)]
        await settle()
        leaving = asyncio.create_task(crowd.let_go(0))
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in impatient:
            task.cancel()
        await leaving
        await Crowd(gate, 3).everyone()

    play(scene())


def test_a_call_that_raises_gives_its_slot_back() -> None:
    async def scene() -> None:
        gate, _ = limiter(1)
        with pytest.raises(RuntimeError):
            async with gate:
                raise RuntimeError
        async with gate:
            pass

    play(scene())


@given(st.integers(1, 6), st.lists(st.sampled_from(["bad", "good", "leave", "wait"]), max_size=60))
def test_whatever_happens_no_slot_is_lost_and_the_ceiling_holds(ceiling: int, events: list[str]) -> None:
    async def scene() -> None:
        gate, clock = limiter(ceiling)
        crowd = Crowd(gate, 70)
        for event in events:
            match event:
                case "bad":
                    gate.throttled()
                case "good":
                    gate.went_well()
                case "wait":
                    clock.now += 2
                case "leave" if crowd.inside:
                    first = crowd.inside[0]
                    await crowd.let_go(first)
            await settle()
            assert 1 <= gate.limit <= ceiling
            assert gate.limit <= len(crowd.inside) <= ceiling
        for _ in range(ceiling):
            await crowd.let_go(*list(crowd.inside))
        assert len(crowd.inside) == gate.limit
        await crowd.everyone()
        assert crowd.order == list(range(70))

    play(scene())
