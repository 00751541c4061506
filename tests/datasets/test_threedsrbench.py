"""3DSRBench: each question once and as it was written, its options without letters, images inside or beside."""

from pathlib import Path
from typing import Any

import PIL.Image
import psutil
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.datasets.answer_scoring import answer_matches
from cfeval.datasets.sample import RawSample
from tests.data_files import spatial_rows, write_threedsrbench


def taken(options: dict[str, Any], items: int = 100) -> dict[str, RawSample]:
    dataset = registry.build("datasets", {"plugin": "threedsrbench", **options})
    return {sample.id: sample for sample in dataset.samples(items, 5)}


def test_every_question_is_taken_once_without_its_mirrored_and_rotated_variants(tmp_path: Path) -> None:
    samples = taken(write_threedsrbench(tmp_path))
    assert sorted(samples) == [f"Q{number:07d}" for number in range(6)]
    third = samples["Q0000003"]
    assert third.question == "Which is higher in 3? Answer with one of these: the hat; the red ball."
    assert (third.reference, third.kind, third.scorer) == ("the red ball", "location_above", "contains")
    assert third.image.pixels[0, 0].tolist() == [3, 0, 0]
    assert third.image.pixels.shape == (6, 8, 3)


def test_the_right_answer_is_found_in_an_answer_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    reference = taken(write_threedsrbench(tmp_path))["Q0000000"].reference
    assert answer_matches("It is the red ball.", reference)
    assert not answer_matches("A hat is higher; it is the hat.", reference)


def test_four_options_are_all_named(tmp_path: Path) -> None:
    rows = [row | {"A": "left", "B": "right", "C": "front", "D": "back", "answer": "D"} for row in spatial_rows(1)]
    [only] = taken(write_threedsrbench(tmp_path, rows)).values()
    assert only.question.endswith("Answer with one of these: left; right; front; back.")
    assert only.reference == "back"


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_a_table_with_addresses_takes_the_images_from_a_folder(tmp_path: Path, suffix: str) -> None:
    rows = [{key: value for key, value in row.items() if key not in ("image", "qid")} for row in spatial_rows()[1::4]]
    rows = [row | {"index": f"Q{number}"} for number, row in enumerate(rows)]
    options = write_threedsrbench(tmp_path, rows)
    path = Path(options["path"])
    if suffix == ".csv":
        path.write_text(path.read_text().replace("\t", ","))
    path = path.rename(path.with_suffix(suffix))
    (tmp_path / "coco").mkdir()
    for number in range(6):
        PIL.Image.new("RGB", (5, 4), (0, number, 0)).save(tmp_path / "coco" / f"{number:012d}.png")
    samples = taken({"path": str(path), "images": str(tmp_path / "coco")})
    assert [samples[f"Q{n}"].image.pixels[0, 0].tolist() for n in range(6)] == [[0, n, 0] for n in range(6)]
    with pytest.raises(InputError, match=r"Q\d: no image in the table; set the option 'images'"):
        taken({"path": str(path)})


def test_a_cell_may_hold_a_large_image(tmp_path: Path) -> None:
    [row] = spatial_rows(1)[1:2]
    options = write_threedsrbench(tmp_path, [row | {"question": "x" * 200_000}])
    assert len(taken(options)) == 1


BASE = spatial_rows(1)[1]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([BASE, BASE], "line 3: question Q0000000 stands there twice"),
        ([BASE | {"answer": "C"}], "line 2: the answer must be one of two to four options .A, B., but got 'C'"),
        ([BASE | {"answer": ""}], "options .A, B., but got ''"),
        ([BASE | {"B": ""}], "options .A., but got 'B'"),
        ([BASE | {"image": "!"}], "Q0000000: the image is not base64"),
        ([BASE | {"image": "aGVsbG8="}], "Q0000000: not an image"),
        ([{key: BASE[key] for key in BASE if key != "category"}], "no column 'category'; give 3dsrbench_v1_"),
        ([{key: BASE[key] for key in BASE if key != "qid"}], "no column 'index'"),
    ],
)
def test_a_table_with_a_fault_is_one_line(tmp_path: Path, rows: list[dict[str, str]], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        taken(write_threedsrbench(tmp_path, rows))
    assert "\n" not in str(error.value)
    assert not [file for file in psutil.Process().open_files() if Path(file.path).is_relative_to(tmp_path)]


def test_a_row_that_is_cut_off_is_one_line(tmp_path: Path) -> None:
    options = write_threedsrbench(tmp_path, [BASE])
    with Path(options["path"]).open("a") as stream:
        stream.write("Q9\tWhich")
    with pytest.raises(InputError, match="line 3: 2 columns, and the header has 10"):
        taken(options)


def test_a_missing_image_is_one_line_with_the_option_to_set(tmp_path: Path) -> None:
    options = write_threedsrbench(tmp_path) | {"images": str(tmp_path)}
    with pytest.raises(InputError, match=r"\.png: no such image; set the option 'images'"):
        taken(options)


@pytest.mark.parametrize(("images", "fine"), [(None, None), (".", True), ("none", False)])
def test_the_doctor_sees_whether_the_folder_of_images_is_there(
    tmp_path: Path, images: str | None, fine: bool | None
) -> None:
    options = write_threedsrbench(tmp_path) | ({"images": str(tmp_path / images)} if images else {})
    found = [finding.fine for finding in registry.diagnose("datasets", {"plugin": "threedsrbench", **options})]
    assert found == ([] if fine is None else [fine])
