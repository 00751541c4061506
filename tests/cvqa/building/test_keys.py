"""Keys of imported questions are worked out where the question says its change in full, and only there."""

from pathlib import Path

import pytest

from cfeval.core import registry
from cfeval.cvqa.csv_format import CvqaRow, derived_key, doubtful_keys
from cfeval.cvqa.records import PairType, Question
from tests.conftest import Run


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
