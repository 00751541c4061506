"""A column is one statement: the field of a row, with its meaning below it."""

import re
from typing import Annotated

import pytest

from cfeval.core.records import Record
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figure,
    Heading,
    TableRow,
    columns_of,
    csv_text,
    headings_of,
    laid_out,
    limits,
    meanings,
    readers_order,
)
from tests.listed import TABLES

ROWS = {f"{study} {name}": listed.row() for study, tables in TABLES.items() for name, listed in tables.items()}


class Fruit(TableRow):
    """A row."""

    name: Annotated[str, Heading("Name")]
    """What it is called."""
    weight: Annotated[Estimated, Heading("Weight", after="color")] = None
    """In kilograms,
    without leaves.
    """
    color: Annotated[str, Heading("Color", lambda row: row.color.upper())] = ""
    """As seen."""
    price: Annotated[Figure, Heading("Price", optional=True)] = None
    """In euro."""


class Pear(Fruit):
    """The same with a column more."""

    sugar: Annotated[Bounded, Heading("Sugar")] = None
    """Share of it."""


def test_an_estimate_has_a_column_for_each_of_its_limits_behind_its_own() -> None:
    assert csv_text(Fruit, []) == "name,weight,weight_lo,weight_hi,color,price\n"
    assert csv_text(Pear, []) == csv_text(Fruit, []).strip() + ",sugar,sugar_lo,sugar_hi,sugar_min,sugar_max\n"
    assert columns_of(Fruit)["weight"] == ("weight", "weight_lo", "weight_hi")
    pear = Pear.model_validate({"name": "p", "weight": 0.5, "weight_lo": 0.25, "weight_hi": 1})
    assert limits(pear, "weight") == (0.25, 1)


def test_readers_see_the_fields_with_a_heading_in_their_order_and_as_their_types_say() -> None:
    row = Pear.model_validate({"name": "p", "weight": 0.5, "weight_lo": 0.25, "weight_hi": 1, "color": "red"})
    headings, [cells] = laid_out(Pear, [row])
    assert headings == ("Name", "Color", "Weight", "Sugar")
    assert cells == ("p", "RED", "0.5000 [0.2500, 1.0000]", "")
    assert laid_out(Pear, [row.model_copy(update={"price": 2.0})])[0][3] == "Price"


def test_a_table_may_add_columns_and_leave_some_out() -> None:
    row = Fruit(name="p")
    more = {"": [("First", lambda _: "1")], "name": [("Second", lambda row: row.name * 2)]}
    assert laid_out(Fruit, [row], more, ["name"]) == (("First", "Second", "Color", "Weight"), (("1", "pp", "", ""),))


def test_what_a_column_means_is_the_text_below_its_field() -> None:
    told = meanings(Pear)
    assert told["name"] == "What it is called."
    assert " ".join(told["weight"].split()) == "In kilograms, without leaves."
    assert told["sugar"] == "Share of it."


@pytest.mark.parametrize("kind", ROWS.values(), ids=ROWS)
def test_every_column_of_every_table_says_what_it_means_and_stands_where_readers_find_it(kind: type[Record]) -> None:
    told = meanings(kind)
    assert not [name for name in columns_of(kind) if not re.match(r".+\.$", told.get(name, ""), re.DOTALL)]
    assert sorted(readers_order(kind)) == sorted(headings_of(kind)), "a column stands behind one that is not there"
