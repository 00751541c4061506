"""Attempts slow down where most of them meet a complaint, not at a single one, and speed up again as they go well."""

import asyncio
import math
import random
import time
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.config import Calls
from cfeval.core.records import Status
from cfeval.inference.remote import rate_limit
from cfeval.inference.remote.client import Client, RetryLoop
from cfeval.inference.remote.faults import Fault, retry
from cfeval.inference.remote.rate_limit import FAST, MANY, MARGIN, SLOWEST, SPAN, WINDOW, Limit, Pace, Slots
from cfeval.inference.remote.request import Request
from cfeval.inference.remote.settings import ProgressMeter
from tests.inference.remote.asking import chat, request
from tests.inference.remote.conftest import Configure
from tests.loopback import Loopback


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pace() -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(clock), clock


def run_over(of: Pace, taken: int = 4, wait: float | None = None) -> None:
    """So many attempts as the server takes, and then complaints until they are too many."""
    turns = [of.turn() for _ in range(taken + MANY)]
    for turn in turns[taken:]:
        of.complained(turn, wait)


@pytest.mark.parametrize("one_in", [100, 50, 20, 10, 4])
def test_a_share_of_complaints_that_is_no_limit_slows_nothing_down(one_in: int) -> None:
    of, clock = pace()
    for number in range(1000):
        clock.now += 0.1
        turn = of.turn()
        assert turn == clock.now
        if number % one_in:
            of.went_well()
        else:
            of.complained(turn)
    assert of.rate == math.inf


@pytest.mark.parametrize("seed", range(20))
def test_one_attempt_in_ten_at_random_is_never_taken_for_a_limit(seed: int) -> None:
    dice = random.Random(seed)
    of, clock = pace()
    for _ in range(2000):
        clock.now += 0.1
        turn = of.turn()
        if dice.random() < 0.1:
            of.complained(turn)
        else:
            of.went_well()
    assert of.rate == math.inf


def test_where_most_attempts_meet_a_complaint_they_go_by_what_the_server_took() -> None:
    of, clock = pace()
    run_over(of, taken=4)
    assert of.rate == MARGIN * 4
    turns = [of.turn() for _ in range(4)]
    assert [after - before for before, after in pairwise(turns)] == pytest.approx([1 / of.rate] * 3)
    clock.now += 60
    assert of.turn() == clock.now, "turns that nobody took are not saved up"


def test_a_longer_time_of_complaints_tells_the_rate_by_all_that_was_taken_in_it() -> None:
    of, clock = pace()
    turns = []
    for _ in range(16):
        clock.now += 0.25
        turns.append(of.turn())
    for turn in turns[::2]:
        of.complained(turn)
    assert of.rate == math.inf
    for turn in turns[1:4:2]:
        of.complained(turn)
    assert of.rate == pytest.approx(MARGIN * 6 / (clock.now - turns[5]))


def test_what_was_taken_long_ago_does_not_count() -> None:
    of, clock = pace()
    for _ in range(50):
        of.turn()
    clock.now += SPAN + 1
    run_over(of, taken=3)
    assert of.rate == MARGIN * 3


def test_a_server_that_takes_nothing_is_still_asked_now_and_then() -> None:
    of, _ = pace()
    run_over(of, taken=0)
    assert of.rate == SLOWEST


def test_complaints_about_what_was_sent_before_say_nothing_about_the_new_rate() -> None:
    of, clock = pace()
    before = [of.turn() for _ in range(2 * WINDOW)]
    clock.now += 0.1
    for turn in before:
        of.complained(turn)
    first = of.rate
    for turn in before:
        of.complained(turn)
    assert of.rate == first
    clock.now += 60
    run_over(of, taken=1)
    assert of.rate != first


def test_nobody_begins_before_the_wait_that_the_server_asks_for_once_it_is_a_limit() -> None:
    of, clock = pace()
    of.complained(of.turn(), 30.0)
    assert of.turn() == clock.now, "a single call waits for itself"
    run_over(of, wait=30.0)
    assert of.turn() == clock.now + 30


def test_the_rate_rises_carefully_while_complaints_come_and_fast_when_there_are_none() -> None:
    of, _ = pace()
    run_over(of)
    low = of.rate
    of.complained(of.turn())
    for _ in range(WINDOW - 1):
        of.went_well()
    assert low < of.rate < 1.1 * low, "the limit is remembered"
    for _ in range(WINDOW):
        of.went_well()
    assert of.rate > 1.1 * low
    former = of.rate
    of.went_well()
    assert of.rate == FAST * former
    for _ in range(100):
        of.went_well()
    assert of.rate > 1000 * low, "a limit that is gone is forgotten"


@given(st.lists(st.sampled_from(["turn", "bad", "good", "wait"]), max_size=200))
def test_whatever_happens_turns_come_in_order_as_far_apart_as_the_rate_says(events: list[str]) -> None:
    of, clock = pace()
    turns, open_ = [0.0], []
    for event in events:
        match event:
            case "turn":
                least = turns[-1] + 1 / of.rate
                turns.append(of.turn())
                open_.append(turns[-1])
                assert turns[-1] >= max(clock.now, turns[-2])
                assert turns[-1] == clock.now or of.rate == math.inf or turns[-1] >= least - 1 / SLOWEST
            case "wait":
                clock.now += 0.5
            case "bad" if open_:
                of.complained(open_.pop(0))
            case "good" if open_:
                open_.pop(0)
                of.went_well()
        assert of.rate >= SLOWEST


class Caller:
    """What a `RetryLoop` needs of its client."""

    def __init__(self, max_retries: int) -> None:
        self.settings = Calls(max_retries=max_retries)
        self.meter, self.random, self.of = ProgressMeter(), random.Random(1), Pace()

    def pace(self, _: Request) -> Pace:
        return self.of


@pytest.mark.parametrize(("others_go_well", "asked"), [(True, 21), (False, 3)])
def test_a_call_that_waits_while_others_are_served_uses_up_no_attempts(
    monkeypatch: pytest.MonkeyPatch, others_go_well: bool, asked: int
) -> None:
    monkeypatch.setattr(rate_limit, "_BACK_OFF", 0.0)
    caller = Caller(max_retries=2)
    call = Request("chat", "http://h/v1", "vlm", {}, 1)
    loop = RetryLoop(cast(Client, caller), call, cast(Any, None), time.monotonic(), Slots())
    asks = 0

    async def step() -> str | Fault:
        nonlocal asks
        asks += 1
        if others_go_well:
            caller.of.went_well()
        return retry("http_429", "busy", throttled=True) if asks <= 20 else "served"

    result = asyncio.run(loop.free(step))
    assert asks == asked
    assert (result == "served") == others_go_well


def test_a_call_that_gave_its_place_back_is_the_next_and_no_place_is_lost() -> None:
    async def play() -> list[str]:
        limit, order = Limit(1), list[str]()

        async def call(name: str, slots: Slots) -> None:
            async with slots:
                order.append(name)
                await asyncio.sleep(0)
                if name == "a":
                    async with slots.given_back():
                        await asyncio.sleep(0)
                    order.append("a again")

        tasks = [asyncio.create_task(call(name, Slots(limit))) for name in "abcde"]
        await asyncio.sleep(0)
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(limit.acquire(), 1)
        return order

    assert asyncio.run(play()) == ["a", "b", "a again", "c", "e"]


def test_who_has_made_fewer_calls_goes_first_and_of_those_who_came_first() -> None:
    async def play() -> list[str]:
        limit, order = Limit(1), list[str]()

        async def call(name: str, rank: int) -> None:
            async with Slots(limit, rank=rank):
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(*one) for one in [("a", 1), ("b", 2), ("c", 1), ("d", 0), ("e", 1)]))
        return order

    assert asyncio.run(play()) == ["a", "d", "c", "e", "b"]


@given(st.lists(st.sampled_from(["call", "again", "cancel", "step"]), max_size=60))
def test_however_calls_come_wait_and_are_broken_off_no_more_go_at_once_and_all_places_come_back(
    events: list[str],
) -> None:
    async def play() -> None:
        limit, going, most = Limit(2), 0, 0

        async def call(pauses: bool) -> None:
            nonlocal going, most
            async with Slots(limit) as slots:
                for _ in range(2):
                    going += 1
                    most = max(most, going)
                    try:
                        await asyncio.sleep(0)
                    finally:
                        going -= 1
                    if pauses:
                        async with slots.given_back():
                            await asyncio.sleep(0)

        tasks = list[asyncio.Task[None]]()
        for number, event in enumerate(events):
            if event in ("call", "again"):
                tasks.append(asyncio.create_task(call(event == "again")))
            elif event == "cancel" and tasks:
                tasks[number % len(tasks)].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most <= 2
        for _ in range(2):
            await asyncio.wait_for(limit.acquire(), 1)

    asyncio.run(play())


@pytest.mark.parametrize(("throttled", "longest"), [(True, [0.1, 0.25, 1.0, 2.0]), (False, [1.0, 2.0, 4.0, 8.0])])
def test_the_first_waits_are_short_where_a_server_only_asks_for_fewer_calls(
    throttled: bool, longest: list[float]
) -> None:
    patience = rate_limit.Patience(Calls(), random.Random(3))
    for most in longest:
        wait = patience.next(retry("http_429" if throttled else "http_500", "busy", throttled=throttled), 99.0)
        assert isinstance(wait, float)
        assert most / 2 <= wait <= most


def test_calls_that_wait_for_a_further_attempt_let_others_go(server: Loopback, configure: Configure) -> None:
    configure(max_connections=2)
    server.script(["http_429", "http_429"])
    replies = chat(server, [request(item=item, seed=seed) for seed, item in enumerate("abc")])
    assert [reply.status for reply in replies] == [Status.OK] * 3
    first, second, third, *again = [entry["digest"] for entry in server.entries()]
    assert len({first, second, third}) == 3
    assert sorted(again) == sorted([first, second])
    assert server.most_in_flight <= 2
