"""`cfeval prices`: show list prices, and copy those that OpenRouter publishes into the user's own list."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from cfeval.config import load
from cfeval.core.errors import InputError, PluginError
from cfeval.core.files import write_text
from cfeval.core.folder import PARAMS, ParamsFiles, study_in
from cfeval.core.yaml_files import dump_yaml
from cfeval.inference.remote.faults import Fault
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.prices import PLACE, Price, load_prices, read
from cfeval.inference.remote.provider_table import PROVIDERS
from cfeval.inference.remote.providers import checked_base_url, get

# What an image made is taken to have, where it is charged by tokens: those of Gemini's at one megapixel
# (ai.google.dev/gemini-api/docs/pricing).
TOKENS_PER_IMAGE = 1290


def run(
    params: ParamsFiles = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Copy OpenRouter's prices into your own list, free of charge.")
    ] = False,
    base_url: Annotated[str, typer.Option(help="Server whose list --refresh reads, as OpenRouter publishes it.")] = (
        PROVIDERS["openrouter"].base_url
    ),
) -> None:
    """Show list prices: USD per million tokens and per generated image, with date and source.

    Your own list takes precedence: the file that calls.prices in params.yaml names, or .cfeval/prices.yaml. --refresh
    replaces its lines from the same source, keeps all others, and drops comments.
    """
    file = _own_list(params)
    if refresh:
        print(_refreshed(Path(file) if file else PLACE, base_url))
    else:
        prices = load_prices(file)
        table = Table(title=f"USD per million tokens and per generated image; own prices: {prices.file}", box=SIMPLE)
        for name in ("model", "input", "image input", "output", "image", "read", "source"):
            is_text = name in ("model", "read", "source")
            table.add_column(name, justify="left" if is_text else "right", overflow="fold")
        for model, price in sorted(prices.lines().items()):
            figures = (price.input, price.image_input, price.output, price.image)
            source = f"own: {price.source}" if model in prices.own else price.source
            table.add_row(model, *("" if usd is None else f"{usd:g}" for usd in figures), str(price.date), source)
        Console(width=None if sys.stdout.isatty() else 160).print(table)


def _own_list(params: list[str] | None) -> str:
    """The file that the study of this folder names; empty where there is no study, as prices can be shown anywhere."""
    if not params and not PARAMS.is_file():
        return ""
    with study_in(Path(), params) as files:
        return load(*files).calls.prices


def _refreshed(file: Path, base_url: str) -> str:
    """Write the lines of a server into the user's own list, and say so."""
    try:
        base_url = checked_base_url(base_url)
    except ValueError as error:
        raise InputError(f"--base-url: {error}") from None
    listing = get(Endpoint(base_url), "/models")
    if isinstance(listing, Fault):
        raise PluginError(f"{base_url}: {listing.reason}; {file} was not changed")
    source = f"{base_url.partition('://')[2]}/models"
    published = dict(_published(listing, source))
    if not published:
        raise PluginError(f"{base_url} publishes no prices; {file} was not changed")
    own = read(file) if file.is_file() else {}
    kept = {name: price for name, price in own.items() if price.source != source}
    models = {name: price.model_dump(exclude_defaults=True) for name, price in sorted({**published, **kept}.items())}
    write_text(file, dump_yaml({"models": models}, default_flow_style=None, width=200))
    return f"{len(published)} prices of {source} in {file}; {len(kept)} other prices kept"


def _published(listing: Any, source: str) -> Iterator[tuple[str, Price]]:
    """The prices in OpenRouter's list of models, which are in USD per token, in texts.

    See https://openrouter.ai/docs/api/api-reference/models/get-models. A model whose price varies has a negative one.
    """
    entries = listing.get("data") if isinstance(listing, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        pricing = entry.get("pricing") if isinstance(entry, dict) else None
        if not isinstance(pricing, dict) or not entry.get("id"):
            continue
        usd = {name: _usd(pricing.get(name)) for name in ("prompt", "completion", "image_token", "image_output")}
        if usd["prompt"] is None or usd["completion"] is None:
            continue
        shown = usd["image_token"]
        yield (
            str(entry["id"]),
            Price(
                input=_rounded(usd["prompt"] * 1e6),
                image_input=None if not shown else _rounded(shown * 1e6),
                output=_rounded(usd["completion"] * 1e6),
                image=_rounded((usd["image_output"] or 0.0) * TOKENS_PER_IMAGE),
                date=datetime.now(UTC).date(),
                source=source,
            ),
        )


def _usd(value: Any) -> float | None:
    try:
        usd = float(value)
    except (TypeError, ValueError):
        return None
    return usd if 0 <= usd < 1 else None


def _rounded(usd: float) -> float:
    return float(f"{usd:.6g}")
