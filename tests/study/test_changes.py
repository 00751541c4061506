"""Which cells of a table changed, and whether by more than their intervals."""

from pathlib import Path
from typing import Any

from cfeval.study.diff import Cell, Row, changed_rows
from cfeval.study.revisions import WorkingFolder
from tests.study.studies import CONDITION, write_table


def row(vlm: str, ccs: str, lo: str, hi: str, **more: str) -> dict[str, Any]:
    names = dict(zip(("dataset", "vlm", "writer", "protocol", "editor", "judge"), CONDITION, strict=True))
    figures = {"n": "12", "ccs": ccs, "ccs_lo": lo, "ccs_hi": hi, "paper_ccs": "", "missing": ""}
    return names | {"vlm": vlm} | figures | more


def rows(tmp_path: Path, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[Row]:
    for side, of in (("old", old), ("new", new)):
        write_table(tmp_path / side, "edct_table1", of)
    return list(changed_rows(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct"))


def test_a_cell_tells_the_difference_and_whether_it_is_beyond_both_intervals(tmp_path: Path) -> None:
    old = [row("far", ".2", ".1", ".3"), row("near", ".2", ".1", ".3"), row("same", ".2", ".1", ".3")]
    new = [row("far", ".8", ".7", ".9"), row("near", ".25", ".15", ".35"), row("same", ".2", ".1", ".3")]
    far, near = rows(tmp_path, old, new)
    assert far.cells == (Cell("ccs", ".2", ".8", 0.6, True),)
    assert near.cells == (Cell("ccs", ".2", ".25", 0.05, False),)


def test_a_figure_inside_the_others_wide_interval_is_not_beyond(tmp_path: Path) -> None:
    [found] = rows(tmp_path, [row("m", ".2", ".1", ".9")], [row("m", ".8", ".7", ".85")])
    assert found.cells[0].beyond is False


def test_text_and_a_figure_that_is_gone_have_no_difference(tmp_path: Path) -> None:
    [found] = rows(tmp_path, [row("m", ".2", ".1", ".3")], [row("m", "", "", "", missing="refused 12")])
    assert found.cells == (Cell("ccs", ".2", ""), Cell("missing", "", "refused 12"))


def test_rows_are_matched_by_their_names_and_not_by_their_place(tmp_path: Path) -> None:
    old = [row("a", ".2", ".1", ".3"), row("b", ".5", ".4", ".6")]
    new = [row("b", ".5", ".4", ".6"), row("c", ".2", ".1", ".3")]
    assert [(found.names[1], found.what) for found in rows(tmp_path, old, new)] == [("c", "new"), ("a", "gone")]


def test_the_tables_of_older_revisions_lie_in_one_folder_and_those_of_a_name_in_its_own(tmp_path: Path) -> None:
    write_table(tmp_path, "edct_table1", [row("m", ".2", ".1", ".3")], "results/tables")
    write_table(tmp_path, "edct_table1", [row("m", ".8", ".7", ".9")], "results/lax/edct/tables")
    [found] = changed_rows(WorkingFolder(tmp_path), WorkingFolder(tmp_path, "results/lax"), "edct")
    assert found.cells == (Cell("ccs", ".2", ".8", 0.6, True),)
