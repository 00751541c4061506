"""Question sets: C-VQA's CSV with its images, and synthetic puzzles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError
from cfeval.cvqa.interfaces import RawPair
from cfeval.cvqa.records import read_choices
from cfeval.cvqa.synthetic.records import PUZZLE_TYPES
from tests.cvqa.files import write_images, write_questions


def csv_spec(folder: Path, rows: int = 12, **options: Any) -> dict[str, Any]:
    """The specification of the CSV plugin with files for it."""
    questions = write_questions(folder, rows, options.pop("spoilt", ()))
    images = write_images(folder / "images" / options.pop("inside", ""), rows, options.pop("missing", ()))
    images = images.parent if images.name == "val2014" else images
    return {"plugin": "csv", "questions": str(questions), "images": str(images), **options}


def pairs_of(spec: dict[str, Any], items: int | None = None, seed: int = 0) -> tuple[list[RawPair], tuple[str, ...]]:
    made = registry.build("question_sets", spec)
    found = list(made.pairs(items, seed))
    return found, made.skipped


@pytest.mark.parametrize("inside", ["", "val2014"])
def test_rows_come_in_the_order_of_the_file_with_ids_by_row_and_coco_numbers(tmp_path: Path, inside: str) -> None:
    pairs, skipped = pairs_of(csv_spec(tmp_path, inside=inside))
    assert not skipped
    assert [pair.id for pair in pairs[:3]] == [
        "COCO_val2014_000000000001-00001",
        "COCO_val2014_000000000001-00002",
        "COCO_val2014_000000000002-00003",
    ]
    assert [pair.coco for pair in pairs[:3]] == [1, 1, 2]
    assert pairs[1].original.question == "What of 2?"
    assert pairs[1].counterfactual.question == "What of 2 if?"
    assert (pairs[1].type, pairs[1].original.answer, pairs[1].counterfactual.answer) == ("boolean", "yes", "no")
    assert pairs[1].image.pixels.shape == (6, 8, 3)


def test_a_missing_image_and_a_malformed_row_are_left_out_with_a_line_each(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, missing=(3,), spoilt=(6,))
    pairs, skipped = pairs_of(spec)
    assert [int(pair.id[-5:]) for pair in pairs] == [1, 2, 5, 7, 8, 9, 10, 11, 12]
    assert len(skipped) == 3
    assert skipped[0].endswith("line 7: 'answer' of type direct must be decimal digits, but got 'two'")
    assert "line 5: no image COCO_val2014_000000000002.jpg" in " ".join(skipped)


def test_an_image_that_cannot_be_read_is_left_out_too(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, rows=6)
    (Path(spec["images"]) / "COCO_val2014_000000000002.jpg").write_bytes(b"no image")
    pairs, skipped = pairs_of(spec)
    assert len(pairs) == 4
    assert all("not an image" in line for line in skipped)
    assert len(skipped) == 2


def test_without_any_image_there_is_one_line_that_names_the_option(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path) | {"images": str(tmp_path / "elsewhere")}
    with pytest.raises(InputError, match=r"none of the 12 images is there, such as COCO_.*; set the option 'images'"):
        pairs_of(spec)


def test_fewer_items_are_a_draw_that_wanting_more_only_adds_to(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, rows=40)
    few, more = ({pair.id for pair in pairs_of(spec, items)[0]} for items in (8, 20))
    assert (len(few), len(more)) == (8, 20)
    assert few < more
    numbers = [int(pair.id[-5:]) for pair in pairs_of(spec, 8)[0]]
    assert numbers == sorted(numbers) != list(range(1, 9))
    assert {pair.id for pair in pairs_of(spec, 8, seed=1)[0]} != few


def test_missing_images_do_not_shrink_the_items_that_are_wanted(tmp_path: Path) -> None:
    pairs, _ = pairs_of(csv_spec(tmp_path, rows=40, missing=range(1, 21)), items=10)
    assert len(pairs) == 10


def test_a_share_is_drawn_by_seed(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, rows=40, share=0.1)
    assert len(pairs_of(spec)[0]) == 4
    assert [pair.id for pair in pairs_of(spec)[0]] == [pair.id for pair in pairs_of(spec)[0]]
    assert [pair.id for pair in pairs_of(spec)[0]] != [pair.id for pair in pairs_of(spec, seed=5)[0]]


@pytest.mark.parametrize("share", [0, 1.5])
def test_a_share_beyond_nothing_and_all_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(ParamsError, match="option 'share' of 'csv'"):
        pairs_of(csv_spec(tmp_path, share=share))


def test_only_the_wanted_types_are_taken(tmp_path: Path) -> None:
    pairs, _ = pairs_of(csv_spec(tmp_path, types=["boolean"]))
    assert {pair.type for pair in pairs} == {"boolean"}
    assert len(pairs) == 4
    with pytest.raises(InputError, match="no row of type abs_counting_1 that can be used"):
        pairs_of(csv_spec(tmp_path, types=["abs_counting_1"]))


def test_names_that_are_no_coco_images_are_taken_with_safe_ids(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, rows=2)
    path = Path(spec["questions"])
    path.write_text(path.read_text().replace("COCO_val2014_000000000001.jpg", "my photo (é).jpg"))
    images = Path(spec["images"])
    (images / "COCO_val2014_000000000001.jpg").rename(images / "my photo (é).jpg")
    pairs, _ = pairs_of(spec)
    assert [pair.id for pair in pairs] == ["my-photo-é-00001", "my-photo-é-00002"]
    assert {pair.coco for pair in pairs} == {None}


def test_doctor_tells_what_rows_and_images_there_are(tmp_path: Path) -> None:
    spec = csv_spec(tmp_path, missing=(3,), spoilt=(6,))
    findings = list(registry.diagnose("question_sets", spec))
    assert [finding.fine for finding in findings] == [False, False]
    assert "11 rows, and 1 cannot be used" in findings[0].text
    assert "images for 9 of 11 rows" in findings[1].text


def test_puzzles_take_turns_and_the_first_stay_the_same_when_more_are_wanted() -> None:
    spec = {"plugin": "synthetic"}
    few, more = pairs_of(spec, 3, seed=4)[0], pairs_of(spec, 8, seed=4)[0]
    assert few == more[:3]
    assert [pair.type for pair in more] == [*PUZZLE_TYPES, *PUZZLE_TYPES[:2]]
    assert more[0].id == "abs_counting_000001"
    assert more[0].img_path == "abs_counting_000001.png"
    assert pairs_of(spec, 1, seed=5)[0][0].image != few[0].image


def test_the_counts_of_a_puzzle_give_its_answer() -> None:
    spec = {"plugin": "synthetic", "types": ["abs_counting_4"], "items": 3}
    pairs, skipped = pairs_of(spec)
    assert (len(pairs), skipped) == (3, ())
    for pair in pairs:
        choices = read_choices(pair.original.question)
        assert choices
        assert sum(pair.counts.values()) == int(choices.values["ABCD".index(pair.original.answer)])


def test_puzzles_have_the_wanted_size_and_flowers(tmp_path: Path) -> None:
    images = write_images(tmp_path / "icons", 2)
    spec = {"plugin": "synthetic", "types": ["abs_counting_1"], "size": 240, "icons": str(images)}
    (pair,), _ = pairs_of(spec, 1)
    assert pair.image.pixels.shape == (240, 240, 3)
    assert (np.abs(pair.image.pixels.astype(int) - (40, 0, 0)).max(axis=2) < 12).sum() > 200, "the icons are drawn"
    assert registry.dependencies("question_sets", spec) == (f"{images}/",), "one that is added counts"
    (finding,) = registry.diagnose("question_sets", spec)
    assert finding.fine
    assert "1 flowers" in finding.text
    (finding,) = registry.diagnose("question_sets", spec | {"icons": str(tmp_path / "no")})
    assert not finding.fine
    assert "no such folder" in finding.text


def test_a_size_that_is_too_small_is_refused() -> None:
    with pytest.raises(ParamsError, match="option 'size' of 'synthetic'"):
        pairs_of({"plugin": "synthetic", "size": 64}, 1)
