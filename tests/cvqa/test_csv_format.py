"""The CSV files of C-VQA: byte for byte, and one line for each row that cannot be used."""

import csv
import io
import re
from pathlib import Path

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.cvqa.csv_format import (
    CvqaResult,
    CvqaRow,
    derived_key,
    doubtful_keys,
    read_questions,
    read_results,
    write_questions,
    write_results,
)
from cfeval.cvqa.records import PairType, Question
from tests.conftest import Run

HEADER = "img_path,query,answer,new query,new answer,type"
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "cvqa_real_questions.csv"
IF = "If? Select the correct answer:A:0  B:2  C:3  D:4"
OWN = f"""{HEADER}
COCO_val2014_000000000042.jpg,"How many cups are there?",2,"How many cups, if one fell, would stand?",1,direct
COCO_val2014_000000000042.jpg,"Does it say ""stop""?",yes,Would it if it was blank?,no,boolean
COCO_val2014_000000000074.jpg,How many dogs?,0,How many dogs if the café shut?,2000,indirect
abs_counting_000001.png,Many? Select the correct answer:A:1  B:2  C:3  D:4,C,{IF},A,abs_counting_6
"""
"""As published: one cell in quotes that needs none, quotes doubled, UTF-8, options."""


def published(folder: Path) -> Path:
    """The published questions where they are at hand, else our own of the same form."""
    if REAL.is_file():
        return REAL
    return written(folder, OWN)


def written(folder: Path, text: str) -> Path:
    path = folder / "questions.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("own", [True, False], ids=["own", "published"])
def test_a_file_that_is_read_and_written_has_the_same_bytes(tmp_path: Path, own: bool) -> None:
    path = written(tmp_path, OWN) if own else published(tmp_path)
    read = read_questions(path)
    write_questions(tmp_path / "again.csv", read)
    assert not read.faults
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_cells_are_those_that_the_csv_module_reads(tmp_path: Path) -> None:
    path = published(tmp_path)
    _, *expected = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    rows = list(read_questions(path))
    ours = [
        [r.img_path, r.original.question, r.original.answer, r.counterfactual.question, r.counterfactual.answer, r.type]
        for r in rows
    ]
    assert ours == expected
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


OPTIONS = " Select the correct answer:A:1  B:2  C:3  D:4"
GOOD = "a.jpg,How many?,2,How many if?,3,direct"
BAD = {
    "a.jpg,How many?,2,How many, if?,3,direct": "7 columns, and the header has 6",
    "a.jpg,How many?,2": "3 columns, and the header has 6",
    'a.jpg,How "many?,2,How many if?,3,direct': "a quote stands in a cell or is not closed",
    'a.jpg,"How many?,2,How many if?,3,direct': "a quote stands in a cell or is not closed",
    "a.jpg,How many?,2,How many if?,3,other": "unknown type 'other'; allowed: direct, indirect, boolean, abs",
    "a.jpg,How many?,two,How many if?,3,direct": "'answer' of type direct must be decimal digits, but got 'two'",
    "a.jpg,How many?,2,How many if?,-3,indirect": "'new answer' of type indirect must be decimal digits, but got '-3'",
    "a.jpg,How many?,²,How many if?,3,direct": "must be decimal digits, but got '²'",
    "a.jpg,Is it?,Yes,Is it if?,no,boolean": "'answer' of type boolean must be yes or no, but got 'Yes'",
    "a.jpg,Is it?,yes,Is it if?,A,boolean": "'new answer' of type boolean must be yes or no, but got 'A'",
    f"a.png,How?{OPTIONS},E,How?{OPTIONS},A,abs_counting_1": (
        "'answer' of type abs_counting_1 must be one of the letters A, B, C, D, but got 'E'"
    ),
    f"a.png,How many?,A,How?{OPTIONS},A,abs_counting_1": "'query' .* must end in options",
    "a.jpg,  ,2,How many if?,3,direct": "'query' is empty",
    "a.jpg,How many?,2,,3,direct": "'new query' is empty",
    ",How many?,2,How many if?,3,direct": "img_path must be the name of a file, but got ''",
    "../../a.jpg,How many?,2,How many if?,3,direct": "img_path must be the name of a file, but got '../../a.jpg'",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_row_is_named_by_its_line_and_the_others_are_read(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, "\n".join([HEADER, GOOD, line, GOOD, '"b.jpg",Is it?,no,"Is it, if?",yes,boolean', ""]))
    read = read_questions(path)
    assert [row.number for row in read] == [1, 3, 4]
    (fault,) = read.faults
    assert fault.startswith(f"{path}, line 3: ")
    assert "\n" not in fault
    assert re.search(BAD[line], fault)


def test_many_bad_rows_are_each_told_and_empty_lines_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join([HEADER, GOOD, "", "x", 'y"', GOOD, 'z"', ""]))
    read = read_questions(path)
    assert [row.number for row in read] == [1, 4]
    assert [fault.split(": ")[0].rsplit(" ", 1)[1] for fault in read.faults] == ["4", "5", "7"]


def test_columns_may_stand_in_another_order_beside_others_and_with_windows_line_ends(tmp_path: Path) -> None:
    text = "\ufefftype,prog,img_path,new answer,new query,answer,query\r\ndirect,x,a.jpg,3,How many if?,2,How many?\r\n"
    read = read_questions(written(tmp_path, text))
    write_questions(tmp_path / "again.csv", read)
    assert not read.faults
    assert (tmp_path / "again.csv").read_text() == f"{HEADER}\n{GOOD}\n"


def test_a_spreadsheet_may_write_semicolons_between_cells(tmp_path: Path) -> None:
    text = HEADER.replace(",", ";") + '\r\na.jpg;How many, now?;2;"How many; if?";3;direct\r\n'
    write_questions(tmp_path / "again.csv", read_questions(written(tmp_path, text)))
    assert (tmp_path / "again.csv").read_text() == f'{HEADER}\na.jpg,"How many, now?",2,How many; if?,3,direct\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 'img_path' is missing; needed are img_path, query, answer, new query, new answer, type"),
        ("img_path,query,answer,new query,type\n", "column 'new answer' is missing"),
        (HEADER.replace("query", '"query', 1), "line 1: a quote stands in a cell"),
    ],
)
def test_a_file_without_the_columns_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_questions(written(tmp_path, text))


def test_a_missing_file_is_one_line() -> None:
    with pytest.raises(InputError, match="no such file"):
        read_questions(Path("no/such.csv"))


def test_published_results_are_read_and_written_with_replies_over_several_lines(tmp_path: Path) -> None:
    rows = list(read_questions(written(tmp_path, OWN)))
    replies = ["2", 'He said "two",\nthen left', "", " A \n\n"]
    results = [CvqaResult(row, reply, reply[::-1]) for row, reply in zip(rows, replies, strict=True)]
    path = tmp_path / "direct_responses.csv"
    write_results(path, results)
    assert path.read_text().startswith(f"{HEADER},response,new_response\n")
    read = read_results(path)
    assert [one.response for one in read] == replies
    assert list(read) == results
    assert not read.faults
    with path.open(encoding="utf-8", newline="") as stream:
        assert [row["new_response"] for row in csv.DictReader(stream)] == [reply[::-1] for reply in replies]


def test_a_file_of_questions_is_no_file_of_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'response' is missing"):
        read_results(written(tmp_path, OWN))


def test_a_bad_row_over_several_lines_is_told_once_by_its_first_line(tmp_path: Path) -> None:
    lines = [f"{HEADER},response,new_response", 'a.jpg,How many?,2,How many if?,3,other,"one\ntwo",3', f"{GOOD},2,3"]
    read = read_results(written(tmp_path, "\n".join([*lines, ""])))
    assert [one.row.number for one in read] == [2]
    (fault,) = read.faults
    assert "line 2: unknown type" in fault


# Keys of imported questions are worked out where the question says its change in full, and only there.


def row(original: str, answer: str, changed: str, key: str, kind: PairType = "direct") -> CvqaRow:
    return CvqaRow(1, "a.jpg", Question(question=original, answer=answer), Question(question=changed, answer=key), kind)


DOGS = "How many dogs are there?"


@pytest.mark.parametrize(
    ("original", "answer", "changed", "wanted"),
    [
        (DOGS, "2", "How many dogs would there be if 3 more dogs were added?", 5),
        (DOGS, "2", "How many dogs would there be if another dog was added?", 3),
        (DOGS, "2", "How many dogs would there be if a dog joined?", 3),
        (DOGS, "5", "How many dogs would there be if two dogs were removed?", 3),
        (DOGS, "5", "How many dogs would there be if there were 2 fewer dogs?", 3),
        (DOGS, "4", "How many dogs would there be if the number of dogs doubled?", 8),
        (DOGS, "4", "How many dogs would there be if the number of dogs was halved?", 2),
        ("How many people?", "1", "How many people would there be if 9 people came?", 10),
        # what hangs on the image, or says more, is left alone
        (DOGS, "2", "How many dogs would there be if 3 cats were added?", None),
        (DOGS, "2", "How many dogs would there be if the brown dogs were removed?", None),
        (DOGS, "2", "How many dogs would there be if 3 dogs were added and 2 dogs left?", None),
        (DOGS, "2", "How many dogs would there be if 3 dogs were removed?", None),
        (DOGS, "5", "How many dogs would there be if the number of dogs was halved?", None),
        ("How many legs do the dogs have?", "8", "How many legs would there be if 1 more dog was added?", None),
    ],
)
def test_a_key_follows_from_the_original_answer_where_the_change_is_said_in_full(
    original: str, answer: str, changed: str, wanted: int | None
) -> None:
    found = derived_key(row(original, answer, changed, "0"))
    assert (found[0] if found else None) == wanted


def test_only_the_group_direct_is_judged() -> None:
    changed = "How many towels would be hanging if 2 towels were put on the table?"
    assert derived_key(row("How many towels are hanging?", "3", changed, "1", "indirect")) is None


def test_a_wrong_key_is_named_and_a_right_one_is_not() -> None:
    changed = "How many dogs would there be if 5 dogs were added?"
    right, wrong = row(DOGS, "0", changed, "5"), row(DOGS, "0", changed, "0")
    [found] = doubtful_keys([right, wrong])
    assert (found.row, found.key, found.sum) == (wrong, 5, "0 + 5")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "q.csv"
    lines = ["img_path,query,answer,new query,new answer,type"]
    lines += [f"a.jpg,{DOGS},0,How many dogs would there be if 5 dogs were added?,{key},direct" for key in (5, 0)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_statistics_of_a_file_name_doubtful_keys_and_change_nothing(cfeval: Run, file: Path) -> None:
    before = file.read_bytes()
    status, out, err = cfeval("cvqa", "statistics", file)
    assert status == 0
    assert "line 3: the key of 'How many dogs would there be if 5 dogs were added?' is 0, but 0 + 5 = 5" in err
    assert "2 keys worked out from the original answer, 1 of them doubtful" in err
    assert "doubtful" not in out
    assert file.read_bytes() == before


def test_doctor_names_doubtful_keys_too(file: Path) -> None:
    spec = {"plugin": "csv", "questions": str(file), "images": str(file.parent)}
    found = [finding.text for finding in registry.diagnose("question_sets", spec)]
    assert any("1 of them doubtful" in text for text in found)
