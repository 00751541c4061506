"""List prices: for estimates and budgets, and where a provider reports tokens and no cost.

The package's list is `prices.yaml` beside this file. A user's own list goes first, line by line.
With them an estimate says what a study comes to before it runs, by stage and by model, against cache and budget.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from cfeval.core.config import Calls
from cfeval.core.errors import InputError
from cfeval.core.records import Record
from cfeval.core.yaml_files import parse_yaml
from cfeval.inference.remote.provider_table import undated
from cfeval.inference.remote.request import Usage

# The user's own list where `calls.prices` names none; it need not be there.
PLACE = Path(".cfeval/prices.yaml")


class Price(Record):
    """USD per million tokens read and written, and per image made; when and where that was read."""

    input: float = Field(0.0, ge=0)
    """Per million tokens of text, and of images where `image_input` is not given."""
    image_input: float | None = Field(None, ge=0)
    """Per million tokens of images that are shown, where they cost other than text."""
    output: float = Field(0.0, ge=0)
    image: float = Field(0.0, ge=0)
    date: date
    source: str = Field(min_length=1)

    def of(self, usage: Usage) -> float:
        """What a call costs by this price, in USD."""
        of_image = self.input if self.image_input is None else self.image_input
        shown = min(usage.image_tokens, usage.input_tokens)
        read = (usage.input_tokens - shown) * self.input + shown * of_image
        return (read + usage.output_tokens * self.output) / 1e6 + usage.images * self.image


class PriceList(Record):
    """The content of a list: prices by the model's name."""

    models: dict[str, Price]


class Prices:
    """The user's own list and the package's.

    `file` is where the user's own list is, or would be; `own` and `package` are the prices by name.
    """

    def __init__(self, file: Path, own: Mapping[str, Price], package: Mapping[str, Price]) -> None:
        self.file, self.own, self.package = file, own, package
        self._prices: dict[str, Price | None] = {}
        self._lists = [(_lowered(models), _lowered(models, short=True)) for models in (own, package)]

    def of(self, model: str) -> Price | None:
        """The price of a model by its name, with or without the maker's, a date or a suffix; None where there is none.

        An own line goes before any of the package's.
        """
        if model not in self._prices:
            full_name = model.removeprefix("models/").lower()
            plain = full_name.partition(":")[0]
            names = dict.fromkeys(form for name in (full_name, plain, undated(plain)) for form in (name, _short(name)))
            matches = (by.get(name) for full, short in self._lists for name in names for by in (full, short))
            self._prices[model] = next((price for price in matches if price is not None), None)
        return self._prices[model]

    def lines(self) -> dict[str, Price]:
        """All prices by name; of two of one name the user's own."""
        return {**self.package, **self.own}


def _lowered(models: Mapping[str, Price], short: bool = False) -> dict[str, Price]:
    return {_short(name.lower()) if short else name.lower(): price for name, price in models.items()}


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def load_prices(path: str = "") -> Prices:
    """The package's list, and before it the user's own: the file that is named, else `PLACE` if it is there.

    Raises:
        InputError: the named file is missing, or one is not a price list.
    """
    file = Path(path) if path else PLACE
    own = read(file) if path or file.is_file() else {}
    return Prices(file, own, read(files("cfeval.inference.remote") / "prices.yaml"))


def read(file: Any) -> dict[str, Price]:
    """The prices in a file by name.

    Raises:
        InputError: no such file, or not a price list.
        ParamsError: not YAML, or not YAML of one meaning; see `parse_yaml`.
    """
    try:
        return PriceList.model_validate(parse_yaml(file.read_text(encoding="utf-8"), file)).models
    except OSError as error:
        raise InputError(f"{file}: cannot read the price list ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not valid YAML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{file}: {place}: {first['msg']}; see src/cfeval/inference/remote/prices.yaml for the form"
        ) from None


def missing_price(prices: Prices) -> str:
    """What to do where no list has a model."""
    return (
        f"add a line for it to {prices.file} (0 where it is free), or take OpenRouter's prices by `cfeval prices "
        "--refresh`"
    )


LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST = 4, 3


@dataclass(frozen=True)
class Amount:
    """Calls, and what they use."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    image_tokens: int = 0
    """Of the tokens read, those of images."""

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(*(own + more for own, more in zip(vars(self).values(), vars(other).values(), strict=True)))

    def times(self, count: int) -> "Amount":
        """So many of it."""
        return Amount(*(count * value for value in vars(self).values()))

    def usd(self, price: Price | None) -> float | None:
        """What it costs; None where the price is not known."""
        return (
            None
            if price is None
            else price.of(Usage(self.input_tokens, self.output_tokens, self.images, image_tokens=self.image_tokens))
        )


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
    """What the cache knows of a model: answers that stand, calls sent, USD paid, USD that may have been paid."""

    stored: int = 0
    sent: int = 0
    paid_usd: float = 0.0
    maybe_paid_usd: float = 0.0


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


def by_model(lines: Iterable[Line], prices: Prices, held: Mapping[str, Held]) -> list[ModelLine]:
    """The same by model; what the cache knows of one that is asked both at once and by batches is told once."""
    totals: dict[tuple[str, float], tuple[Amount, Amount]] = {}
    for line in lines:
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


def added(lines: Iterable[Line]) -> dict[str, int]:
    """How many calls each protocol takes at most besides what all share, in the order of the study."""
    calls: dict[str, int] = {}
    for line in lines:
        if line.protocol:
            calls[line.protocol] = calls.get(line.protocol, 0) + line.most.calls
    return calls


def budget(models: Iterable[ModelLine], held: Mapping[str, Held], calls: Calls) -> list[tuple[bool, str]]:
    """For every limit that is set, whether it suffices, and that in one line."""
    models = list(models)
    sent = sum(record.sent for record in held.values())
    spent = sum(record.paid_usd + record.maybe_paid_usd for record in held.values())
    parts = []
    if calls.max_calls is not None:
        typical = sum(line.still(line.typical) for line in models)
        most = sum(line.still(line.most) for line in models)
        parts.append(_verdict("calls.max_calls", calls.max_calls, sent, typical, most, lambda n: f"{n:,.0f} calls"))
    if calls.max_cost_usd is not None:
        usd = sum(line.still_usd(line.typical) for line in models), sum(line.still_usd(line.most) for line in models)
        parts.append(_verdict("calls.max_cost_usd", calls.max_cost_usd, spent, *usd, lambda n: f"{n:,.2f} USD"))
        parts += [
            (False, f"calls.max_cost_usd stops the run before its first call to {line.model}: its price is not known")
            for line in models
            if line.price is None
        ]
    return parts


def _verdict(
    name: str, limit: float, spent: float, typical: float, most: float, shown: Callable[[float], str]
) -> tuple[bool, str]:
    so_far = f"{shown(spent)} so far, {shown(typical)} to go ({shown(most)} at most)"
    if spent + typical > limit:
        return False, f"{name} = {limit:g} will not suffice: {so_far}; raise it, or lower edct.items"
    if spent + most > limit:
        return True, f"{name} = {limit:g} suffices for a typical run: {so_far}"
    return True, f"{name} = {limit:g} suffices: {so_far}"
