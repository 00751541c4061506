"""What calls cost, and may have cost, after every kind of fault; and the ledger's totals, as if it were read whole."""

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

from cfeval.inference.remote.cache import BROKEN_OFF, Budget, BudgetError, ResponseCache, UsageEntry
from cfeval.inference.remote.request import Request, Usage
from tests.conftest import Run
from tests.inference.remote.asking import chat, request
from tests.inference.remote.conftest import Configure
from tests.inference.remote.test_cache import prices
from tests.loopback.effects import Raw
from tests.loopback.fault import Fault, Kind, Reaction
from tests.loopback.faults import fitting
from tests.loopback.site import Loopback
from tests.slow import first_fast

pytestmark = pytest.mark.usefixtures("hurry")
CALLS = 120


def bill_is_lost(row: Fault) -> bool:
    """Whether the server does the work and charges for it, and what it says of that does not arrive."""
    return isinstance(row.effect, Raw | str)


FAULTS = [row for row in fitting(Kind.CHAT) if row.reaction != Reaction.STOPS and not row.stalls]


def spent(path: Path) -> tuple[float, float]:
    cache = ResponseCache(path)
    try:
        (line,) = cache.ledger()
    finally:
        cache.close()
    return float(str(line["paid_usd"])), float(str(line["maybe_paid_usd"]))


@pytest.mark.parametrize("lost", first_fast([False, True], 1))
def test_paid_is_what_the_server_charged_and_what_may_have_been_paid_is_apart(
    server: Loopback, configure: Configure, tmp_path: Path, cfeval: Run, lost: bool
) -> None:
    names = [row.name for row in FAULTS if row.wait is None and bill_is_lost(row) == lost]
    server.random(0.3, names, seed=5, at=[Kind.CHAT])
    path = configure(max_connections=16, prices=prices(tmp_path))
    chat(server, [request(seed=n) for n in range(CALLS)])
    certain, perhaps = spent(path)
    assert server.usd > 0.005
    assert certain <= server.usd * 1.01
    assert server.usd <= certain + perhaps
    if lost:
        assert certain < server.usd, "no one can know the bill of an answer that never came whole"
    else:
        assert certain == pytest.approx(server.usd, rel=0.01)
    assert perhaps > 0
    _, out, _ = cfeval("cache", "stats", "--cache", path)
    assert f"{certain:.4f}" in out
    assert f"{perhaps:.4f}" in out


def test_progress_prints_both(
    server: Loopback, configure: Configure, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configure(max_retries=0, prices=prices(tmp_path))
    server.script(["close_mid_body"])
    chat(server, [request(seed=1)])
    chat(server, [request(seed=2)])
    certain, perhaps = spent(path)
    assert certain > 0
    assert perhaps > 0
    cut, whole = (line for line in capsys.readouterr().err.splitlines() if " done " in line)
    assert cut.endswith(f"0.0000 USD paid, {perhaps:.4f} more may have been paid")
    assert whole.endswith(f"{certain:.4f} USD paid")


def test_without_a_list_price_a_lost_call_may_have_cost_as_much_as_the_dearest_that_was_told(
    server: Loopback, configure: Configure, cfeval: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row.name for row in FAULTS if row.wait is None and bill_is_lost(row)]
    server.random(0.3, names, seed=5, at=[Kind.CHAT])
    path = configure(max_connections=16)
    chat(server, [request(seed=n) for n in range(CALLS)])
    certain, perhaps = spent(path)
    assert certain < server.usd <= certain + perhaps
    line = capsys.readouterr().err.splitlines()[-1]
    assert f"{certain:.4f} USD paid, " in line
    assert "0.0000 more may have been paid" not in line
    assert f"{perhaps:.4f}" in cfeval("cache", "stats", "--cache", path)[1]


@pytest.mark.parametrize("ended", ["timeout", "connection", "bad_body", BROKEN_OFF, None])
def test_what_was_lost_before_any_cost_was_told_is_set_aside_once_one_is(
    cache: ResponseCache, ended: str | None
) -> None:
    lost = cache.send(_call(1), 0.0, Budget())
    if ended:
        cache.record_usage(UsageEntry(lost.number, ended, None, None, charged=True))
    refused = cache.send(_call(2), 0.0, Budget())
    cache.record_usage(UsageEntry(refused.number, "http_500", None, None, charged=False))
    assert cache.ledger()[0]["maybe_paid_usd"] == 0
    for seed, usd in ((3, 0.02), (4, 0.05), (5, 0.01)):
        sent = cache.send(_call(seed), 0.0, Budget())
        cache.record_usage(UsageEntry(sent.number, "ok", Usage(10, 10, cost_usd=usd), None, charged=True))
    [line] = cache.ledger()
    assert (line["paid_usd"], line["maybe_paid_usd"]) == (pytest.approx(0.08), pytest.approx(0.05))
    assert cache.sent_since(0)[2] == pytest.approx(0.13)
    assert cache.paid([_call(1).key])[2] == pytest.approx(0.05)


def _call(seed: int) -> Request:
    return Request("chat", "http://x", "lab/unlisted", {"messages": []}, seed, "i", Usage(1, 1))


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
        "from tests.inference.remote.test_money import spend;"
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
