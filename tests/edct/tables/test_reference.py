"""The papers' figures as they ship."""

from pathlib import Path

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.edct.tables.conditions import published_figures
from cfeval.edct.tables.scores import Published
from tests.edct.tables.study import condition

FOLDER = Path(__file__).parents[3] / "data" / "reference"
FILES = sorted(FOLDER.glob("edct*.csv"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_is_a_figure_and_the_file_is_described(path: Path) -> None:
    lines = read_csv(path, Published)
    assert lines
    assert all(0 <= line.value <= 1 and (line.half_width or 0) < 0.2 for line in lines)
    assert path.name in (FOLDER / "README.md").read_text()


def test_table_1_of_the_paper_is_there_under_the_models_names() -> None:
    lines = read_csv(FOLDER / "edct-2025.csv", Published)
    gemini = condition(dataset="okvqa", vlm="gemini-2.5-flash", judge="any", editor="any")
    assert published_figures(gemini, "table1", lines) == {"pcs": 0.712, "ncc": 0.743, "ccs": 0.674}
    assert len({line.vlm for line in lines if line.table == "table1"}) == 5


def test_table_2_of_the_paper_is_there_under_writer_judge_and_editor() -> None:
    lines = read_csv(FOLDER / "edct-2025.csv", Published)
    qwen = {"writer": "qwen3-235b", "judge": "qwen3-235b"}
    cell = condition(dataset="okvqa", vlm="gemini-2.5-flash", editor="gemini-2.5-flash-image", **qwen)
    assert published_figures(cell, "table2", lines) == {"ccs": 0.584}
    assert published_figures(cell.model_copy(update={"writer": "grammar"}), "table2", lines) == {}
