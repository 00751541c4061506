"""The page of benchmarks shows what its commands make: the same tables, columns and rows."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from bench import subjects
from bench.__main__ import PAGE, PARTS
from bench.table import Table

SMALLEST: Mapping[str, Mapping[str, Any]] = {
    "orchestration": {"ITEMS": 2, "REPEATS": 1, "UNEVEN": 2, "EVEN_LATENCY": {"seconds": 0}},
    "rate_limits": {"ITEMS": 2, "REPEATS": 1, "LIMITED": 2, "LATENCIES": {name: {"seconds": 0} for name in "ab"}},
    "resume": {"ITEMS": 16, "LATENCY": 0.2},
    "judge": {"ITEMS": 2, "LATENCY": 0},
    "growth": {"SIZES": (2, 3)},
    "metrics": {"REPEATS": 1, "FID_SIDE": 64, "FID_IMAGES": 2, "SSIM_SIDE": 64},
    "local": {"BATCHES": (1, 2), "ITEMS": 2, "TOKENS": 2, "REPEATS": 1},
    "calls": {"CALLS": 500},
    "gate": {"SIDE": 256, "REPEATS": 1},
    "programs": {"REPEATS": 1, "SECONDS": 0.01},
    "answers": {"PAIRS": 1, "REPEATS": 1, "LATENCIES": (0.01, 0.02)},
    "puzzles": {"COUNT": 8},
    "readers": {"MANY": 20, "REPEATS": 1},
    "vce_cost": {"STEPS": 1},
}
"""What makes each benchmark small. Two are not here: `gpu` needs a GPU (tests/test_bench_gpu.py), and `vce_valid` takes
half an hour whatever its size."""
NUMBER = re.compile(r"\d[\d,.]*")
Shape = tuple[tuple[str, ...], tuple[str, ...]]


def shape(columns: list[str], rows: list[str]) -> Shape:
    """Columns and names of rows, each once, whatever the numbers in them."""
    head, names = (tuple(dict.fromkeys(NUMBER.sub("N", name) for name in some)) for some in (columns, rows))
    return head, names


def on_page() -> dict[str, list[Shape]]:
    """The tables of each section of the page."""
    found: dict[str, list[Shape]] = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        part = re.search(r"`python -m bench (\w+)`", section)
        assert part, section.splitlines()[0]
        tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
        cells = [[line[2:-2].split(" | ") for line in table.splitlines()] for table in tables]
        found[part[1]] = [shape(head, [row[0] for row in rows]) for head, _, *rows in cells]
    return found


def test_every_section_of_the_page_is_of_a_benchmark_that_there_is() -> None:
    assert set(on_page()) <= set(PARTS)
    assert set(SMALLEST) | {"gpu", "vce_valid"} == set(PARTS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a server that ends with its block
@pytest.mark.parametrize("part", SMALLEST)
def test_a_benchmark_makes_the_tables_that_the_page_shows(
    part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = import_module(f"bench.{part}")
    for name, value in SMALLEST[part].items():
        assert hasattr(module, name), f"{part} has no {name}"
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(subjects, "PEERS", tmp_path / "not installed")
    made = module.tables()
    assert made
    assert all(isinstance(table, Table) and table.rows for table in made)
    if (published := on_page().get(part)) is not None:
        assert [shape(list(table.columns), [row[0] for row in table.rows]) for table in made] == published
