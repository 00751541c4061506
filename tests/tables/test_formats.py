"""Tables as text."""

import csv
import io
from collections.abc import Callable

import pytest

from cfeval.io.records import read_csv
from cfeval.records.tables import ArmRow
from cfeval.tables import edct_calibration, edct_table1, edct_table2
from cfeval.tables.formats import Sheet, csv_text, latex, markdown
from tests.tables.study import GROUNDED, HOW, arm, scores

ODD = Sheet("odd", "50 % & more", ("a_b", "c|d"), (("x_1", r"y|\z"),), ("one", "two"))


def table() -> list[ArmRow]:
    arms = [GROUNDED, arm(vlm="prior")]
    return edct_table1.rows(arms, [*scores(arms[0], 9, 1), *scores(arms[1], 0, 10)], HOW)


def test_the_csv_has_four_decimals_empty_cells_and_lf() -> None:
    text = csv_text(ArmRow, table())
    first = next(csv.DictReader(io.StringIO(text)))
    assert (first["ccs"], first["n"], first["paper_ccs"], first["missing"]) == ("0.9000", "10", "", "")
    assert "\r" not in text
    assert text.endswith("\n")


def test_the_csv_reads_back_as_the_same_rows(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "t.csv"
    path.write_text(csv_text(ArmRow, table()))
    assert read_csv(path, ArmRow) == table()


def test_the_readers_table_shows_the_names_that_differ_and_notes_the_others() -> None:
    sheet = edct_table1.sheet(table())
    assert sheet.headings[:3] == ("Target", "Scored", "PCS")
    assert sheet.notes[0] == "Data set: world · Writer: grammar · Protocol: edct-2025 · Editor: scene · Judge: grammar."
    assert {len(row) for row in sheet.body} == {len(sheet.headings)}


def test_in_table_2_the_judge_stands_before_the_editor() -> None:
    arms = [arm(judge=judge, editor=editor) for judge in ("grammar", "lexical") for editor in ("scene", "diffusion")]
    found = edct_table2.rows(arms, [row for one in arms for row in scores(one, 1, 1)], HOW)
    sheet = edct_table2.sheet(found)
    assert sheet.headings[:2] == ("Judge", "Editor")
    assert sheet.notes[0] == "Data set: world · Target: grounded · Writer: grammar · Protocol: edct-2025."


def test_markdown_escapes_the_pipe() -> None:
    assert markdown(ODD).splitlines()[2:5] == ["| a_b | c\\|d |", "| --- | --- |", "| x_1 | y\\|\\z |"]


def test_latex_escapes_what_tex_would_read() -> None:
    text = latex(ODD)
    assert r"\caption{50 \% \& more}" in text
    assert r"x\_1 & y|\textbackslash{}z \\" in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("text", [markdown, latex])
def test_an_empty_table_is_still_a_table_and_says_why(text: Callable[[Sheet], str]) -> None:
    assert csv_text(ArmRow, []).count("\n") == 1
    assert "Judge" in text(edct_table2.sheet([]))
    assert "params.yaml names no arm for this table (edct.tables)" in text(edct_table2.sheet([]))
    assert "no target of Table 1 has a known share" in text(edct_calibration.sheet([]))
