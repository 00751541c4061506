"""Faults: what a provider can do wrong

2,000 calls, 16 at once, every fault of the project's table that a chat call can meet among them, several times; beside
cfeval the bare `openai` client with its own two retries, on the same faults. Left out are those that rightly end the
run (no key, no credit), harmless oddities, and the wait of 300 seconds. *Silently bad* is an answer that looks good and
is not the one that the model gave.

Of the money: the server charges for every answer that it makes, whether or not it arrives. *Paid* is what the cache
says was paid, *may have been paid* what it sets aside for attempts of which the server told no cost.
"""

import asyncio
import io
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
from tests.answers import answers
from tests.loopback.bodies import USD_PER_TOKEN
from tests.loopback.effects import Raw
from tests.loopback.fault import Fault, Kind, Reaction
from tests.loopback.faults import FAULTS

from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, spec
from bench.table import Table
from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import use

CALLS = 2000
OFTEN = 500
"""Every fault is met once in so many calls."""
_PRICES = (
    f"models: {{echo: {{input: {1e6 * USD_PER_TOKEN}, output: {1e6 * USD_PER_TOKEN}, date: 2026-11-26, source: it}}}}"
)
"""A price list with what the server charges."""
SLOWEST = 15.0
"""Seconds after which the bare client is not waited for any longer."""


def tables() -> list[Table]:
    """Both clients on the same faults."""
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        met, money, *ends = faults(server, Path(folder))
    return [table(met, *ends), table_of_money(money)]


@dataclass(frozen=True)
class Ends:
    """How a client's calls ended: well, with a status or an exception, silently bad."""

    good: int
    failed: Mapping[str, int]
    bad: int


@dataclass(frozen=True)
class Met:
    """The faults that were played, by kind, and how many of them passed or stood; both as played and as handled."""

    played: Mapping[str, int]
    passing: int
    recovered: int
    standing: int
    recorded: int


@dataclass(frozen=True)
class Money:
    """USD: what the server charged, what of it for answers that came whole; what the cache says of it."""

    charged: float
    arrived: float
    paid: float
    maybe: float


def faults(server: Remote, folder: Path) -> tuple[Met, Money, Ends, Ends]:
    """The calls of cfeval, what they cost, and those of the bare client."""
    kinds = [row for row in FAULTS.values() if _plays(row)]
    script = _spread(kinds)
    requests = [ChatRequest(f"i{n}", (ChatMessage("user", f"Item {n}?"),), n) for n in range(CALLS)]
    healthy = [reply.text for reply in _ask(server, folder / "healthy.sqlite", requests)]
    healthy_bare = asyncio.run(_bare(server, requests))
    server.steer("reset")
    server.steer("script", faults=script)
    replies = _ask(server, folder / "faulty.sqlite", requests)
    played = Counter(server.summary()["faults"])
    money = _money(server, folder / "faulty.sqlite")
    server.steer("reset")
    server.steer("script", faults=script)
    bare = asyncio.run(_bare(server, requests))
    failed = Counter(str(reply.status) for reply in replies if reply.status != Status.OK)
    good = sum(reply.status == Status.OK and reply.text == text for reply, text in zip(replies, healthy, strict=True))
    ours = Ends(good, failed, len(replies) - good - failed.total())
    return _met(kinds, played, failed), money, ours, _ends(bare, healthy_bare)


def _money(server: Remote, cache: Path) -> Money:
    log = server.log()
    broken = {name for name, row in FAULTS.items() if isinstance(row.effect, str | Raw)}
    with closing(ResponseCache(cache)) as stored:
        ledger: Any = stored.ledger()
    return Money(
        sum(entry["usd"] for entry in log),
        sum(entry["usd"] for entry in log if entry["fault"] not in broken),
        sum(line["paid_usd"] for line in ledger),
        sum(line["maybe_paid_usd"] for line in ledger),
    )


def _met(kinds: Sequence[Fault], played: Counter[str], failed: Counter[str]) -> Met:
    """A status that no standing fault accounts for is a passing one that was not recovered."""
    passing = sum(played[row.name] for row in kinds if row.reaction == Reaction.RETRIED)
    standing = Counter(
        str(row.status) for row in kinds if row.reaction == Reaction.RECORDED for _ in range(played[row.name])
    )
    lost = (failed - standing).total()
    return Met(played, passing, passing - lost, standing.total(), (failed & standing).total())


def _ends(bare: Sequence[str | Exception], healthy: Sequence[str | Exception]) -> Ends:
    failed = Counter(type(end).__name__ for end in bare if isinstance(end, Exception))
    good = sum(end == text for end, text in zip(bare, healthy, strict=True))
    return Ends(good, failed, len(bare) - good - failed.total())


def table_of_money(money: Money) -> Table:
    """What a run's bill was, and what the cache says of it."""
    columns = (
        *("server charged", "of it for answers that came whole", "cache: paid", "cache: may have been paid"),
        *("paid over what came whole", "charged is within paid and may"),
    )
    told = [f"{usd:.6f}" for usd in (money.charged, money.arrived, money.paid, money.maybe)]
    within = money.paid <= money.charged * (1 + 1e-9) and money.charged <= (money.paid + money.maybe) * (1 + 1e-9)
    row = ("**cfeval**", *told, f"{money.paid / money.arrived:.4f}", "yes" if within else "NO")
    return Table("What these calls cost, in USD", ("", *columns), [row])


def table(met: Met, ours: Ends, bare: Ends) -> Table:
    """A row each count."""
    faults = sum(met.played.values())
    title = f"{CALLS} calls, {faults} of them ({faults / CALLS:.0%}) meeting a fault, of {len(met.played)} kinds"
    rows = (
        ("passing faults recovered", f"{met.recovered} of {met.passing}", ""),
        ("standing faults recorded with their status", f"{met.recorded} of {met.standing}", ""),
        ("good answers", str(ours.good), str(bare.good)),
        ("failed, with a status or an exception", _named(ours.failed), _named(bare.failed)),
        ("silently bad", str(ours.bad), str(bare.bad)),
    )
    return Table(title, ("", "**cfeval**", "bare `openai` client, 2 retries"), rows)


def _plays(row: Fault) -> bool:
    """Whether a fault fits a chat call, and ends in time, and leaves other calls alone."""
    fits = Kind.CHAT in row.where and row.reaction in (Reaction.RETRIED, Reaction.RECORDED)
    return fits and (row.wait is None or row.wait < SLOWEST)


def _spread(played: Sequence[Fault]) -> list[str | None]:
    """Every fault once in `OFTEN` calls, evenly among them."""
    names = [row.name for row in played] * max(1, CALLS // OFTEN)
    step = CALLS // len(names)
    return [names[n // step] if n % step == 0 and n // step < len(names) else None for n in range(CALLS)]


def _ask(server: Remote, cache: Path, requests: Sequence[ChatRequest]) -> list[ChatReply]:
    prices = cache.with_name("prices.yaml")
    prices.write_text(_PRICES, encoding="utf-8")
    use(Calls(cache=str(cache), max_connections=AT_ONCE, timeout=2, deadline=60, prices=str(prices)))
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        return answers(registry.build("chat", spec(server.openrouter, "echo")).generate, requests)


async def _bare(server: Remote, requests: Sequence[ChatRequest]) -> list[str | Exception]:
    """What the openai client makes of each call: the text, or an exception; `str` of whatever else it returns."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(client: openai.AsyncOpenAI, request: ChatRequest) -> str | Exception:
        messages: Any = [{"role": "user", "content": request.turns[0].text}]
        async with slots:
            try:
                async with asyncio.timeout(SLOWEST):
                    said: Any = await client.chat.completions.create(model="echo", messages=messages, seed=request.seed)
            except Exception as error:
                return error
        try:
            return str(said.choices[0].message.content)
        except (AttributeError, TypeError, IndexError):
            return str(said)

    async with openai.AsyncOpenAI(base_url=server.openrouter, api_key="none", max_retries=2, timeout=2) as client:
        return await asyncio.gather(*(one(client, request) for request in requests))


def _named(counts: Mapping[str, int]) -> str:
    each = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())} ({each})" if counts else "0"
