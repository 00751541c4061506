"""What a model returned can neither leave its JSON nor its HTML element; and how an item ends for a model."""

import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfeval.core.record import outputs_of
from cfeval.core.records import Status
from cfeval.edct.report.evidence import Study
from cfeval.edct.report.items import items_of, views
from cfeval.report import gallery
from cfeval.report.gallery import Gallery, gallery_of
from cfeval.report.html import ImageNumber, Images, script_json
from cfeval.report.pack import pack
from tests.conftest import Run
from tests.edct.report import study
from tests.edct.report.study import CONDITIONS, HOSTILE, ITEMS, ROWS, write_study
from tests.edct.report.test_page import parsed, shown
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


# The items that a page cannot hold: beside it, in the packed report, and none of them lost.


LITTLE = 40_000
"""Bytes that hold some of the made-up study's items."""


def script(html: str, name: str) -> Any:
    """The JSON of a script element."""
    found = re.search(rf'id="{name}">(.*?)</script>', html)
    assert found
    return json.loads(found[1])


def rows_on(html: str) -> dict[int, list[dict[str, Any]]]:
    """The rows on a page, by view."""
    rows: dict[int, list[dict[str, Any]]] = {}
    for view, text in re.findall(r'class="rows" data-view="(\d+)">(.*?)</script>', html):
        rows.setdefault(int(view), []).extend(json.loads(text))
    return rows


@pytest.fixture
def page(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page that holds a part of its items."""
    write_study(tmp_path / "edct")
    monkeypatch.setattr(gallery, "PAGE_BYTES", LITTLE)
    monkeypatch.setattr(gallery, "FILE_BYTES", LITTLE // 8)
    out = tmp_path / "report" / "index.html"
    assert cfeval("edct", "report", *shown(tmp_path), "--out", out)[0] == 0
    return out


def test_every_item_is_on_the_page_or_beside_it_and_both_fit_their_limits(page: Path) -> None:
    html = page.read_text()
    about, on_page = script(html, "about"), rows_on(html)
    assert len(json.dumps(list(on_page.values()), separators=(",", ":"))) < LITTLE
    for number, view in enumerate(about["views"]):
        files = [script((page.parent / link).read_text(), "rows") for link in view["beside"]]
        assert len(files) > 1, "more than one file holds"
        beside = {place: row["id"] for file in files for place, row in zip(file["places"], file["rows"], strict=True)}
        here = iter(row["id"] for row in on_page[number])
        ids = [beside.get(place) or next(here) for place in range(view["items"])]
        assert ids == [f"item-{n:03d}" for n in range(ITEMS)]
        assert next(here, None) is None
    assert "This page holds" in html
    assert "frame-src 'self' file:" in html


def test_every_image_of_an_item_beside_the_page_is_there(page: Path) -> None:
    about = script(page.read_text(), "about")
    for link in (link for view in about["views"] for link in view["beside"]):
        text = (page.parent / link).read_text()
        file = script(text, "rows")
        links = {**dict(enumerate(about["images"])), **{int(number): one for number, one in file["images"].items()}}
        turns = [turn for row in file["rows"] for cell in row["m"].values() for turn in cell["t"]]
        numbers = [one["img"] for one in (*file["rows"], *turns) if "img" in one]
        assert all((page.parent / unquote(links[number])).is_file() for number in numbers)
        assert text.count("<script") == 2, "no text of a model is markup"


def test_the_record_names_what_lies_beside_the_page(page: Path) -> None:
    assert outputs_of(["edct", "report", "--out", str(page)]) == [str(page), f"{page.with_suffix('')}.items/"]


def test_a_page_that_holds_all_its_items_has_nothing_beside_it(
    cfeval: Run, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page.with_suffix(".items").is_dir()
    monkeypatch.setattr(gallery, "PAGE_BYTES", 1_000_000)
    Path(f"{page}.made.json").unlink()
    assert cfeval("edct", "report", *shown(tmp_path), "--out", page)[0] == 0
    html = page.read_text()
    assert not page.with_suffix(".items").exists()
    assert {len(rows) for rows in rows_on(html).values()} == {ITEMS}
    assert "This page holds" not in html
    assert "frame-src" not in html
    assert all(script(html, "about")["images"])
    assert parsed(page).open == []


@pytest.mark.parametrize("full", [False, True])
def test_a_packed_report_has_the_items_beside_it_with_their_images(page: Path, full: bool) -> None:
    out = page.parent / "out.zip"
    pack(page, out, full)
    with zipfile.ZipFile(out) as archive:
        names = set(archive.namelist())
        about = script(archive.read("report.html").decode(), "about")
        files = [script(archive.read(link).decode(), "rows") for view in about["views"] for link in view["beside"]]
    links = {link for link in about["images"] if link} | {link for file in files for link in file["images"].values()}
    assert sum(len(file["rows"]) for file in files) > 0
    assert all(link in names if full else link.startswith("data:image/png;base64,") for link in links)


def rows_of(kinds: list[int], size: int) -> list[dict[str, Any]]:
    return [
        {"id": f"{n:04d}", "kind": "", "q": "x" * size, "img": ImageNumber(n), "m": {"a": {"o": str(kind)}}}
        for n, kind in enumerate(kinds)
    ]


def made(sizes: list[tuple[list[int], int]], folder: Path) -> tuple[Gallery, list[dict[int, list[dict[str, Any]]]]]:
    images = Images(folder, links=[f"../items/{n:06d}.png" for n in range(500)])
    found = gallery_of((({"title": "t"}, rows_of(*of), 3) for of in sizes), images, folder / "index.html")
    on_page: dict[int, list[dict[str, Any]]] = {}
    for number, rows in found.chunks:
        on_page.setdefault(number, []).extend(json.loads(rows))
    return found, [on_page]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.tuples(st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=120), st.integers(1, 2000)),
        min_size=1,
        max_size=6,
    ),
    limit=st.integers(1, 100_000),
)
def test_no_study_however_large_makes_the_page_larger_than_its_limit(
    sizes: list[tuple[list[int], int]], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "PAGE_BYTES", limit)
        found, (on_page,) = made(sizes, folder)
    items = sum(len(kinds) for kinds, _ in sizes)
    whole = sum(len(json.dumps(row, separators=(",", ":"))) + 19 for of in sizes for row in rows_of(*of))
    held = sum(len(rows) for _, rows in found.chunks) + sum(len(link) for link in found.images)
    assert (found.shown + found.beside, found.left_out) == (items, 3 * len(sizes))
    assert found.beside == 0 if whole <= limit else held <= limit + 2 * len(found.chunks) + items
    for number, (kinds, _) in enumerate(sizes):
        drawn = Counter(row["m"]["a"]["o"] for row in on_page.get(number, []))
        for kind, count in Counter(map(str, kinds)).items():
            assert abs(drawn[kind] - count * drawn.total() / len(kinds)) <= 1, "each outcome has its share"
