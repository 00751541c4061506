"""List prices: for estimates and budgets, and where a provider reports tokens and no cost.

The package's list is `prices.yaml` beside this file. A user's own list goes first, line by line.
"""

from collections.abc import Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from cfeval.core.errors import InputError
from cfeval.core.records import Record
from cfeval.core.yaml_files import parse_yaml
from cfeval.inference.remote.model_names import undated
from cfeval.inference.remote.request import Usage

PLACE = Path(".cfeval/prices.yaml")
"""The user's own list where `calls.prices` names none; it need not be there."""


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
        self._found: dict[str, Price | None] = {}
        self._lists = [(_lowered(models), _lowered(models, short=True)) for models in (own, package)]

    def of(self, model: str) -> Price | None:
        """The price of a model by its name, with or without the maker's, a date or a suffix; None where there is none.

        An own line goes before any of the package's.
        """
        if model not in self._found:
            self._found[model] = self._look(model.removeprefix("models/").lower())
        return self._found[model]

    def _look(self, model: str) -> Price | None:
        plain = model.partition(":")[0]
        names = dict.fromkeys(form for name in (model, plain, undated(plain)) for form in (name, _short(name)))
        found = (by.get(name) for full, short in self._lists for name in names for by in (full, short))
        return next((price for price in found if price is not None), None)

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
