"""The labelling sheet: what people see, what they must not see, and that it needs nothing from elsewhere."""

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from PIL.PngImagePlugin import PngInfo

from cfeval.core.images import Image
from cfeval.core.jsonl import read_csv, write_csv
from cfeval.core.records import Status
from cfeval.edct.labelling.records import KeyRow, Label
from cfeval.edct.labelling.sheet import ASKS, Change, SheetItem, sheet_csv, sheet_hash
from cfeval.edct.records import Score
from cfeval.report.html import MAX_SIDE, data_url
from tests.conftest import Run
from tests.edct.labelling.sheet_study import CHAIN, NULL, SINGLE, write_sheet_study
from tests.edct.report.study import HOSTILE
from tests.edct.report.test_page import parsed
from tests.edct.tables.study import failed

Shown = tuple[dict[str, Any], KeyRow]


def make_sheet(cfeval: Run, folder: Path, *options: object) -> Path:
    """The sheet of the made-up study; returns the path without ending."""
    scores = write_sheet_study(folder / "edct")
    given = ["--results", folder / "edct", "--out", folder / "sheet", *options]
    status, out, err = cfeval("edct", "label-sheet", *scores, *given)
    assert (status, err) == (0, "")
    assert "sheet.html" in out
    return folder / "sheet"


@pytest.fixture
def sheet(cfeval: Run, tmp_path: Path) -> Path:
    """All edits of the study."""
    return make_sheet(cfeval, tmp_path)


def data(sheet: Path) -> dict[str, Any]:
    """The data in the page."""
    found = re.search(r'id="data">(.*?)</script>', Path(f"{sheet}.html").read_text(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def items(sheet: Path) -> list[Shown]:
    """Each item of the page with its row of the key."""
    key = read_csv(Path(f"{sheet}.key.csv"), KeyRow)
    assert [row.item for row in key] == list(range(1, len(key) + 1))
    return list(zip(data(sheet)["items"], key, strict=True))


def about(sheet: Path, protocol: str, item: str, edit: int = 1) -> dict[str, Any]:
    """What the page shows of one edit."""
    [found] = [i for i, row in items(sheet) if (row.protocol, row.id, row.edit) == (protocol, item, edit)]
    return found


def test_neither_page_nor_csv_tells_the_condition_or_the_verdict(sheet: Path) -> None:
    for ending in ("html", "csv"):
        text = Path(f"{sheet}.{ending}").read_text()
        assert "secret" not in text
        assert "edit_invalid" not in text
    assert all(set(item) == set(SheetItem.__dataclass_fields__) for item in data(sheet)["items"])
    assert "secret-vlm" in Path(f"{sheet}.key.csv").read_text()


def test_the_page_needs_nothing_from_elsewhere_and_runs_its_own_script_only(sheet: Path) -> None:
    html = Path(f"{sheet}.html").read_text()
    assert parsed(Path(f"{sheet}.html")).open == []
    assert parsed(Path(f"{sheet}.html")).links == []
    assert not re.search(r"https?://|url\(|@import", html)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy
    assert "default-src 'none'; img-src data:;" in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        content = html.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]


def test_hostile_texts_stand_in_the_page_as_data_only(sheet: Path) -> None:
    html = Path(f"{sheet}.html").read_text()
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img src=x" not in html
    assert about(sheet, "edct-2025", "q1")["question"] == HOSTILE
    assert about(sheet, "edct-2025", "q0")["new_explanation"] == HOSTILE


def test_the_csv_has_the_same_items_and_nothing_that_a_spreadsheet_would_run(sheet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(Path(f"{sheet}.csv").read_text())))
    assert [int(row["item"]) for row in rows] == list(range(1, len(rows) + 1))
    for row, (shown, key) in zip(rows, items(sheet), strict=True):
        assert (row["sheet"], row["answer"], row["new_answer"]) == (key.sheet, shown["answer"], shown["new_answer"])
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())
        assert not any(row.get(name) for name in (*ASKS, "comment", "rater"))


def test_the_csv_filled_in_comes_back_as_labels(cfeval: Run, sheet: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(Path(f"{sheet}.csv").read_text())))
    for row in rows:
        row |= {"rater": "Ann", "edit_valid": "Cannot tell", "comment": HOSTILE}
    with (tmp_path / "ann.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    given = ("--key", f"{sheet}.key.csv", "--out", tmp_path / "labels.csv")
    status, out, err = cfeval("edct", "labels", tmp_path / "ann.csv", *given)
    assert (status, out, err) == (0, f"Ann: {len(rows)} of {len(rows)} edits\n", "")
    labels = read_csv(tmp_path / "labels.csv", Label)
    assert [(one.item, one.edit_valid, one.vlm) for one in labels] == [
        (number, "cannot_tell", "secret-vlm") for number in range(1, len(rows) + 1)
    ]
    assert {one.comment for one in labels} == {HOSTILE}


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_a_text_that_looks_like_a_formula_is_quoted(start: str) -> None:
    item = SheetItem(("edit_valid",), start, (), ("a" * 64,), "a", "e")
    [row] = csv.DictReader(io.StringIO(sheet_csv([item])))
    assert row["question"] == "'" + start


def test_two_runs_agree_and_neither_time_nor_place_stands_in_them(cfeval: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_sheet(cfeval, tmp_path / name)
    for ending in ("html", "csv", "key.csv"):
        first = (tmp_path / f"a/sheet.{ending}").read_bytes()
        assert first == (tmp_path / f"b/sheet.{ending}").read_bytes()
        assert str(tmp_path).encode() not in first


def test_the_second_edit_of_a_chain_shows_both_changes_and_the_image_between(sheet: Path) -> None:
    first, second = (about(sheet, CHAIN.protocol, "q0", edit) for edit in (1, 2))
    assert [change["positive"] for change in second["changes"]] == ["Do q0 1.", "Do q0 2."]
    assert second["images"][:2] == first["images"]
    assert len(second["images"]) == 3
    assert second["new_answer"] == "new q0 2"
    assert second["asks"] == ["edit_valid", "ac", "ef", "grade"]


def test_an_edit_that_the_gate_rejected_shows_its_last_try_and_asks_for_no_score(sheet: Path) -> None:
    rejected = about(sheet, CHAIN.protocol, "q3")
    assert (rejected["asks"], rejected["new_answer"]) == (["edit_valid"], "")
    assert len(rejected["images"]) == 2
    assert {(row.id, row.edit, row.gate) for _, row in items(sheet) if row.protocol == CHAIN.protocol} >= {
        ("q3", 1, 0),
        ("q4", 2, 0),
        ("q0", 2, 1),
    }
    assert not [row for _, row in items(sheet) if (row.id, row.edit) == ("q3", 2)], "there is no image of it"


def test_a_null_edit_has_no_instruction_and_other_questions(sheet: Path) -> None:
    item = about(sheet, NULL.protocol, "q0")
    assert item["changes"] == []
    assert item["asks"] == ["edit_valid", "answer_moved", "explanation_moved"]


def test_every_question_has_a_sentence_that_defines_it(sheet: Path) -> None:
    asks = data(sheet)["asks"]
    assert set(asks) == {name for item, _ in items(sheet) for name in item["asks"]}
    assert all(ask["definition"].endswith(".") and len(ask["definition"].split()) > 8 for ask in asks.values())
    for ask in asks.values():
        assert len({key for _, _, key in ask["answers"]}) == len(ask["answers"])


def test_a_study_without_an_edit_to_label_is_refused(cfeval: Run, tmp_path: Path) -> None:
    [scores, *_] = write_sheet_study(tmp_path / "edct")
    write_csv(scores, Score, [failed(SINGLE, f"q{number}", Status.TRUNCATED) for number in range(3)])
    status, _, err = cfeval("edct", "label-sheet", scores, "--results", tmp_path / "edct", "--out", tmp_path / "s")
    assert (status, err.count("\n")) == (2, 1)
    assert "no edit to label" in err
    assert not list(tmp_path.glob("s.*"))


def test_a_missing_image_is_one_line_that_names_it(cfeval: Run, tmp_path: Path) -> None:
    scores = write_sheet_study(tmp_path / "edct")
    (tmp_path / "edct/items/secret-set/q2.png").unlink()
    status, _, err = cfeval("edct", "label-sheet", *scores, "--results", tmp_path / "edct", "--out", tmp_path / "s")
    assert (status, err.count("\n")) == (2, 1)
    assert "q2.png" in err
    assert not list(tmp_path.glob("s.*"))


def test_the_hash_of_a_sheet_is_of_all_that_people_see() -> None:
    one = SheetItem(("edit_valid", "pcs"), "q", (Change("c", "p", "n"),), ("a" * 64, "b" * 64), "a", "e", "b", "f")
    others = [
        replace(one, question="r"),
        replace(one, changes=(Change("c", "p", "m"),)),
        replace(one, images=("a" * 64, "c" * 64)),
        replace(one, asks=("edit_valid",)),
        replace(one, new_explanation="g"),
    ]
    assert len({sheet_hash([item]) for item in (one, *others)} | {sheet_hash([one, one])}) == 7


def test_an_image_in_the_page_says_nothing_of_its_maker(tmp_path: Path) -> None:
    noted = PngInfo()
    noted.add_text("Software", "secret-editor")
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (8, 6), "red").save(buffer, format="PNG", pnginfo=noted)
    assert b"secret-editor" in buffer.getvalue()
    assert b"secret-editor" not in embedded(Image(buffer.getvalue()))


@pytest.mark.slow
def test_a_large_image_is_shrunk_and_stays_itself() -> None:
    y, x = np.mgrid[0:900, 0:1200]
    noise = np.random.default_rng(1).integers(0, 60, (900, 1200))
    pixels = np.stack([x / 5, y / 4, noise], axis=-1).astype(np.uint8)
    content = embedded(Image.from_pixels(pixels))
    assert len(content) < 400_000
    with PIL.Image.open(io.BytesIO(content)) as image:
        assert image.size == (MAX_SIDE, MAX_SIDE * 3 // 4)
        exact = PIL.Image.fromarray(pixels).resize(image.size, PIL.Image.Resampling.LANCZOS)
        assert np.abs(np.asarray(image, dtype=int) - np.asarray(exact, dtype=int)).mean() < 6


def embedded(image: Image) -> bytes:
    """The file inside a data URL."""
    return base64.b64decode(data_url(image).partition("base64,")[2])
