"""The file in which people decide about drafts: written with what they need, read strictly."""

import csv
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import ImageRef, Status
from cfeval.cvqa.records import Decision, Draft, Question, Review
from cfeval.cvqa.stages.builds import DECISION_COLUMNS, read_decisions, write_decisions

IMAGE = ImageRef(path="a.png", sha256="0" * 64)


def draft(item: str, question: str = "How many birds if 2 came?", answer: str = "5", **fields: object) -> Draft:
    plain: dict[str, object] = {
        "id": item,
        "image": IMAGE,
        "original": Question(question="How many birds?", answer="3"),
        "type": "direct",
        "img_path": f"{item}.png",
        "step1": "- add",
        "step2": "=3+2",
        "question": question,
        "answer": answer,
    }
    return Draft.model_validate(plain | fields)


DRAFTS = [
    draft("a", '+2: how many birds, "if" 2 came?'),
    draft("b", type="boolean", answer="no", original=Question(question="Würde es?", answer="yes")),
    draft("c", status=Status.UNPARSABLE, stage="drafts", reason="no"),
]
BY_ID = {one.id: one for one in DRAFTS}
REVIEWS = {"a": Review(id="a", related=1, reasonable=0, reason_given="@two birds")}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.csv"
    write_decisions(path, DRAFTS, REVIEWS)
    return path


def filled(path: Path, item: str, **cells: str) -> None:
    """Fill in cells as a spreadsheet would."""
    rows = table(path)
    for row in rows:
        if row["id"] == item:
            row |= cells
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_draft_that_could_be_read_has_a_row_with_empty_cells(written: Path) -> None:
    rows = table(written)
    assert [row["id"] for row in rows] == ["a", "b"]
    assert all(row[name] == "" for row in rows for name in DECISION_COLUMNS)
    assert rows[0]["related"] == "1"
    assert rows[1]["original_question"] == "Würde es?"
    assert written.read_bytes().startswith(b"\xef\xbb\xbf"), "a spreadsheet knows UTF-8 by it"


def test_no_cell_is_taken_for_a_formula(written: Path) -> None:
    cells = [cell for row in table(written) for cell in row.values()]
    assert {"'=3+2", "'- add", "'@two birds"} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_an_untouched_file_decides_nothing(written: Path) -> None:
    assert read_decisions(written, BY_ID) == {}


def test_what_is_filled_in_is_read(written: Path) -> None:
    filled(written, "a", accept=" Yes", question="How many if 3 came?", answer="6", comment="counted, again")
    filled(written, "b", accept="no")
    assert read_decisions(written, BY_ID) == {
        "a": Decision(id="a", accept="yes", question="How many if 3 came?", answer="6", comment="counted, again"),
        "b": Decision(id="b", accept="no"),
    }


def test_a_spreadsheet_may_write_semicolons_and_leave_columns_out(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id;accept;question;answer;comment\r\nb;yes;;yes;\r\n", encoding="utf-8-sig")
    assert read_decisions(path, BY_ID) == {"b": Decision(id="b", accept="yes", answer="yes")}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"accept": "maybe"}, "line 2: accept must be yes, no, or empty, but got 'maybe'"),
        ({"accept": "1"}, "line 2: accept must be"),
        ({"accept": "yes", "answer": "six"}, "line 2: the answer to a direct question is digits, but got 'six'"),
        ({"accept": "yes", "answer": "06"}, "line 2: the answer to a direct question"),
        ({"accept": "yes", "answer": "no"}, "line 2: the answer to a direct question"),
        ({"accept": "yes", "question": "How many birds?"}, "line 2: the question supposes nothing: it has no 'if'"),
        ({"answer": "6"}, "line 2: a correction counts only where accept is yes"),
        ({"accept": "no", "question": "How many?"}, "line 2: a correction counts only where accept is yes"),
        ({"new_answer": "6"}, "line 2: new_answer is there to be read; write the correction in the column 'answer'"),
        ({"new_question": "How many?"}, "line 2: new_question is there to be read"),
        ({"id": "d"}, "line 2: no draft 'd'"),
        ({"id": "b"}, "line 3: 'b' is decided a second time|new_question is there"),
    ],
)
def test_a_wrong_cell_is_refused_with_its_line(written: Path, cells: dict[str, str], reason: str) -> None:
    filled(written, "a", **cells)
    with pytest.raises(InputError, match=reason):
        read_decisions(written, BY_ID)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "column 'id' is missing"),
        ("id,question,answer,comment\n", "column 'accept' is missing"),
        ("id,accept,question,answer,comment,mood\n", "unknown column 'mood'"),
        ("id,accept,question,answer,comment,comment\n", "column 'comment' stands there twice"),
        ("id,accept,question,answer,comment\na,yes\n", "line 2: 2 columns, and the header has 5"),
        ("id,accept,question,answer,comment\na,yes,,,,x\n", "line 2: 6 columns, and the header has 5"),
        ("id,accept,question,answer,comment\na,yes,,,\na,no,,,\n", "line 3: 'a' is decided a second time"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=reason):
        read_decisions(path, BY_ID)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_decisions(tmp_path / "none.csv", BY_ID)
