"""Programs of several questions: what they ask of local models meets in batches, the same however threads arrive."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from cfeval.cvqa.programs import turns
from cfeval.cvqa.programs.turns import Workers, waiting
from cfeval.inference.batching import Batcher, answered, map_requests, shared

Batch = tuple[str, tuple[int, ...]]
QUESTIONS = 12


def played(seed: int, exact: bool, hosted: bool = False) -> tuple[list[str], list[Batch]]:
    """What programs say that ask two local models in turn, at moments that `seed` scatters, and the batches of it."""
    dice, batches = random.Random(seed), list[Batch]()

    def model(name: str) -> Batcher[int, str]:
        def batch(asked: Sequence[int]) -> list[str]:
            batches.append((name, tuple(asked)))
            return [f"{name}{number}" for number in asked]

        return Batcher(batch, exact)

    detector, asker, workers = model("find"), model("ask"), Workers(outside=hosted)

    def program(number: int) -> str:
        said = list[str]()
        for step in range(1 + number % 3):
            time.sleep(dice.random() / 200)
            with waiting():
                time.sleep(dice.random() / 200)
                said.append(answered((detector if (number + step) % 2 else asker).answer, number))
        return " ".join(said)

    async def answer(number: int) -> str:
        if hosted:
            await shared(outside)
        return await workers.run(lambda: program(number))

    return [said for _, said in map_requests(range(QUESTIONS), lambda same: same, answer, QUESTIONS)], batches


@asynccontextmanager
async def outside() -> AsyncIterator[None]:
    """Something outside of this process."""
    yield


@pytest.mark.parametrize("at_once", [QUESTIONS, 5])
def test_batches_are_whole_and_the_same_however_threads_arrive(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", at_once)
    said, batches = played(1, exact=False)
    assert played(2, exact=False) == (said, batches)
    assert said[2] == "ask2 find2 ask2"
    assert len(batches) < sum(len(asked) for _, asked in batches) / 2
    assert max(len(asked) for _, asked in batches) >= at_once // 2


def test_where_something_outside_is_called_too_inexact_models_are_asked_one_by_one() -> None:
    said, batches = played(1, exact=False, hosted=True)
    assert said == played(2, exact=False)[0]
    assert all(len(asked) == 1 for _, asked in batches)


def test_a_program_that_fails_holds_up_no_other() -> None:
    workers, model = Workers(outside=False), Batcher[int, int](lambda asked: [2 * one for one in asked])

    def program(number: int) -> int:
        if number == 1:
            raise ValueError("a defect")
        with waiting():
            return answered(model.answer, number)

    async def answer(number: int) -> object:
        done = await asyncio.gather(workers.run(lambda: program(number)), return_exceptions=True)
        return done[0] if isinstance(done[0], int) else str(done[0])

    assert [said for _, said in map_requests(range(3), lambda same: same, answer, 3)] == [0, "a defect", 4]
