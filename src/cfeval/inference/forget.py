"""Forget stored calls, so that they are sent again: answers not worth keeping, failures worth another attempt."""

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError, nearest
from cfeval.core.records import Status
from cfeval.inference.cli import CacheFile, Records, calls_named, opened
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_db import StoredCall
from cfeval.inference.remote.prices import Prices, load_prices
from cfeval.inference.remote.request import Response
from cfeval.inference.settings_of_study import study_settings

PURPOSES = ("chat", "edit")
"""What a call is for: a text, or a counterfactual image."""


@dataclass(frozen=True)
class Wanted:
    """Which calls are meant; what is empty allows all. `keys` are those that record files name."""

    statuses: Collection[str]
    reason: str
    models: Collection[str]
    purpose: str
    keys: Collection[str] | None

    def has(self, call: StoredCall, reply: Response) -> bool:
        """Whether a call is one of them."""
        return (
            (not self.statuses or reply.status in self.statuses)
            and self.reason.casefold() in reply.reason.casefold()
            and (not self.models or call.model in self.models)
            and (not self.purpose or purpose_of(call) == self.purpose)
            and (self.keys is None or call.key in self.keys)
        )


@dataclass(frozen=True)
class Found:
    """A call that is meant; `usd` is what sending it again may cost, None where nothing says so."""

    key: str
    checksum: str
    model: str
    status: str
    usd: float | None


def run(
    records: Records = None,
    status: Annotated[list[str] | None, typer.Option(help="Their outcome, such as moderated; may be repeated.")] = None,
    reason: Annotated[str, typer.Option(help="Text in the reason, upper or lower case.")] = "",
    model: Annotated[list[str] | None, typer.Option(help="The model, as the cache names it; may be repeated.")] = None,
    purpose: Annotated[str, typer.Option(help="What they are for: chat (a text) or edit (an image).")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    cache: CacheFile = None,
) -> None:
    """Forget stored calls, so that they are sent and paid for again when next needed.

    Calls are selected by the options, of which at least one is needed and all must hold; with record files, such as
    results/edct/verdicts, only calls that these name. Their cost stays in the ledger. A step whose results exist does
    not run again by itself: remove its results.
    """
    if not (records or status or reason.strip() or model or purpose):
        raise InputError("select calls by --status, --reason, --model, --purpose or record files")
    with closing(opened(cache)) as held:
        _refuse("--status", status or (), list(Status))
        _refuse("--model", model or (), held.counts())
        _refuse("--purpose", [purpose] if purpose else (), PURPOSES)
        keys = calls_named(records) if records else None
        found = list(_found(held, Wanted(status or (), reason.strip(), model or (), purpose, keys)))
        for line in _told(found):
            print(line)
        if found and not yes:
            _ask()
        if found:
            print(f"{held.forget((one.key, one.checksum) for one in found)} calls forgotten")


def _refuse(option: str, values: Collection[str], allowed: Collection[str]) -> None:
    for value in values:
        if value not in allowed:
            raise InputError(f"{option} '{value}': {nearest(value, allowed)}")


def _ask() -> None:
    if not sys.stdin.isatty():
        raise InputError("nothing was forgotten: there is no terminal to ask on; confirm with --yes")
    if not typer.confirm("Forget them?"):
        print("nothing was forgotten")
        raise typer.Exit(1)


def _found(cache: ResponseCache, wanted: Wanted) -> Iterator[Found]:
    prices = load_prices(study_settings().prices)
    for call in cache.calls():
        try:
            reply = Response.from_json(call.reply, None)
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{cache.path}: call {call.key} is damaged; see `cfeval cache recover`") from None
        if wanted.has(call, reply):
            usd = cache.last_cost(call.key)
            yield Found(
                call.key, call.checksum, call.model, reply.status, _listed(call, reply, prices) if usd is None else usd
            )


def _listed(call: StoredCall, reply: Response, prices: Prices) -> float | None:
    """What a call that was sent elsewhere cost: as reported, else by the price list."""
    price = prices.of(call.model)
    return price.of(reply.usage) if reply.usage.cost_usd is None and price else reply.usage.cost_usd


def _told(found: list[Found]) -> Iterator[str]:
    """A line for each model and status, and what all would cost again."""
    for (model, status), count in sorted(Counter((one.model, one.status) for one in found).items()):
        yield f"{model}: {count} {status}"
    known = [one.usd for one in found if one.usd is not None]
    unknown = f", and {len(found) - len(known)} of unknown cost" if len(known) < len(found) else ""
    yield f"{len(found)} calls; to send them again costs about {sum(known):.4f} USD, as they cost before{unknown}"


def purpose_of(call: StoredCall) -> str:
    """What a call is for; an image may be asked for by the chat protocol, too."""
    asked: Any = json.loads(call.request)
    return "edit" if call.api != "chat" or "image" in (asked.get("modalities") or ()) else "chat"
