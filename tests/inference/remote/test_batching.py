"""Many requests under way at a time: a slow one holds up its own turn alone, and no end of a run loses what is paid."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.datasets.sample import Sample
from cfeval.edct.plugins.judges.panel import Panel
from cfeval.edct.protocols.rules import EDCT_BENCH_2026
from cfeval.edct.records import Instruction
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.inference.batching import map_requests, together
from cfeval.inference.chat import ChatReply, ChatRequest
from cfeval.inference.concurrency import AHEAD, map_concurrently
from cfeval.inference.remote.cache import ResponseCache
from tests.inference.remote.asking import PHOTO, chat_model, editor, request
from tests.inference.remote.conftest import Configure
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback

AT_ONCE = 4


def stored(path: Path) -> int:
    cache = ResponseCache(path)
    try:
        return len(list(cache.calls()))
    finally:
        cache.close()


def asked(server: Loopback, requests: Iterator[int]) -> Iterator[tuple[int, Any]]:
    """The replies of a chat model to questions with these numbers."""
    model = chat_model(server)
    return map_requests(model, requests, lambda n: request(f"Which is {n}?"), model.generate, 1000)


def test_a_slow_request_holds_up_nothing_but_its_turn(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    others, rounds = threading.Semaphore(0), 8 * AT_ONCE

    def serve(numbers: list[int]) -> list[int]:
        if numbers == [0]:
            assert all(others.acquire(timeout=30) for _ in range(rounds)), "the others wait for the slow one"
        else:
            others.release()
        return numbers

    assert list(map_concurrently(range(rounds + 1), serve)) == list(range(rounds + 1))


def test_requests_are_taken_in_one_thread_and_only_as_they_are_needed(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    taken: list[int] = []
    under_way = threading.Barrier(2 * AT_ONCE - 1)
    lock, inside, most = threading.Lock(), 0, 0

    def endless() -> Iterator[int]:
        while True:
            taken.append(threading.get_ident())
            yield len(taken)

    def serve(numbers: list[int]) -> list[int]:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        if numbers[0] <= under_way.parties:
            under_way.wait(timeout=30)  # breaks where fewer are under way
        with lock:
            inside -= 1
        return numbers

    replies = map_concurrently(endless(), serve)
    assert [next(replies) for _ in range(500)] == list(range(1, 501))
    assert set(taken) == {threading.get_ident()}
    assert len(taken) <= 500 + AHEAD * AT_ONCE + 1
    assert most == under_way.parties
    replies.close()  # type: ignore[attr-defined]


def test_all_models_of_a_job_share_its_limit_of_calls_at_once(server: Loopback, configure: Configure) -> None:
    configure(max_connections=AT_ONCE)
    server.latency = 0.02
    first, second = chat_model(server, model="vlm"), chat_model(server, model="judge")

    def ask(some: list[ChatRequest]) -> list[tuple[ChatReply, ChatReply]]:
        return list(zip(first.generate(some), second.generate(some), strict=True))

    pairs = list(map_requests(first, range(20), lambda n: request(f"Which is {n}?"), ask, 1))
    assert all(reply.status == "ok" for _, replies in pairs for reply in replies)
    assert server.models() == {"vlm": 20, "judge": 20}
    assert server.most_in_flight == AT_ONCE


@pytest.mark.parametrize("protocol", ["edct-2025", EDCT_BENCH_2026])
def test_edits_side_by_side_are_those_of_a_batch(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, protocol: str
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
    configure(cache=str(tmp_path / "batch.sqlite"))
    monkeypatch.setattr("cfeval.edct.plugins.editors.openrouter_image.OpenRouterImage.map_concurrently", None)
    assert made() == beside
    assert set(server.sent().values()) == {2}


@pytest.mark.parametrize("end", ["a broken record", "nobody reads on"])
def test_calls_in_flight_are_waited_for_and_stored_whatever_ends_the_run(
    server: Loopback, configure: Configure, end: str
) -> None:
    path = configure(max_connections=AT_ONCE)
    server.latency = 0.05

    def numbers() -> Iterator[int]:
        yield from range(10)
        if end == "a broken record":
            raise InputError("line 11: broken")
        yield from range(10, 1000)

    replies = asked(server, numbers())
    assert next(replies)[1].status == "ok"
    if end == "a broken record":
        with pytest.raises(InputError, match="line 11: broken"):
            list(replies)
    else:
        replies.close()  # type: ignore[attr-defined]
    assert server.in_flight == 0
    assert 1 <= len(server.log) < 50
    assert stored(path) == len(server.log)


def test_an_error_of_the_work_itself_is_raised(configure: Configure) -> None:
    configure(max_connections=AT_ONCE)

    def serve(numbers: list[int]) -> list[float]:
        return [1 / (5 - n) for n in numbers]

    with pytest.raises(ZeroDivisionError):
        list(map_concurrently(range(10), serve))


def test_what_is_made_of_several_goes_side_by_side_where_all_of_it_does(server: Loopback, configure: Configure) -> None:
    configure()
    remote, here = chat_model(server), object()
    assert together(remote) is together(remote, remote) is map_concurrently
    assert together(remote, here) is together(here) is None
    beside, batches = (SimpleNamespace(needs_picture=False, map_concurrently=way) for way in (map_concurrently, None))
    assert Panel({"a": beside, "b": beside}).map_concurrently is map_concurrently  # type: ignore[dict-item]
    assert Panel({"a": beside, "b": batches}).map_concurrently is None  # type: ignore[dict-item]
