"""Estimate calls, tokens and USD of a study before it runs; nothing is sent, and no key is needed."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cfeval.config import Params, load, named
from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.core.folder import Folder, ParamsFiles, study_in
from cfeval.core.image_folders import summary
from cfeval.cvqa.config import used_by_cvqa
from cfeval.cvqa.estimate import cvqa_lines
from cfeval.cvqa.interfaces import Sizes
from cfeval.datasets.sample import left_out_by
from cfeval.edct.config import Edct, used_by_edct
from cfeval.edct.estimate import TYPICAL, UNKNOWN_LIMIT, lines, pair_lines
from cfeval.edct.files import conversation_prompts
from cfeval.edct.protocols.rules import RULES, edits_of
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import (
    Amount,
    Held,
    Line,
    ModelLine,
    Price,
    Prices,
    added,
    budget,
    by_model,
    load_prices,
    missing_price,
    price_of,
)
from cfeval.study.components import used
from cfeval.vce.estimate import requests, vce_lines

# Numbers of items for which the calls an item are told.
SIZES = (60, 120, 400)
# Columns of the tables where there is no terminal.
WIDTH = 160


@dataclass(frozen=True)
class Estimate:
    """The estimate's full output."""

    items: Mapping[str, int]
    lines: list[Line]
    models: list[ModelLine]
    budget: list[tuple[bool, str]]
    prices: Prices
    notes: list[str]
    left_out: list[str]
    """By dataset: a line about the images that are not used."""
    per_item: Mapping[int, Mapping[str, float]]
    """By number of items, the calls of each stage for an item and model under test, typically."""
    advice: list[str]
    """What models on this machine advise, each line with the place of its model."""


def run(
    folder: Folder = Path(),
    params: ParamsFiles = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
) -> None:
    """Estimate calls, tokens and USD of a study before it runs. Nothing is sent, and no key is needed.

    Two figures each: a typical one, and a maximum for which every reply has max_tokens and is repaired if it can be.
    Retries after failures come on top; items that end early (refused, no edit) save the later calls.
    """
    with study_in(folder, params) as files:
        estimate = _estimate(load(*files), named(files))
    if as_json:
        print(json.dumps(_as_json(estimate), indent=2, ensure_ascii=False))
    else:
        console = Console(highlight=False) if sys.stdout.isatty() else Console(width=WIDTH, highlight=False)
        if estimate.lines:
            console.print(_stages(estimate), "", _models(estimate), "", sep="\n")
            if any(estimate.per_item.values()):
                table = _table("stage", *(f"{items} items" for items in estimate.per_item))
                table.title, table.title_justify = "Calls for an item and model under test, typically", "left"
                for stage in next(iter(estimate.per_item.values())):
                    table.add_row(stage, *(f"{calls[stage]:.1f}" for calls in estimate.per_item.values()))
                table.add_section()
                table.add_row("all", *(f"{sum(calls.values()):.1f}" for calls in estimate.per_item.values()))
                console.print(table, "", sep="\n")
            for line in [*_shared(estimate), *_assumptions(estimate)]:
                print(line)
        elif not estimate.notes:
            print("No hosted model is called: the study costs nothing.")
        notes = [*estimate.left_out, *estimate.notes, *_unpriced(estimate), *(text for _, text in estimate.budget)]
        for note in [*notes, *estimate.advice]:
            print(note)


def _estimate(params: Params, where: str) -> Estimate:
    """The figures; files of weights and samples need not be there yet."""
    uses = [use for use in used(params) if use.study != "vce" or use.section == "concept_editors"]
    for use in uses:
        registry.check(use.family, use.spec, f"{where}: {use.place}")
    calls, counted = _edct(params.edct) if params.edct else ([], _Counts())
    cvqa_calls, unread = _cvqa(params)
    edits, silent = vce_lines(params.vce) if params.vce else ([], [])
    calls += [*cvqa_calls, *edits]
    edited = {"images of vce, once a target": sum(requests(params.vce).values())} if params.vce and edits else {}
    if not params.calls.batches:
        calls = [replace(line, share=1.0) for line in calls]
    prices, held = load_prices(params.calls.prices), _held(Path(params.calls.cache))
    models, notes = by_model(calls, prices, held), [*counted.notes, *unread, *map(_uncounted, silent)]
    limits = budget(models, held, params.calls)
    per_item = {n: calls_per_item(params.edct, n) for n in SIZES} if params.edct and counted.items else {}
    advice = [f"{use.place}: {line}" for use in uses for line in registry.advice(use.family, use.spec)]
    return Estimate(counted.items | edited, calls, models, limits, prices, notes, counted.left_out, per_item, advice)


def calls_to_go(params: Params, where: str) -> dict[str, int]:
    """How many calls a typical run has yet to send, by model."""
    return {line.model: line.still(line.typical) for line in _estimate(params, where).models}


@dataclass(frozen=True)
class Bill:
    """What a run will cost: calls at most, and the lines that say so."""

    calls: int
    lines: list[str]


def cost(params: Params, where: str) -> Bill:
    """What a run will cost, in short; `cfeval estimate` has the rest."""
    estimate = _estimate(params, where)
    typical, most = (sum((getattr(m, which) for m in estimate.models), Amount()) for which in ("typical", "most"))
    if not estimate.lines:
        return Bill(0, estimate.notes or ["No hosted model is called: the run costs nothing."])
    held = sum(model.held.stored for model in estimate.models)
    calls = _range(_short(typical.calls), _short(most.calls))
    dates = sorted(model.price.date for model in estimate.models if model.price)
    costs = f"{calls} calls, {_total_usd(estimate.models)} USD" + (
        f" by prices of {dates[0]} or later" if dates else ""
    )
    unpriced = [model.model for model in estimate.models if model.price is None]
    lines = [f"Whole study: {costs}; {held:,} stored replies are not paid for again (cfeval estimate lists each step)"]
    lines += [f"No price for {', '.join(unpriced)}"] * bool(unpriced)
    lines += [text for fine, text in estimate.budget if not fine]
    return Bill(most.calls, [*lines, *estimate.notes])


@dataclass
class _Counts:
    """How many items datasets or sets of pairs have, where that cannot be said, and what is left out of them."""

    items: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _edct(study: Edct) -> tuple[list[Line], _Counts]:
    prompts = conversation_prompts(study.prompts or "")
    if not any(use.resources.api for use in used_by_edct(study)):
        return [], _Counts()
    samples, pairs = _counted(study, "datasets", "samples"), _counted(study, "pair_sets", "pairs")
    edits = {protocol: edits_of(protocol, study.edits, study.objects) for protocol in RULES}
    calls, silent = lines(study, samples.items, *prompts, edits=edits)
    calls += pair_lines(study, pairs.items, *prompts)
    items = samples.items | {f"pairs of {name}": count for name, count in pairs.items.items()}
    notes = [*samples.notes, *pairs.notes, *map(_uncounted, silent)]
    return calls, _Counts(items, notes, samples.left_out + pairs.left_out)


def _uncounted(place: str) -> str:
    return f"{place} calls a provider, but does not say how often: it is not counted"


def calls_per_item(study: Edct, items: int) -> dict[str, float]:
    """The typical calls of a study for an item and target, by stage, had its datasets so many items.

    The fewer items, the more uncited objects of each are edited, unless `uncited_objects` says how many.
    """
    sized = study.model_copy(update={"items": items})
    edits = {protocol: edits_of(protocol, sized.edits, sized.objects) for protocol in RULES}
    prompts = conversation_prompts(study.prompts or "")
    conversations = len({(condition.dataset, condition.vlm) for condition in study.conditions()})
    by_stage: dict[str, float] = {}
    for line in lines(sized, dict.fromkeys(study.datasets, items), *prompts, edits=edits)[0]:
        by_stage[line.stage] = by_stage.get(line.stage, 0.0) + line.typical.calls / items / max(1, conversations)
    return by_stage


def _cvqa(params: Params) -> tuple[list[Line], list[str]]:
    study, notes = params.cvqa, []
    if study is None or not any(use.resources.api for use in used_by_cvqa(study)):
        return [], []
    counts = {name: Sizes(build.items) for name, build in study.builds_asked().items()}
    for name in dict.fromkeys(condition.set for condition in study.all_conditions() if condition.set in study.sets):
        spec = study.sets[name]
        try:
            question_set = registry.build("question_sets", spec.plugin_options())
            counts[name] = question_set.sizes(spec.items)
        except CfevalError as error:
            taken = spec.items or 0
            counts[name] = Sizes(taken, taken)
            notes.append(f"cvqa.sets.{name} is taken to have {taken} pairs, because it cannot be read: {error}")
    return cvqa_lines(study, counts), notes


def _counted(study: Edct, section: str, what: str) -> _Counts:
    """How many `what` each plugin of a section gives, samples or pairs.

    A set that can count without keeping the images in memory does so (`count`).
    """
    counted = _Counts()
    for use in used_by_edct(study):
        if use.section == section:
            try:
                source = registry.build(use.family, use.spec)
                count = getattr(source, "count", None)
                draw = study.items, study.seed
                counted.items[use.name] = count(*draw) if count else sum(1 for _ in getattr(source, what)(*draw))
                if others := left_out_by(source):
                    counted.left_out.append(f"{use.place}: {summary(counted.items[use.name], others)}")
            except CfevalError as error:
                counted.items[use.name] = study.items
                taken = f"{study.items} {'items' if what == 'samples' else what}"
                counted.notes.append(f"{use.place} is taken to have {taken}, because it cannot be read: {error}")
    return counted


def _held(path: Path) -> dict[str, Held]:
    """What the cache knows, by model; nothing where there is none."""
    if not path.is_file():
        return {}
    cache = ResponseCache(path)
    try:
        counts, ledger = cache.counts(), {str(row["model"]): row for row in cache.ledger()}
    finally:
        cache.close()
    held = {}
    for model in {*counts, *ledger}:
        row: Any = ledger.get(model, {"sent": 0, "paid_usd": 0.0, "maybe_paid_usd": 0.0})
        held[model] = Held(counts.get(model, (0, 0))[0], row["sent"], row["paid_usd"], row["maybe_paid_usd"])
    return held


def _stages(estimate: Estimate) -> Table:
    table = _table("stage", "protocol", "plugin", "model", "calls", "tokens in", "tokens out", "images", "USD")
    for line in estimate.lines:
        price = price_of(estimate.prices, line.model, line.share)
        names = line.stage, line.protocol, line.plugin, _model_name(line)
        table.add_row(*names, *_cells(line.typical, line.most), _usd(line, price))
    return table


def _models(estimate: Estimate) -> Table:
    names = (
        "model",
        "calls",
        "tokens in",
        "tokens out",
        "images",
        "USD",
        "in the cache",
        "USD paid",
        "may be paid",
    )
    table = _table(*names)
    for model in estimate.models:
        table.add_row(
            _model_name(model), *_cells(model.typical, model.most), _usd(model, model.price), *_cache_cells([model])
        )
    table.add_section()
    typical, most = (sum((getattr(m, which) for m in estimate.models), Amount()) for which in ("typical", "most"))
    table.add_row("all", *_cells(typical, most), _total_usd(estimate.models), *_cache_cells(estimate.models))
    return table


def _model_name(line: Line | ModelLine) -> str:
    return line.model if line.share == 1 else f"{line.model} (batches: {line.share:.0%} of the price)"


def _cache_cells(models: list[ModelLine]) -> list[str]:
    """What the cache knows of some models: answers, USD paid, USD that may have been paid."""
    stored = sum(model.held.stored for model in models)
    usd = (sum(getattr(model.held, name) for model in models) for name in ("paid_usd", "maybe_paid_usd"))
    return [f"{stored:,}", *(f"{each:.4f}" for each in usd)]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        is_text = column in ("stage", "protocol", "plugin", "model")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    return table


def _cells(typical: Amount, most: Amount) -> list[str]:
    names = ("calls", "input_tokens", "output_tokens", "images")
    return [_range(_short(getattr(typical, name)), _short(getattr(most, name))) for name in names]


def _range(typical: str, most: str) -> str:
    return typical if typical == most else f"{typical} to {most}"


def _short(count: int) -> str:
    """A count to about three digits where it is large."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


def _usd(line: Line | ModelLine, price: Price | None) -> str:
    if price is None:
        return "?"
    return _range(*(f"{amount.usd(price):,.2f}" for amount in (line.typical, line.most)))


def _total(models: list[ModelLine], most: bool) -> float | None:
    """Of the models whose price is known; None where none is, and there are some."""
    prices = [usd for model in models if (usd := (model.most if most else model.typical).usd(model.price)) is not None]
    return sum(prices) if prices or not models else None


def _total_usd(models: list[ModelLine]) -> str:
    usd = [total for most in (False, True) if (total := _total(models, most)) is not None]
    unknown = any(model.price is None for model in models)
    return " + ".join([*([_range(*(f"{each:,.2f}" for each in usd))] if usd else []), *(["?"] if unknown else [])])


def _shared(estimate: Estimate) -> list[str]:
    calls = added(estimate.lines)
    if len(calls) < 2:
        return []
    first, *others = (f"{protocol} {count:,} calls" for protocol, count in calls.items())
    return [
        f"protocols share the baseline; at most, {first} besides it, and on top {', '.join(others)}, fewer where a "
        "request is the same"
    ]


def _assumptions(estimate: Estimate) -> list[str]:
    texts = ", ".join(f"{name} {count}" for name, count in TYPICAL.as_dict().items())
    items = ", ".join(f"{name} {count:,}" for name, count in estimate.items.items())
    return [
        f"items: {items}; typical lengths in tokens: {texts}; prompts: 4 characters a token (maximum: 3)",
        f"maximum: every reply has max_tokens ({UNKNOWN_LIMIT} for local models) and is repaired if it can be; retries "
        "after failures come on top, and billed thinking counts only in the maximum",
        "USD by list prices (`cfeval prices`); replies in the cache are not paid for again, but may belong to another "
        "study",
    ]


def _unpriced(estimate: Estimate) -> list[str]:
    return [
        f"No price for {model.model}: {missing_price(estimate.prices)}"
        for model in estimate.models
        if model.price is None
    ]


def _as_json(estimate: Estimate) -> dict[str, Any]:
    return {
        "items": dict(estimate.items),
        "typical_lengths": TYPICAL.as_dict(),
        "stages": [_with_usd(line, price_of(estimate.prices, line.model, line.share)) for line in estimate.lines],
        "calls_of_protocols": added(estimate.lines),
        "calls_per_item": {
            str(items): {stage: round(calls, 2) for stage, calls in by_stage.items()}
            for items, by_stage in estimate.per_item.items()
        },
        "models": [
            _with_usd(model, model.price) | {"price": model.price.model_dump(mode="json") if model.price else None}
            for model in estimate.models
        ],
        "usd": {"typical": _total(estimate.models, False), "most": _total(estimate.models, True)},
        "budget": [{"suffices": fine, "text": text} for fine, text in estimate.budget],
        "notes": [*estimate.left_out, *estimate.notes, *_unpriced(estimate), *estimate.advice],
    }


def _with_usd(line: Line | ModelLine, price: Price | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        name: value for name, value in vars(line).items() if name not in ("typical", "most", "price", "held")
    }
    if isinstance(line, ModelLine):
        content |= asdict(line.held)
    amounts = (("typical", line.typical), ("most", line.most))
    return content | {name: asdict(amount) | {"usd": amount.usd(price)} for name, amount in amounts}
