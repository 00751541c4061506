"""The items that a page cannot hold: beside it, in the packed report, and none of them lost."""

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
from cfeval.report import gallery
from cfeval.report.gallery import Gallery, gallery_of
from cfeval.report.html import ImageNumber, Images
from cfeval.report.pack import pack
from tests.conftest import Run
from tests.edct.report.study import ITEMS, write_study
from tests.edct.report.test_page import parsed, shown

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
