"""The price list: what it says, what it costs, and how it is refused."""

from datetime import date
from pathlib import Path

import pytest

from cfeval.core.errors import InputError, ParamsError
from cfeval.inference.remote.openai_api import usage_of
from cfeval.inference.remote.prices import PLACE, Price, load_prices
from cfeval.inference.remote.request import Usage

READ = "date: 2026-01-02, source: a page"
LIST = f"""
models:
  maker/a: {{input: 1.0, output: 10.0, {READ}}}
  maker/a:free: {{{READ}}}
  b: {{image: 0.04, {READ}}}
"""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(LIST)
    return path


def price(**figures: float) -> Price:
    return Price(date=date(2026, 1, 2), source="a page", **figures)


def test_a_price_is_per_million_tokens_and_per_image() -> None:
    assert price(input=1, output=10).of(Usage(1_000_000, 200_000)) == pytest.approx(3.0)
    assert price(image=0.04).of(Usage(images=3)) == pytest.approx(0.12)


def test_images_that_are_shown_cost_what_their_line_says_or_else_as_much_as_text() -> None:
    seen = Usage(1_000_000, image_tokens=400_000)
    assert price(input=5, image_input=8).of(seen) == pytest.approx(0.6 * 5 + 0.4 * 8)
    assert price(input=5, image_input=0).of(seen) == pytest.approx(0.6 * 5)
    assert price(input=5).of(seen) == pytest.approx(5)


def test_the_tokens_of_images_are_read_where_a_provider_tells_them_apart() -> None:
    edit = {"input_tokens": 300, "output_tokens": 7, "input_tokens_details": {"text_tokens": 100, "image_tokens": 200}}
    assert usage_of({"usage": edit}) == Usage(300, 7, image_tokens=200)
    assert usage_of({"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}}) == Usage(5)


def test_a_model_is_found_with_or_without_its_maker_and_the_way_it_is_routed(prices: Path) -> None:
    said = load_prices(str(prices))
    known = said.own["maker/a"]
    assert (known.date, known.source) == (date(2026, 1, 2), "a page")
    assert all(
        said.of(name) == known for name in ("maker/a", "a", "Maker/A:nitro", "models/a", "other/a", "a-2026-01-02")
    )
    assert said.of("c") is None
    assert said.of("a-2") is None
    assert said.of("a-72") is None
    assert said.of("maker/a:free") == said.own["maker/a:free"], "a suffix may have a line of its own"


def test_the_packages_list_has_the_models_of_the_paper_and_of_late_2026() -> None:
    said = load_prices()
    paper = ("google/gemini-2.5-flash", "flux-kontext-max", "openai/gpt-4o", "google/gemini-2.5-flash-image")
    late = (
        "google/gemini-3.1-pro-preview",
        "google/gemini-3-pro-image",
        "claude-opus-5-5",
        "anthropic/claude-opus-5.5",
    )
    for model in (*paper, *late, "gpt-6.2-sol", "gpt-image-2", "flux-2-pro"):
        found = said.of(model)
        assert found is not None, model
        assert "." in found.source, "an address"
        assert found.date.year >= 2025


def test_own_lines_go_before_the_packages_and_need_not_be_named(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for named in (str(prices), ""):
        file = Path(named) if named else PLACE
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"models: {{gpt-4o: {{input: 99, {READ}}}}}")
        said = load_prices(named)
        own = said.of("openai/gpt-4o")
        assert own is not None
        assert own.input == 99
        assert said.of("flux-kontext-max") is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not valid YAML"),
        ("[]", "Input should be"),
        ("{}", "models: Field required"),
        (f"models: {{a: {{input: -1, {READ}}}}}", "models.a.input"),
        (f"models: {{a: {{inptu: 1, {READ}}}}}", "models.a.inptu"),
        ("models: {a: {input: 1, source: a page}}", "models.a.date"),
        ("models: {a: {input: 1, date: 2026-01-02}}", "models.a.source"),
    ],
)
def test_another_file_is_refused_in_one_line_that_names_the_place(prices: Path, text: str, words: str) -> None:
    prices.write_text(text)
    with pytest.raises((InputError, ParamsError), match=words) as error:
        load_prices(str(prices))
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="cannot read the price list"):
        load_prices(str(prices.parent / "none.yaml"))
