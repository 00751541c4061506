"""`cfeval prices`: the list is shown, and taken from a provider only where that is asked for."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cfeval.inference.remote.prices import PLACE, load_prices
from tests.conftest import Run
from tests.loopback.fault import Kind
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import params, written

OWN = "date: 2026-01-02, source: my server"


@pytest.fixture
def openrouter() -> Iterator[Loopback]:
    with loopback(models=["maker/a", "maker/b"]) as server:
        yield server


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_line_is_shown_with_its_date_and_source(cfeval: Run) -> None:
    PLACE.parent.mkdir()
    PLACE.write_text(f"models: {{openai/gpt-4o: {{input: 77, {OWN}}}}}")
    status, out, err = cfeval("prices")
    assert (status, err) == (0, "")
    (line,) = (line for line in out.splitlines() if " openai/gpt-4o " in line)
    assert line.split()[1:] == ["77", "0", "0", "2026-01-02", "own:", "my", "server"]
    (image,) = (line.split() for line in out.splitlines() if " openai/gpt-image-2 " in line)
    assert image[1:5] == ["5", "8", "30", "0.053"]
    assert all(price.source.split()[0] in out for price in load_prices().lines().values())


def test_a_refresh_takes_what_a_server_publishes_and_keeps_other_lines(
    cfeval: Run, openrouter: Loopback, tmp_path: Path
) -> None:
    written(tmp_path, params(tmp_path, openrouter.openai, prices="mine.yaml"))
    (tmp_path / "mine.yaml").write_text(f"models: {{maker/b: {{input: 5, {OWN}}}, local: {{{OWN}}}}}")
    assert cfeval("prices")[0] == 0
    assert not openrouter.log, "never by itself"
    for _ in range(2):
        status, out, err = cfeval("prices", "--refresh", "--base-url", openrouter.openrouter)
        assert (status, err) == (0, "")
        assert out.startswith("2 prices of 127.0.0.1:")
        assert out.endswith("/api/v1/models in mine.yaml; 2 other prices kept\n")
    said = load_prices("mine.yaml").own
    assert list(said) == ["local", "maker/a", "maker/b"]
    assert (said["maker/a"].input, said["maker/a"].output) == (1.0, 1.0), "USD per million tokens, published per token"
    assert said["maker/a"].date == datetime.now(UTC).date()
    assert said["maker/b"].input == 5, "an own line goes before"
    assert not PLACE.exists()


def test_without_a_named_file_the_list_lies_where_the_help_says(cfeval: Run, openrouter: Loopback) -> None:
    assert cfeval("prices", "--refresh", "--base-url", openrouter.openrouter)[0] == 0
    assert load_prices().own.keys() == {"maker/a", "maker/b"}
    assert str(PLACE) in " ".join(cfeval("prices", "--help")[1].split())


def test_where_the_server_does_not_answer_the_list_stays(cfeval: Run, openrouter: Loopback) -> None:
    openrouter.random(1.0, ["http_500"], at=[Kind.INFO])
    status, _, err = cfeval("prices", "--refresh", "--base-url", openrouter.openrouter)
    assert status == 2
    assert "HTTP 500" in err
    assert "was not changed" in err
    assert not PLACE.exists()


@pytest.mark.parametrize(
    ("pricing", "figures"),
    [
        (
            {"prompt": "0.000005", "completion": "0", "image_token": "0.000008", "image_output": "0.00003"},
            (5, 8, 0, 0.0387),
        ),
        ({"prompt": "0.0000003", "completion": "0.0000025"}, (0.3, None, 2.5, 0)),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "free"}, None),
        (None, None),
    ],
)
def test_what_openrouter_publishes_is_read_in_its_units(
    cfeval: Run,
    openrouter: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    pricing: object,
    figures: tuple[float, ...] | None,
) -> None:
    other = {"id": "maker/other", "pricing": {"prompt": "0", "completion": "0"}}
    body = {"data": [{"id": "maker/a", "pricing": pricing}, other, "no entry"]}
    monkeypatch.setattr("tests.loopback.bodies.models", lambda names, takes: body)
    assert cfeval("prices", "--refresh", "--base-url", openrouter.openrouter)[0] == 0
    found = load_prices().own.get("maker/a")
    assert (found and (found.input, found.image_input, found.output, found.image)) == figures
