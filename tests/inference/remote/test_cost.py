"""The price list: what it says, what it costs, and how it is refused."""

from datetime import date
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.inference.remote.cost import Price, load_prices
from cfeval.inference.remote.request import Usage

LIST = """
date: 2026-01-02
models:
  maker/a: {input: 1.0, output: 10.0}
  b: {image: 0.04}
"""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(LIST)
    return path


def test_a_price_is_per_million_tokens_and_per_image() -> None:
    assert Price(input=1, output=10).of(Usage(1_000_000, 200_000)) == pytest.approx(3.0)
    assert Price(image=0.04).of(Usage(images=3)) == pytest.approx(0.12)


def test_a_model_is_found_with_or_without_its_maker_and_the_way_it_is_routed(prices: Path) -> None:
    said = load_prices(str(prices))
    assert said.date == date(2026, 1, 2)
    known = said.models["maker/a"]
    assert all(
        said.of(name) == known for name in ("maker/a", "a", "Maker/A:nitro", "models/a", "other/a", "a-2026-01-02")
    )
    assert said.of("c") is None
    assert said.of("a-2") is None
    assert said.of("a-72") is None


def test_the_packages_list_has_the_models_of_the_paper_and_a_date() -> None:
    said = load_prices()
    assert said.date.year >= 2025
    for model in ("google/gemini-2.5-flash", "flux-kontext-max", "openai/gpt-4o", "google/gemini-2.5-flash-image"):
        assert said.of(model) is not None, model


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("[]", "Input should be"),
        ("date: 2026-01-02", "models: Field required"),
        ("date: 2026-01-02\nmodels: {a: {input: -1}}", "models.a.input"),
        ("date: 2026-01-02\nmodels: {a: {inptu: 1}}", "models.a.inptu"),
    ],
)
def test_another_file_is_refused_in_one_line_that_names_the_place(prices: Path, text: str, words: str) -> None:
    prices.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        load_prices(str(prices))
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="cannot read the price list"):
        load_prices(str(prices.parent / "none.yaml"))
