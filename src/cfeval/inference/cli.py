"""The verbs about the response cache: move its calls to another machine, prune, forget, save, count and verify them."""

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from cfeval.core.config import Calls
from cfeval.core.errors import InputError, ParamsError, nearest
from cfeval.core.folder import PARAMS
from cfeval.core.jsonl import read_lines
from cfeval.core.records import Status
from cfeval.core.yaml_files import read_yaml
from cfeval.inference.remote.archive import export, read
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_db import StoredCall
from cfeval.inference.remote.cache_server import VARIABLE, CacheServer, address_of, new_address, open_cache
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.recovery import recover
from cfeval.inference.remote.request import Response
from cfeval.inference.remote.settings import VARIABLE as SETTINGS_VARIABLE
from cfeval.inference.remote.settings import settings


def study_settings() -> Calls:
    """Section `calls` of params.yaml; the process's own settings in a job, or where there is no study.

    Raises:
        ParamsError: the section cannot be used.
    """
    if os.environ.get(SETTINGS_VARIABLE) or not PARAMS.is_file():
        return settings()
    content = read_yaml(PARAMS)
    section = content.get("calls") if isinstance(content, Mapping) else None
    try:
        return Calls.model_validate(section or {})
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, ("calls", *fault["loc"])))
        raise ParamsError(f"{PARAMS}: {key}: {fault['msg']}; `cfeval check` checks the whole file") from None


CacheFile = Annotated[
    Path | None, typer.Option("--cache", help="The cache file. Default: that of the study in this folder.")
]
Records = Annotated[
    list[Path] | None, typer.Argument(help="Record files (JSONL), or folders of them, that name the calls.")
]
Archive = Annotated[Path, typer.Option("--out", help="Archive to write (ZIP); it appears whole or not at all.")]
COLUMNS = {
    "model": "model",
    "stored": "stored",
    "failed": "failed",
    "sent": "sent",
    "lost": "lost",
    "input_tokens": "tokens in",
    "output_tokens": "out",
    "images": "images",
    "paid_usd": "USD paid",
    "maybe_paid_usd": "may be paid",
    "reported_usd": "reported",
    "listed_usd": "by list",
}


def run_export(out: Archive, records: Records = None, cache: CacheFile = None) -> None:
    """Export the calls that record files name to an archive, for replay on another machine.

    Without record files, all calls of the cache. A call that the cache lacks is kept from the existing archive.
    """
    held = opened(cache, new=True)
    keys = calls_named(records) if records else held.stored_keys()
    print(f"{export(held, keys, out)} calls in {out}")


def run_serve(
    address: Annotated[
        str, typer.Argument(help=f"HOST:PORT where jobs reach this machine. Default: what {VARIABLE} says.")
    ] = "",
    cache: CacheFile = None,
) -> None:
    """Serve the cache to jobs that share no disk, until Ctrl-C; print the line that tells them where.

    Run the printed line where you start Snakemake. Every reply is stored here at once, and budgets hold for all jobs
    together. Connections are not encrypted: use a network that you trust.
    """
    if not address and not os.environ.get(VARIABLE):
        raise InputError("name the address where jobs reach this machine: cfeval cache serve HOST:PORT")
    where = new_address(address) if address else address_of(os.environ[VARIABLE])
    with CacheServer(cache or Path(study_settings().cache), where) as server:
        print(f"export {VARIABLE}={server.address.variable}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def run_import(
    archive: Annotated[Path, typer.Argument(help="An archive that `cfeval cache export` wrote.")],
    cache: CacheFile = None,
) -> None:
    """Import the calls of an archive into the cache; existing calls are kept."""
    if not archive.is_file():
        raise InputError(f"{archive}: no such file")
    for _ in read(archive):
        pass  # all of it is checked before anything is taken
    held = opened(cache, new=True)
    added = Counter(held.add(call, image) for call, image in read(archive))
    print(f"{added[True]} calls imported, {added[False]} already in the cache")


def run_prune(
    records: Records = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; change nothing.")] = False,
    cache: CacheFile = None,
) -> None:
    """Remove the calls that no record file names; what they cost stays in the ledger."""
    if not records:
        raise InputError("name the record files whose calls to keep, such as results/edct")
    held = opened(cache)
    kept = calls_named(records)
    unused = [key for key in held.stored_keys() if key not in kept]
    if not dry_run:
        held.remove(unused)
    print(f"{len(unused)} calls that no record names{'' if dry_run else ' removed'}")


def run_recover(
    source: Annotated[Path, typer.Argument(help="A damaged cache; it stays as it is.")],
    out: Annotated[Path, typer.Argument(help="The new cache; it appears whole or not at all.")],
) -> None:
    """Recover what a damaged cache still holds into a new one, and print how much that is.

    Only calls that are exactly as they were stored come over, each with its image, and what the ledger tells of costs.
    """
    done = recover(source, out)
    named = "" if done.whole else " that it still names"
    print(f"{done.calls} of {done.named} calls{named} and {done.sends} lines of the ledger in {out}")


def run_stats(
    cache: CacheFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts: a list of models.")] = False,
) -> None:
    """Show calls, outcomes and cost of every model.

    stored: replies that are never paid for again; failed: failures that the next run retries; sent: paid attempts;
    lost: attempts that are in flight, or were when their run ended. USD paid is what the provider reported, or else its
    tokens at list prices; if both are known, a line below prints the difference. May be paid is the most that lost or
    interrupted attempts can have cost. A budget counts both.
    """
    held = opened(cache)
    counts, ledger = held.counts(), {str(row["model"]): row for row in held.ledger()}
    columns = next(iter(ledger.values()), [*COLUMNS, "listed_where_reported_usd"])
    nothing: dict[str, Any] = dict.fromkeys(columns)
    rows: list[dict[str, Any]] = []
    for model in sorted({*counts, *ledger}):
        stored, failed = counts.get(model, (0, 0))
        rows.append({**nothing, **ledger.get(model, {}), "model": model, "stored": stored, "failed": failed})
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(title=str(held.path), title_justify="left", box=SIMPLE)
    for name, heading in COLUMNS.items():
        table.add_column(heading, justify="left" if name == "model" else "right", no_wrap=name != "model")
    for row in rows:
        cells = ("" if row[name] is None else row[name] for name in COLUMNS)
        table.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    for row in rows:
        if row["listed_where_reported_usd"] is not None:
            difference = row["reported_usd"] - row["listed_where_reported_usd"]
            print(f"{row['model']}: reported minus list {difference:+.4f} USD")


def run_verify(cache: CacheFile = None) -> None:
    """Verify that every stored call matches its key, and every image its hash."""
    held = opened(cache)
    if damage := held.integrity_error():
        raise InputError(f"{held.path}: damaged ({damage}); save what it holds with `cfeval cache recover`")
    count = 0
    for call in held.calls():
        count += 1
        fault = call.fault()
        if not fault and call.image is not None:
            content = held.image(call.image)
            if content is None or hashlib.sha256(content).hexdigest() != call.image:
                fault = "has lost its image, or has another"
        if fault:
            raise InputError(f"{held.path}: call {call.key} {fault}; restore it with `cfeval cache import`")
    print(f"{held.path}: all {count} calls match their keys")


def opened(path: Path | None, new: bool = False) -> ResponseCache:
    """The cache in a file; without one, that of the study, behind its server where the environment names one.

    Raises:
        InputError: there is none, and it is not to be made.
    """
    if path is None and os.environ.get(VARIABLE):
        return open_cache(Path(study_settings().cache))
    file = path or Path(study_settings().cache)
    if not new and not file.is_file():
        raise InputError(f"{file}: there is no response cache; name one by --cache")
    return ResponseCache(file)


def calls_named(records: Iterable[Path]) -> set[str]:
    """The keys of all calls that record files name.

    Raises:
        InputError: a file that is missing, or not JSONL.
    """
    keys: set[str] = set()
    for file in (file for path in records for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])):
        for number, line in enumerate(read_lines(file), start=1):
            try:
                keys.update(_named_in(json.loads(line)))
            except json.JSONDecodeError as error:
                raise InputError(f"{file}, line {number}: not JSON ({error.msg})") from None
    return keys


def _named_in(content: Any) -> Iterator[str]:
    """What stands under `calls`, wherever in a record."""
    if isinstance(content, list):
        for part in content:
            yield from _named_in(part)
    elif isinstance(content, dict):
        named = content.get("calls", ())
        yield from named if isinstance(named, list) else ()  # elsewhere it counts them
        for part in content.values():
            yield from _named_in(part)


# What a call is for: a text, or a counterfactual image.
PURPOSES = ("chat", "edit")


@dataclass(frozen=True)
class ForgettableCall:
    """A call that is meant; `usd` is what sending it again may cost, None where nothing says so."""

    key: str
    checksum: str
    model: str
    status: str
    usd: float | None


def run_forget(
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
        for option, values, allowed in (
            ("--status", status or (), list(Status)),
            ("--model", model or (), held.counts()),
            ("--purpose", [purpose] if purpose else (), PURPOSES),
        ):
            for value in values:
                if value not in allowed:
                    raise InputError(f"{option} '{value}': {nearest(value, allowed)}")
        keys = calls_named(records) if records else None

        def is_meant(call: StoredCall, reply: Response) -> bool:
            return (
                (not status or reply.status in status)
                and reason.strip().casefold() in reply.reason.casefold()
                and (not model or call.model in model)
                and (not purpose or _purpose_of(call) == purpose)
                and (keys is None or call.key in keys)
            )

        calls = list(_select(held, is_meant))
        for line in _summary(calls):
            print(line)
        if calls and not yes:
            if not sys.stdin.isatty():
                raise InputError("nothing was forgotten: there is no terminal to ask on; confirm with --yes")
            if not typer.confirm("Forget them?"):
                print("nothing was forgotten")
                raise typer.Exit(1)
        if calls:
            print(f"{held.forget((call.key, call.checksum) for call in calls)} calls forgotten")


def _purpose_of(call: StoredCall) -> str:
    """What a call is for; an image may be asked for by the chat protocol, too."""
    request: Any = json.loads(call.request)
    return "edit" if call.api != "chat" or "image" in (request.get("modalities") or ()) else "chat"


def _select(cache: ResponseCache, is_meant: Callable[[StoredCall, Response], bool]) -> Iterator[ForgettableCall]:
    prices = load_prices(study_settings().prices)
    for call in cache.calls():
        try:
            reply = Response.from_json(call.reply, None)
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{cache.path}: call {call.key} is damaged; see `cfeval cache recover`") from None
        if not is_meant(call, reply):
            continue
        usd = cache.last_cost(call.key)
        if usd is None:  # it was sent elsewhere: as reported, else by the price list
            price = prices.of(call.model)
            usd = price.of(reply.usage) if reply.usage.cost_usd is None and price else reply.usage.cost_usd
        yield ForgettableCall(call.key, call.checksum, call.model, reply.status, usd)


def _summary(calls: list[ForgettableCall]) -> Iterator[str]:
    """A line for each model and status, and what all would cost again."""
    for (model, status), count in sorted(Counter((call.model, call.status) for call in calls).items()):
        yield f"{model}: {count} {status}"
    known_usd = [call.usd for call in calls if call.usd is not None]
    unknown = f", and {len(calls) - len(known_usd)} of unknown cost" if len(known_usd) < len(calls) else ""
    yield f"{len(calls)} calls; to send them again costs about {sum(known_usd):.4f} USD, as they cost before{unknown}"
