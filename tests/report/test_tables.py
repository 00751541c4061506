"""Tables as text."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.edct.records import Score
from cfeval.edct.tables.conditions import TABLE1, TABLE2, ConditionRow
from cfeval.report.files import latex
from cfeval.report.tables import RenderedTable, csv_text, markdown
from tests.edct.tables.study import GROUNDED, condition, made_of, scores
from tests.edct.tables.whole import CONDITIONS_OF, OF_SCORES, SCORES, rows, table
from tests.slow import fast_only

EVERY_TABLE = pytest.mark.parametrize("name", fast_only(OF_SCORES, "table1", "bench", "agreement"))
ODD = RenderedTable("odd", "50 % & more", ("a_b", "c|d"), (("x_1", r"y|\z"),), ("one", "two"))


def two_conditions() -> list[ConditionRow]:
    conditions = [GROUNDED, condition(vlm="prior")]
    return TABLE1.rows(conditions, made_of([*scores(conditions[0], 9, 1), *scores(conditions[1], 0, 10)]))


def test_the_csv_has_four_decimals_empty_cells_and_lf() -> None:
    text = csv_text(ConditionRow, two_conditions())
    first = next(csv.DictReader(io.StringIO(text)))
    assert (first["ccs"], first["n"], first["paper_ccs"], first["missing"]) == ("0.9000", "10", "", "")
    assert "\r" not in text
    assert text.endswith("\n")


@pytest.mark.parametrize("name", OF_SCORES)
def test_every_table_reads_back_from_its_csv_as_the_same_rows(name: str, tmp_path: Path) -> None:
    path, of = tmp_path / "t.csv", table(name)
    found = rows(name)
    assert found
    path.write_text(csv_text(of.row, found))
    assert read_csv(path, of.row) == found


@pytest.mark.parametrize("name", OF_SCORES)
def test_every_sheet_has_a_cell_for_each_heading_and_a_name_for_each_column_that_a_reader_needs(name: str) -> None:
    sheet = table(name).render(rows(name))
    assert sheet.name == f"edct_{name}"
    assert {len(line) for line in sheet.body} == {len(sheet.headings)}
    assert len(set(sheet.headings)) == len(sheet.headings)
    assert all(note.strip() for note in sheet.notes)
    if name not in ("test_models", "bounds"):  # of which the tables `faithfulness` and `card` tell it
        assert any(heading.endswith(("Scored", "scored by all", "Rest on")) for heading in sheet.headings)
        assert "Missing" in sheet.headings


@EVERY_TABLE
def test_a_table_is_the_same_in_whatever_order_its_scores_come(name: str) -> None:
    mixed: list[Score] = Random(3).sample(SCORES, len(SCORES))
    assert rows(name, mixed) == rows(name)


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("text", [markdown, latex])
def test_an_empty_table_is_still_a_table_and_says_why(text: Callable[[RenderedTable], str], name: str) -> None:
    of = table(name)
    assert csv_text(of.row, of.rows([], made_of([]))).count("\n") == 1
    assert "Empty: " in text(of.render([]))
    assert "edct.tables" in text(of.render([]))


@EVERY_TABLE
def test_scores_of_conditions_that_a_table_does_not_show_change_nothing(name: str) -> None:
    wanted = {
        one.model_copy(update={"protocol": p}) for one in CONDITIONS_OF[name] for p in (one.protocol, "uncited-edit")
    }
    only = [row for row in SCORES if any(all(getattr(row, k) == v for k, v in one) for one in wanted)]
    assert rows(name, only) == rows(name)


def test_the_readers_table_shows_the_names_that_differ_and_notes_the_others() -> None:
    sheet = TABLE1.render(two_conditions())
    assert sheet.headings[:3] == ("Target", "Scored", "PCS")
    assert sheet.notes[0] == "Dataset: world · Writer: grammar · Protocol: edct-2025 · Editor: scene · Judge: grammar."


def test_in_table_2_the_judge_stands_before_the_editor() -> None:
    conditions = [
        condition(judge=judge, editor=editor) for judge in ("grammar", "lexical") for editor in ("scene", "diffusion")
    ]
    sheet = TABLE2.render(TABLE2.rows(conditions, made_of([row for one in conditions for row in scores(one, 1, 1)])))
    assert sheet.headings[:2] == ("Judge", "Editor")
    assert sheet.notes[0] == "Dataset: world · Target: grounded · Writer: grammar · Protocol: edct-2025."


def test_markdown_escapes_the_pipe() -> None:
    assert markdown(ODD).splitlines()[2:5] == ["| a_b | c\\|d |", "| --- | --- |", "| x_1 | y\\|\\z |"]


def test_latex_escapes_what_tex_would_read() -> None:
    text = latex(ODD)
    assert r"\caption{50 \% \& more}" in text
    assert r"x\_1 & y\textbar{}\textbackslash{}z \\" in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("name", OF_SCORES)
def test_no_table_has_a_sign_that_latex_without_further_packages_cannot_set(name: str) -> None:
    text = latex(table(name).render(rows(name)))
    assert text.isascii(), sorted({char for char in text if not char.isascii()})
    assert text.count("{") == text.count("}")
