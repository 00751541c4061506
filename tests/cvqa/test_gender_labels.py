"""Labels of people in COCO images, as a user's file has them; the fixture is made up."""

from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.cvqa.cli import read_gender_labels, read_genders

ROWS = """,id,bb_skin,bb_gender
0,42,Light,Female
1,42,Dark,female
2,7,Light,Male
3,9,Light,Male
4,9,Light,Female
5,11,Dark,Unsure
6,12,Dark,Male
7,12,Dark,Unsure
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "images.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_only_images_of_people_of_one_kind_are_kept(tmp_path: Path) -> None:
    labels = read_gender_labels(written(tmp_path, ROWS))
    assert labels.of == {42: "female", 7: "male"}
    assert (labels.mixed, labels.bad) == (3, [])


def test_bad_rows_are_told_with_their_lines_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, ROWS + "8,x7,Dark,Male\n9,7,Dark,mail\n10,42,,\n")
    assert read_genders(path) == {}  # of one person each in 7 and 42 nothing is known
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"{path}, line 10: id 'x7' is no number of a COCO image",
        f"{path}, line 11: bb_gender 'mail' is none of Female, Male, Unsure, Both",
    ]


def test_many_bad_rows_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, ROWS + "8,x7,Dark,Male\n" * 9)
    assert read_genders(path) == {42: "female", 7: "male"}
    assert capsys.readouterr().err.splitlines()[5:] == [f"{path}: 4 more rows cannot be used"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,gender\n1,Male\n", "column 'bb_gender' is missing; needed are id, bb_gender"),
        ("id,bb_gender\n", "no label in it"),
        ("id,bb_gender\nx,Male\n", "no label in it"),
    ],
)
def test_a_file_without_labels_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_genders(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        read_genders(tmp_path / "none.csv")
