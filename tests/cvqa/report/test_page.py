"""The page of cvqa: wrong answers first, both questions, programs with their calls, and the first screen's figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.cvqa.report.page import MOST_STEPS, finding
from cfeval.cvqa.report.page import test_bed as bed
from cfeval.cvqa.tables.accuracy import shown
from cfeval.report.pack import pack
from tests.conftest import Run
from tests.cvqa.report import study
from tests.cvqa.report.study import PAIRS, ROWS, SOLVERS, STEPS, make_report
from tests.edct.report.study import HOSTILE
from tests.edct.report.test_page import parsed


def rows(html: str) -> list[dict[str, Any]]:
    """The rows of the one set."""
    chunks = re.findall(r'class="rows" data-view="0">(.*?)</script>', html)
    return [row for chunk in chunks for row in json.loads(chunk)]


def test_pairs_that_most_solvers_answer_wrongly_come_first(cfeval: Run, tmp_path: Path) -> None:
    found = rows(make_report(cfeval, tmp_path).read_text())
    assert [row["id"] for row in found] == ["pair-3", "pair-1", "pair-2", "pair-0", "pair-4"]
    endings = {row["id"]: [row["m"][solver]["o"] for solver in SOLVERS] for row in found}
    assert endings == {
        "pair-0": ["both", "both"],
        "pair-1": ["original", "original"],
        "pair-2": ["counterfactual", "both"],
        "pair-3": ["neither", "neither"],
        "pair-4": ["missing", "both"],
    }


def test_of_many_pairs_the_wrong_ones_are_shown_and_the_others_counted(cfeval: Run, tmp_path: Path) -> None:
    html = make_report(cfeval, tmp_path, 1, "--per-condition", 2).read_text()
    assert [row["id"] for row in rows(html)] == ["pair-3", "pair-1"]
    assert "3 further items are in the result files" in html
    [about] = re.findall(r'id="about">(.*?)</script>', html)
    assert [view["more"] for view in json.loads(about)["views"]] == [3]  # the gallery counts 2 of 5, not 2 of 2


def test_an_item_has_both_questions_each_reply_and_how_it_was_read(cfeval: Run, tmp_path: Path) -> None:
    html = make_report(cfeval, tmp_path, shards=2).read_text()
    by = {row["id"]: row for row in rows(html)}
    assert by["pair-1"]["sides"]["counterfactual"] == {"q": "How many dogs would be on sofa 1 if one left?", "a": "1"}
    first, second = by["pair-1"]["m"]["chat"]["t"]
    assert (first["ok"], first["read"], "published" in first) == (1, "2", False)
    assert (second["ok"], second["read"], second["published"], second["text"]) == (0, "7", None, HOSTILE)
    missing = by["pair-4"]["m"]["chat"]["t"][0]
    assert (missing["status"], missing["why"]) == ("refused", "it will not")
    assert HOSTILE not in html


def test_a_program_has_its_code_its_fault_and_the_first_of_its_calls(cfeval: Run, tmp_path: Path) -> None:
    by = {row["id"]: row for row in rows(make_report(cfeval, tmp_path).read_text())}
    program = by["pair-3"]["m"]["programs"]["t"][0]["prog"]
    assert program["code"].startswith("def execute_command")
    assert (program["fault"], program["fallback"]) == ("line 2: it took too long", True)
    assert (len(program["trace"]), program["more"]) == (MOST_STEPS, STEPS - MOST_STEPS)
    assert program["trace"][0] == [2, "find", "'dog 0'", "[]"]


def test_the_first_screen_says_who_loses_and_by_how_much(cfeval: Run, tmp_path: Path) -> None:
    html = make_report(cfeval, tmp_path).read_text()
    told = finding([row for row in ROWS if row.reader == "robust"])
    assert told == (
        "Under the “if” 1 of 2 solvers answer fewer questions rightly: chat; not shown for programs. "
        "The greatest loss is that of chat on photos, direct, from 0.90 to 0.40 over 4 pairs."
    )
    assert told in html
    assert re.findall(r'<tr role="row" class="([^"]*)">', html) == ["c-do-not-trust"]
    assert finding([row for row in ROWS if row.solver == "programs" and row.reader == "robust"]) == (
        "Under the “if” programs is not shown to answer fewer questions rightly."
    )
    assert finding([]) == "No question has a score."


def test_the_first_screen_shows_ranges_and_the_released_rules_beside(cfeval: Run, tmp_path: Path) -> None:
    html = make_report(cfeval, tmp_path).read_text()
    [chat, programs] = re.findall(r'<tr role="row"[^>]*>\s*<th role="rowheader".*?</tr>', html, re.DOTALL)
    cells = re.findall(r'data-l="([^"]*)">([^<]*)<', chat)
    assert cells == [
        ("As it is", "0.90 (0.72 to 0.92)"),
        ("Under the “if”", "0.40"),
        ("Scored", "4 of 5"),
        ("As published", "0.85 → 0.35"),
    ]
    assert ("As it is", "0.80 (0.64 to 0.84)") in re.findall(r'data-l="([^"]*)">([^<]*)<', programs)
    assert "C-VQA&#39;s released rules, which take the first number" in html


def test_a_group_without_any_score_stands_on_the_first_screen_and_is_no_zero(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = ("original", "counterfactual", "difference", "p_holm")
    unread = [row.model_copy(update=dict.fromkeys(figures) | {"n_scored": 0}) for row in ROWS if row.solver == "chat"]
    monkeypatch.setattr(study, "ROWS", [*unread, *(row for row in ROWS if row.solver != "chat")])
    html = make_report(cfeval, tmp_path).read_text()
    chat, _ = re.findall(r'<tr role="row"[^>]*>\s*<th role="rowheader".*?</tr>', html, re.DOTALL)
    assert "no figure" in chat
    assert "<svg" not in chat
    assert ("Scored", "0 of 5") in re.findall(r'data-l="([^"]*)">([^<]*)<', chat)
    assert "Under the “if” programs is not shown to answer fewer questions rightly." in html


def test_a_users_solvers_come_first_and_a_test_bed_is_introduced_in_a_sentence() -> None:
    built_in = [one.model_copy(update={"solver": f"b{i}", "test_world": 1}) for i, one in enumerate(ROWS)]
    first = [one.row.solver for one in shown({"table3": [*built_in, *ROWS]})]
    assert first == ["chat", "programs", "b0", "b2"]
    of = [one.row for one in shown({"table3": [*built_in, *ROWS]})]
    assert finding(of) == finding([row for row in ROWS if row.reader == "robust"])
    assert bed(of).startswith("The solvers marked † are a test bed: 2 built-in programs and scripts")
    assert bed(of[2:]).startswith("The solvers here are a test bed: 2 built-in")
    assert bed(of[:2]) == ""
    many = [row.model_copy(update={"solver": f"n{i}"}) for i, row in enumerate(of[2:] * 3)]
    assert "n1" not in finding(many), "a long list of names says nothing"
    assert "3 of 6 built-in solvers answer fewer" in finding(many)


def test_every_tag_is_closed_and_the_pack_has_every_image(cfeval: Run, tmp_path: Path) -> None:
    page = make_report(cfeval, tmp_path)
    found = parsed(page)
    assert found.open == []
    assert all((page.parent / link).is_file() for link in found.links if not link.startswith("#"))
    assert pack(page, tmp_path / "out.zip") == PAIRS
