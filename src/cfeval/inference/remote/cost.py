"""List prices: for estimates and budgets, and where a provider reports no cost of its own.

What a study comes to before it runs: calls, tokens and money, by stage and by model, against cache and budget.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from cfeval.core.config import Calls
from cfeval.core.errors import InputError
from cfeval.core.records import Record
from cfeval.inference.remote.openai_api import undated
from cfeval.inference.remote.request import Usage


class Price(Record):
    """USD per million tokens read and written, and per image made."""

    input: float = Field(0.0, ge=0)
    output: float = Field(0.0, ge=0)
    image: float = Field(0.0, ge=0)

    def of(self, usage: Usage) -> float:
        """What a call costs by this price, in USD."""
        tokens = usage.input_tokens * self.input + usage.output_tokens * self.output
        return tokens / 1e6 + usage.images * self.image


class Prices(Record):
    """A price list and the day it was made."""

    date: date
    models: dict[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model by its name, with or without the maker's and a date; None where the list has none."""
        name = model.removeprefix("models/").partition(":")[0].lower()
        by_name = {known.rpartition("/")[2]: price for known, price in self.models.items()}
        names = (name, name.rpartition("/")[2], undated(name), undated(name).rpartition("/")[2])
        return next((price for one in names if (price := self.models.get(one) or by_name.get(one))), None)


def load_prices(path: str = "") -> Prices:
    """The price list of a file; the package's where none is named.

    Raises:
        InputError: no such file, or not a price list.
    """
    source = Path(path) if path else files("cfeval.inference.remote") / "prices.yaml"
    try:
        return Prices.model_validate(yaml.safe_load(source.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{source}: cannot read the price list ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{source}: {place}: {first['msg']}; see src/cfeval/inference/remote/prices.yaml for the form"
        ) from None


LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST = 4, 3


@dataclass(frozen=True)
class Amount:
    """Calls, and what they use."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.images + other.images,
        )

    def times(self, count: int) -> "Amount":
        """So many of it."""
        return Amount(self.calls * count, self.input_tokens * count, self.output_tokens * count, self.images * count)

    def usd(self, price: Price | None) -> float | None:
        """What it costs; None where the price is not known."""
        return None if price is None else price.of(Usage(self.input_tokens, self.output_tokens, self.images))


@dataclass(frozen=True)
class Line:
    """What one plugin takes at one stage, of one model."""

    stage: str
    protocol: str
    """Empty where the stage is the same under every protocol."""
    plugin: str
    model: str
    share: float
    """How much of the list price its calls cost: less where they go by batches."""
    typical: Amount
    most: Amount


@dataclass(frozen=True)
class Held:
    """What the cache knows of a model: answers that stand, calls sent, USD spent."""

    stored: int = 0
    sent: int = 0
    spent_usd: float = 0.0


@dataclass(frozen=True)
class ModelLine:
    """What a model takes over all stages, at once or by batches, and what the cache knows of it.

    `price` is what such calls cost, `share` how much of the list price that is.
    """

    model: str
    share: float
    typical: Amount
    most: Amount
    price: Price | None
    held: Held

    def still(self, amount: Amount) -> int:
        """The calls still to be sent, if what the cache holds is of this study."""
        return max(0, amount.calls - self.held.stored)

    def still_usd(self, amount: Amount) -> float:
        """What these cost; 0 where the price is not known."""
        return (amount.usd(self.price) or 0.0) * self.still(amount) / max(1, amount.calls)


def by_model(found: Iterable[Line], prices: Prices, held: Mapping[str, Held]) -> list[ModelLine]:
    """The same by model; what the cache knows of one that is asked both at once and by batches is told once."""
    totals: dict[tuple[str, float], tuple[Amount, Amount]] = {}
    for line in found:
        typical, most = totals.get((line.model, line.share), (Amount(), Amount()))
        totals[line.model, line.share] = typical + line.typical, most + line.most
    left = dict(held)
    return [
        ModelLine(model, share, typical, most, price_of(prices, model, share), left.pop(model, Held()))
        for (model, share), (typical, most) in totals.items()
    ]


def price_of(prices: Prices, model: str, share: float) -> Price | None:
    """The price of a model's calls that cost so much of the list price; None where the list has none."""
    price = prices.of(model)
    if price is None or share == 1:
        return price
    return price.model_copy(update={name: share * value for name, value in price if isinstance(value, float)})


def added(found: Iterable[Line]) -> dict[str, int]:
    """How many calls each protocol takes at most besides what all share, in the order of the study."""
    calls: dict[str, int] = {}
    for line in found:
        if line.protocol:
            calls[line.protocol] = calls.get(line.protocol, 0) + line.most.calls
    return calls


def budget(models: Iterable[ModelLine], held: Mapping[str, Held], calls: Calls) -> list[tuple[bool, str]]:
    """For every limit that is set, whether it suffices, and that in one line."""
    models = list(models)
    sent, spent = sum(one.sent for one in held.values()), sum(one.spent_usd for one in held.values())
    said = []
    if calls.max_calls is not None:
        typical = sum(one.still(one.typical) for one in models)
        most = sum(one.still(one.most) for one in models)
        said.append(_verdict("calls.max_calls", calls.max_calls, sent, typical, most, lambda n: f"{n:,.0f} calls"))
    if calls.max_cost_usd is not None:
        usd = sum(one.still_usd(one.typical) for one in models), sum(one.still_usd(one.most) for one in models)
        said.append(_verdict("calls.max_cost_usd", calls.max_cost_usd, spent, *usd, lambda n: f"{n:,.2f} USD"))
        said += [
            (False, f"calls.max_cost_usd stops the run before its first call to {one.model}: its price is not known")
            for one in models
            if one.price is None
        ]
    return said


def _verdict(
    name: str, limit: float, spent: float, typical: float, most: float, shown: Callable[[float], str]
) -> tuple[bool, str]:
    so_far = f"{shown(spent)} so far, {shown(typical)} to go ({shown(most)} at most)"
    if spent + typical > limit:
        return False, f"{name} = {limit:g} will not suffice: {so_far}; raise it, or lower edct.items"
    if spent + most > limit:
        return True, f"{name} = {limit:g} suffices for a typical run: {so_far}"
    return True, f"{name} = {limit:g} suffices: {so_far}"
