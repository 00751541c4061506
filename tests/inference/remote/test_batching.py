"""Many requests open at a time: a slow one holds up its own turn alone, and no end of a run loses what is paid."""

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.datasets.sample import Sample
from cfeval.edct.interfaces import VerifyReply, VerifyRequest
from cfeval.edct.plugins.local_editors import Gated, GatedPlugin
from cfeval.edct.protocols.rules import EDCT_BENCH_2026
from cfeval.edct.records import Instruction
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.inference.batching import AHEAD, OPEN, Batcher, answered, map_requests, shared
from cfeval.inference.chat import ChatReply, ChatRequest
from cfeval.inference.remote.cache import ResponseCache
from tests.answers import answers
from tests.inference.remote.asking import PHOTO, chat_model, editor, request
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback

AT_ONCE = 4


@asynccontextmanager
async def outside() -> AsyncIterator[list[int]]:
    """Something outside of the process, which knows who called it and whether it is closed."""
    called: list[int] = []
    yield called
    called.clear()


def same(number: int) -> int:
    return number


def stored(path: Path) -> int:
    cache = ResponseCache(path)
    try:
        return len(list(cache.calls()))
    finally:
        cache.close()


def asked(server: Loopback, requests: Iterator[int]) -> Iterator[tuple[int, Any]]:
    """The replies of a chat model to questions with these numbers."""
    return map_requests(requests, lambda n: request(f"Which is {n}?"), chat_model(server).generate, 1000)


def test_a_slow_request_holds_up_nothing_but_its_turn(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    rounds, ended = 8 * AT_ONCE, asyncio.Event()

    async def answer(number: int) -> int:
        called = await shared(outside)
        called.append(number)
        if number == 0:
            await asyncio.wait_for(ended.wait(), 30)
        elif len(called) > rounds:
            ended.set()
        return number

    assert list(map_requests(range(rounds + 1), same, answer, 1)) == [(n, n) for n in range(rounds + 1)]


def test_requests_are_taken_only_as_they_are_needed(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    taken: list[int] = []
    inside = most = 0

    def endless() -> Iterator[int]:
        while True:
            taken.append(threading.get_ident())
            yield len(taken)

    async def answer(number: int) -> int:
        nonlocal inside, most
        await shared(outside)
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001 if number % 7 else 0.01)
        inside -= 1
        return number

    replies = map_requests(endless(), same, answer, 1000)
    assert [next(replies)[1] for _ in range(500)] == list(range(1, 501))
    assert set(taken) == {threading.get_ident()}
    assert len(taken) <= 500 + AHEAD * AT_ONCE
    assert most == OPEN * (AT_ONCE - 1) + 1
    replies.close()  # type: ignore[attr-defined]


def test_where_all_is_local_every_round_of_a_batch_goes_together() -> None:
    seen: list[list[int]] = []

    def double(numbers: list[int]) -> list[int]:
        seen.append(numbers)
        return [2 * number for number in numbers]

    model = Batcher(double)

    async def answer(number: int) -> int:
        once = await model.answer(number)
        return await model.answer(once) if number % 3 == 0 else once

    assert list(map_requests(range(8), same, answer, 5)) == [(n, 4 * n if n % 3 == 0 else 2 * n) for n in range(8)]
    assert seen == [[0, 1, 2, 3, 4], [0, 6], [5, 6, 7], [12]]


def test_what_a_batch_raises_all_its_requests_raise() -> None:
    def broken(numbers: list[int]) -> list[float]:
        return [1 / (5 - number) for number in numbers]

    with pytest.raises(ZeroDivisionError):
        answers(Batcher(broken).answer, range(10))


def test_a_batch_with_a_reply_too_few_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        answers(Batcher(lambda numbers: numbers[1:]).answer, [1, 2])


def test_outside_of_a_run_a_batcher_answers_alone_and_nothing_is_called() -> None:
    assert asyncio.run(Batcher(lambda numbers: numbers).answer(3)) == 3
    with pytest.raises(RuntimeError, match="map_requests"):
        asyncio.run(shared(outside))


def test_a_local_model_computes_while_calls_are_under_way(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    sizes: list[int] = []
    first = threading.Event()

    def compute(numbers: list[int]) -> list[int]:
        sizes.append(len(numbers))
        first.set()
        return numbers

    model = Batcher(compute)

    async def answer(number: int) -> int:
        await shared(outside)
        while number == 0 and not first.is_set():  # a call that is slower than the first batch
            await asyncio.sleep(0.001)
        return await model.answer(number)

    assert answers(answer, range(20)) == list(range(20))
    assert sum(sizes) == 20
    assert len(sizes) > 1


def test_code_in_a_thread_asks_a_model_of_the_run(configure: Configure) -> None:
    configure()
    model = Batcher(lambda numbers: [2 * number for number in numbers])

    async def answer(number: int) -> int:
        return await asyncio.to_thread(answered, model.answer, number)

    assert answers(answer, range(9)) == [2 * number for number in range(9)]
    assert answered(model.answer, 4) == 8


def test_all_models_of_a_job_share_its_limit_of_calls_at_once(server: Loopback, configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    server.held = lambda _: server.most_in_flight < AT_ONCE
    first, second = chat_model(server, model="vlm"), chat_model(server, model="judge")

    async def ask(one: ChatRequest) -> Sequence[ChatReply]:
        return await asyncio.gather(first.generate(one), second.generate(one))

    pairs = list(map_requests(range(20), lambda n: request(f"Which is {n}?"), ask, 1))
    assert all(reply.status == "ok" for _, replies in pairs for reply in replies)
    assert server.models() == {"vlm": 20, "judge": 20}
    assert server.most_in_flight == AT_ONCE


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["edct-2025", EDCT_BENCH_2026])
def test_edits_made_side_by_side_are_those_made_one_by_one(
    server: Loopback, configure: Configure, tmp_path: Path, protocol: str
) -> None:
    samples = {f"i{n}": Sample(id=f"i{n}", image=PHOTO.ref("i.png"), question="What?") for n in range(9)}
    written = [
        Instruction(id=name, edit=edit, concept="color", positive=f"Make {name} blue, step {edit}.")
        for name in samples
        for edit in (1, 2)
    ]

    def made() -> list[Any]:
        model = editor(server, Kind.IMAGE)
        return list(counterfactuals(written, samples, lambda _: PHOTO, model, protocol, 1))

    beside = made()
    assert [(record.id, record.edit) for record, _ in beside] == [(one.id, one.edit) for one in written]
    configure(cache=str(tmp_path / "alone.sqlite"), max_connections=1)
    assert made() == beside
    assert set(server.sent().values()) == {2}


def test_a_gate_verifies_one_edit_while_another_is_made(server: Loopback, configure: Configure) -> None:
    """One edit is not there before all others are verified: none of these waits for it."""
    configure(max_connections=AT_ONCE)
    verified: list[str] = []
    server.held = lambda place: place == 1 and len(verified) < len(samples) - 1

    class Local:
        def __init__(self) -> None:
            self.batches = Batcher(self.verify_all)

        async def verify(self, request: VerifyRequest) -> VerifyReply:
            return await self.batches.answer(request)

        def verify_all(self, requests: list[VerifyRequest]) -> list[VerifyReply]:
            verified.extend(request.item for request in requests)
            return [VerifyReply(True) for _ in requests]

    gate = Gated(editor(server, Kind.IMAGE), Local(), GatedPlugin(editor={}, verifier={}))
    samples = {f"i{n}": Sample(id=f"i{n}", image=PHOTO.ref("i.png"), question="What?") for n in range(12)}
    written = [Instruction(id=name, concept="color", positive=f"Make {name} blue.") for name in samples]
    made = list(counterfactuals(written, samples, lambda _: PHOTO, gate, "edct-2025", 1))
    assert [record.id for record, _ in made] == list(samples)
    assert {record.status for record, _ in made} == {"ok"}
    assert sorted(verified) == sorted(samples)


@pytest.mark.parametrize("end", ["a broken record", "nobody reads on"])
def test_calls_in_flight_are_waited_for_and_stored_whatever_ends_the_run(
    server: Loopback, configure: Configure, end: str
) -> None:
    path = configure(max_connections=AT_ONCE)
    server.latency = 0.05

    def numbers() -> Iterator[int]:
        yield from range(OPEN * AT_ONCE + 2)
        if end == "a broken record":
            raise InputError("line 19: broken")
        yield from range(1000, 2000)

    replies = asked(server, numbers())
    assert next(replies)[1].status == "ok"
    if end == "a broken record":
        with pytest.raises(InputError, match="line 19: broken"):
            list(replies)
    else:
        replies.close()  # type: ignore[attr-defined]
    assert server.in_flight == 0
    assert 1 <= len(server.log) < 50
    assert stored(path) == len(server.log)


def test_an_error_of_the_work_itself_is_raised_in_order_and_ends_the_taking(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    taken: list[int] = []

    async def answer(number: int) -> float:
        taken.append(number)
        await shared(outside)
        await asyncio.sleep(0.002 * (10 - number))
        return 1 / (5 - number)

    replies = map_requests(range(1000), same, answer, 1)
    assert [next(replies)[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        next(replies)
    assert len(taken) <= AHEAD * AT_ONCE


def test_what_is_still_open_at_an_error_ends_without_a_word(configure: Configure, recwarn: Any) -> None:
    configure(max_connections=AT_ONCE)

    async def forever(number: int) -> int:
        await asyncio.gather(asyncio.sleep(1000 * number), shared(outside))
        if number == 0:
            raise InputError("broken")
        return number

    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError):
            answers(forever, range(5))
        gc.collect()
    assert time.monotonic() - start < 30
    assert not recwarn.list
