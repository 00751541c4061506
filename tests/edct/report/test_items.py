"""What a model returned can neither leave its JSON nor its HTML element; and how an item ends for a model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.edct.report.evidence import Study
from cfeval.edct.report.items import items_of, views
from cfeval.report.html import Images, script_json
from tests.edct.report import study
from tests.edct.report.study import CONDITIONS, HOSTILE, ITEMS, ROWS, write_study
from tests.edct.tables.study import condition, failed, score

LEAVES = st.text() | st.integers() | st.none()


@pytest.mark.slow
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_script_json_reads_back_and_holds_nothing_that_html_would_read(content: object) -> None:
    text = str(script_json(content))
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()


@pytest.mark.slow
def test_hostile_texts_stand_in_the_page_as_data_only(report_page: Path) -> None:
    html = report_page.read_text()
    chunks = len(rows(report_page))
    assert html.count("<script") == html.count("</script>") == chunks + 2
    assert "<img src=x" not in html
    assert "&lt;/script&gt;" in html


def rows(page: Path) -> list[list[dict[str, Any]]]:
    found = re.findall(r'<script type="application/json" class="rows" data-view="\d">(.*?)</script>', page.read_text())
    return [json.loads(text) for text in found]


def test_a_row_is_an_image_and_question_with_every_model_and_control(report_page: Path) -> None:
    of_2025, of_2026 = rows(report_page)
    assert len(of_2025) + len(of_2026) == ROWS
    item = of_2025[1]
    assert (item["id"], item["q"], list(item["m"])) == ("item-001", HOSTILE, ["grounded", "prior", "confabulating"])
    cell = item["m"]["grounded"]
    assert cell["t"][0]["j"] == {"grammar": [1, 1, None, f"Because {HOSTILE}"]}
    assert (cell["t"][0]["ok"], cell["t"][0]["share"], cell["t"][0]["seed"]) == (1, 0.125, 1)
    assert [(kind, changed) for kind, _, _, changed in cell["k"]] == [
        ("null edit", 1),
        ("null edit by the editor", 1),
        ("uncited edit", 1),
        ("blank image", 1),
    ]
    assert [len(one["m"]["grounded"]["t"]) for one in of_2026[:2]] == [1, 2]


def test_an_item_without_an_image_says_where_and_why_it_ended(report_page: Path) -> None:
    [item] = [one for one in rows(report_page)[0] if one["id"] == "item-007"]
    turn = item["m"]["prior"]["t"][0]
    assert (item["m"]["prior"]["o"], turn["status"], turn["stage"]) == ("missing", "no image", "edit")
    assert "img" not in turn


@pytest.mark.parametrize(
    ("scores", "uncited", "ending"),
    [
        ({"answer_moved": 1, "present": 1}, (0, 0), "fits"),
        ({"answer_moved": 1}, (0, 1), "also"),
        ({"answer_moved": 1}, (0, None), "changed"),
        ({"answer_moved": 0}, (0, 0), "stayed"),
        ({}, (0, 0), "one"),
        ({"pcs": 0}, (0, 0), "zero"),
        ({"present": 0, "answer_moved": 1}, (0, 0), "absent"),
        ({"verified": 0, "answer_moved": 1}, (0, 0), "missing"),
        (None, (0, 0), "absent"),
    ],
)
def test_how_an_item_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scores: dict[str, Any] | None,
    uncited: tuple[int | None, ...],
    ending: str,
) -> None:
    control = condition(protocol="uncited-edit")
    mine = (
        failed(condition(), "item-000", Status.CITATION_ABSENT)
        if scores is None
        else score(condition(), "item-000", **scores)
    )
    others = [
        failed(control, "item-000", Status.NO_IMAGE, edit=edit)
        if changed is None
        else score(control, "item-000", changed, 0, edit=edit)
        for edit, changed in enumerate(uncited, 1)
    ]
    monkeypatch.setattr(study, "ITEMS", 1)
    monkeypatch.setattr(study, "CONDITIONS", [condition(), control])
    monkeypatch.setattr(study, "_edits", lambda item, of: (1, 2) if of == control else (1,))
    monkeypatch.setattr(study, "_score", lambda item, edit, of: others[edit - 1] if of == control else mine)
    write_study(tmp_path)
    [view] = views([condition(), control])
    [row], left_out = items_of(view, Study(tmp_path, (condition(), control)), Images(tmp_path), 10)
    assert (row["m"]["grounded"]["o"], left_out) == (ending, 0)


def test_views_hold_the_models_and_judges_of_a_setting_and_no_controls() -> None:
    found = views([*CONDITIONS, condition(judge="lexical"), condition(editor="diffusion")])
    assert [(view.protocol, view.editor) for view in found] == [
        ("edct-2025", "scene"),
        ("edct-bench-2026", "scene"),
        ("edct-2025", "diffusion"),
    ]
    assert (found[0].models, found[0].judges) == (("grounded", "prior", "confabulating"), ("grammar", "lexical"))
    assert ITEMS == 40
