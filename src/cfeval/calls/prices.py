"""List prices: for estimates and budgets, and where a provider reports no cost of its own."""

from datetime import date
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from cfeval.calls.call import Usage
from cfeval.errors import InputError
from cfeval.records.common import Record


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
        """The price of a model by its name, with or without the maker's; None where the list has none."""
        name = model.removeprefix("models/").partition(":")[0].lower()
        by_name = {known.rpartition("/")[2]: price for known, price in self.models.items()}
        return self.models.get(name) or by_name.get(name.rpartition("/")[2])


def load_prices(path: str = "") -> Prices:
    """The price list of a file; the package's where none is named.

    Raises:
        InputError: no such file, or not a price list.
    """
    source = Path(path) if path else files("cfeval.calls") / "prices.yaml"
    try:
        return Prices.model_validate(yaml.safe_load(source.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{source}: cannot read the price list ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{source}: {place}: {first['msg']}; see src/cfeval/calls/prices.yaml for the form") from None
