"""What the ledger comes to is kept beside it: as if it were read whole, for old caches and for two processes too."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from cfeval.inference.remote.cache import Budget, BudgetError, ResponseCache, UsageEntry
from cfeval.inference.remote.request import Request, Usage

ENOUGH = Budget(max_cost_usd=1e6)
Row = tuple[str, float, float | None, float | None]


def call(model: str = "vlm") -> Request:
    return Request("chat", "http://x/v1", model, {"messages": ["hello"]}, 1, "i1", Usage())


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    with closing(ResponseCache(tmp_path / "cache")) as made:
        yield made


def spend(cache: ResponseCache, rows: int, seed: int = 0) -> None:
    """Sends of three models, most of them settled, with and without a told cost."""
    rng = random.Random(seed)
    for _ in range(rows):
        listed = rng.choice((0.0, 0.001, rng.random()))
        number = cache.send(call(rng.choice("abc")), listed, ENOUGH).number
        told = rng.choice((None, rng.random() / 3))
        if rng.random() < 0.9:
            priced = rng.choice((None, listed))
            entry = UsageEntry(
                number, rng.choice(("ok", "cut")), Usage(1, 1, cost_usd=told), priced, rng.random() < 0.8
            )
            cache.record_usage(entry)


def expected(path: Path, model: str, listed: float) -> tuple[Fraction, float]:
    """What is spent or set aside, and what the next call of a model sets aside, from the ledger's rows."""
    with closing(sqlite3.connect(path)) as db:
        rows: list[Row] = db.execute("SELECT model, reserved_usd, reported_usd, listed_usd FROM sends").fetchall()
    paid = [(told if told is not None else priced, aside, of, told, priced) for of, aside, told, priced in rows]
    usd = sum((Fraction(cost if cost is not None else aside) for cost, aside, *_ in paid), Fraction())
    own = [(cost, told, priced) for cost, _, of, told, priced in paid if of == model]
    both = [(told, priced) for _, told, priced in own if told is not None and priced]
    dearer = sum(told for told, _ in both) / sum(priced for _, priced in both) if both else 1
    return usd, max([listed * max(1, dearer), *(cost for cost, *_ in own if cost is not None)])


def is_right(cache: ResponseCache) -> None:
    for model in "abcd":
        usd, reserved = expected(cache.path, model, 0.01)
        with pytest.raises(BudgetError, match=f"{float(usd):.4f} USD are spent .* may cost {reserved:.4f}"):
            cache.send(call(model), 0.01, replace(ENOUGH, max_cost_usd=float(usd) + reserved - 1e-9))
        assert cache.send(call(model), 0.01, Budget(max_cost_usd=float(usd) + reserved + 1e-9)).reserved_usd == (
            pytest.approx(reserved, rel=1e-9)
        )


def test_totals_are_those_of_the_rows(cache: ResponseCache) -> None:
    spend(cache, 60)
    is_right(cache)


def test_a_cache_of_before_is_filled_once(cache: ResponseCache) -> None:
    spend(cache, 30)
    cache.close()
    with closing(sqlite3.connect(cache.path)) as db, db:
        for statement in ("DROP TRIGGER sent", "DROP TRIGGER settled", "DROP TABLE totals"):
            db.execute(statement)
    for seed in (1, 2):
        with closing(ResponseCache(cache.path)) as again:
            is_right(again)
            spend(again, 10, seed)
            is_right(again)


def test_two_processes_share_the_totals(cache: ResponseCache) -> None:
    code = (
        "import sys; from pathlib import Path; from cfeval.inference.remote.cache import ResponseCache;"
        "from tests.inference.remote.test_ledger_totals import spend;"
        "cache = ResponseCache(Path(sys.argv[1])); spend(cache, 40, 7); cache.close()"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(cache.path)])
    spend(cache, 40, 8)
    assert other.wait() == 0
    assert sum(int(str(line["sent"])) for line in cache.ledger()) == 80
    is_right(cache)


@pytest.mark.parametrize("cache", ["file"], indirect=True)
def test_a_budget_costs_no_more_where_much_was_sent(cache: ResponseCache) -> None:
    steps: list[int] = []

    def work() -> int:
        steps.clear()
        cache._db.set_progress_handler(lambda: steps.append(1), 10)
        cache.send(call(), 0.0, Budget(max_calls=10**6, max_cost_usd=1e6))
        cache.knows_cost("never-answered")
        cache._db.set_progress_handler(None, 10)
        return len(steps)

    few = work()
    cache.add_sends((n, "key", "vlm", 0.0, 0.1, "cut", None, None, 0, 0, 0) for n in range(2, 2000))
    assert work() < 2 * few
