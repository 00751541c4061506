"""What calls cost, and what they may have cost, after every kind of fault."""

from pathlib import Path

import pytest

from cfeval.inference.remote.cache import ResponseCache
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
