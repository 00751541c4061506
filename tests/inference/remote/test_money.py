"""What calls cost, and what they may have cost, after every kind of fault."""

from pathlib import Path

import pytest

from cfeval.inference.remote.cache import BROKEN_OFF, Budget, ResponseCache, UsageEntry
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
