"""Given pairs: each reader on a tiny table of our own with the columns that the set publishes."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pytest
from PIL import Image
from pyarrow import parquet

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.datasets.pair import RawPair
from cfeval.datasets.pairs.rows import changed_words

RED, BLUE = (255, 0, 0), (0, 0, 255)


def png(color: tuple[int, int, int], size: tuple[int, int] = (8, 6)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, format="PNG")
    return buffer.getvalue()


def cell(color: tuple[int, int, int]) -> dict[str, Any]:
    """An image as the package datasets keeps it in Parquet and Arrow."""
    return {"bytes": png(color), "path": None}


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    return path


def write_arrow(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The stream format of `save_to_disk`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = arrow.Table.from_pylist(rows)
    with path.open("wb") as sink, arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return path


def taken(plugin: str, items: int = 100, **options: Any) -> dict[str, RawPair]:
    made = registry.build("pair_sets", {"plugin": plugin, **{name: str(value) for name, value in options.items()}})
    return {pair.id: pair for pair in made.pairs(items, 7)}


def colors(pair: RawPair) -> list[list[int]]:
    return [picture.pixels[0, 0].tolist() for picture in pair.pictures]


def vismin_row(name: str, **more: Any) -> dict[str, Any]:
    row = {f"question_{number}": "unused" for number in range(1, 5)}
    row |= {"image_0": cell(RED), "text_0": "Two men hold a dog.", "image_1": cell(BLUE)}
    return row | {"text_1": "Three men hold a dog.", "id": name, **more}


def test_vismin_asks_whether_the_first_caption_fits_and_names_the_words_that_differ(tmp_path: Path) -> None:
    write_arrow(tmp_path / "data/test/data-00000.arrow", [vismin_row("a 1", category="counting"), vismin_row("b")])
    pairs = taken("vismin", path=tmp_path / "data/test")
    assert sorted(pairs) == ["a-1", "b"]
    pair = pairs["a-1"]
    assert (pair.before, pair.after, pair.kind, pairs["b"].kind) == ("Two men", "Three men", "count", "")
    assert pair.references == ("yes", "no")
    assert "Two men hold a dog." in pair.question
    assert colors(pair) == [list(RED), list(BLUE)]


def test_a_broken_download_is_told_by_file_and_row(tmp_path: Path) -> None:
    row = {name: value for name, value in vismin_row("a").items() if name != "text_1"}
    write_arrow(tmp_path / "d.arrow", [row])
    with pytest.raises(InputError, match=r"d\.arrow, row 1: no column 'text_1'"):
        taken("vismin", path=tmp_path / "d.arrow")
    (tmp_path / "e.parquet").write_bytes(b"<html>Not found</html>")
    with pytest.raises(InputError, match="not a table of this kind"):
        taken("vismin", path=tmp_path / "e.parquet")
    write_arrow(tmp_path / "f.arrow", [vismin_row("a"), vismin_row("a")])
    with pytest.raises(InputError, match="'a' stands there twice"):
        taken("vismin", path=tmp_path / "f.arrow")


def test_coco_counterfactuals_finds_images_with_and_without_an_ending(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1_0.jpg").write_bytes(png(RED))
    (tmp_path / "images/1_1.jpg").write_bytes(png(BLUE))
    row = {
        "id": 1,
        "image_0": "1_0.jpg",
        "image_1": "1_1",
        "caption_0": "a cat on a mat",
        "caption_1": "a dog on a mat",
    }
    (tmp_path / "examples.jsonl").write_text(json.dumps(row) + "\n")
    pair = taken("coco_counterfactuals", path=tmp_path / "examples.jsonl", images=tmp_path / "images")["1"]
    assert (pair.before, pair.after, pair.kind) == ("cat on", "dog on", "object")
    assert colors(pair) == [list(RED), list(BLUE)]


def test_visual_counterfact_knows_the_biased_answer(tmp_path: Path) -> None:
    row = {"correct_answer": "red", "incorrect_answer": "blue", "object": "strawberry"}
    row |= {"original_image": cell(RED), "counterfact_image": cell(BLUE)}
    path = write_parquet(tmp_path / "color-00000-of-00001.parquet", [row])
    [pair] = taken("visual_counterfact", path=path, split="color").values()
    assert pair.question == "What color is the strawberry in this image? Answer with one word."
    assert (pair.before, pair.after, pair.biased) == ("red strawberry", "blue strawberry", "red")
    assert pair.references == ("red", "blue")
    listed = [row | {"correct_answer": "['red']"}, row | {"correct_answer": "['red', 'green']", "object": "apple"}]
    pairs = taken("visual_counterfact", path=write_parquet(tmp_path / "color.parquet", listed), split="color")
    found = {pair.before: (pair.references, pair.biased) for pair in pairs.values()}
    assert found == {"red strawberry": (("red", "blue"), "red"), "red or green apple": (("", "blue"), "")}


def biased_row(name: str, truth: str, pixel: int, color: tuple[int, int, int], **more: Any) -> dict[str, Any]:
    row = {"image": cell(color), "ID": name, "image_path": "x.png", "topic": "Animals", "sub_topic": "dog legs"}
    row |= {"prompt": "How many legs?", "ground_truth": truth, "expected_bias": "4", "with_title": False}
    return row | {"type_of_question": "Q1", "pixel": pixel, "metadata": "{}", **more}


def test_vlms_are_biased_pairs_a_changed_image_with_the_original_of_the_nearest_size(tmp_path: Path) -> None:
    write_parquet(
        tmp_path / "original.parquet", [biased_row("o1", "4", 384, (1, 0, 0)), biased_row("o2", "4", 1152, (2, 0, 0))]
    )
    write_parquet(
        tmp_path / "main.parquet",
        [biased_row("m1", "5", 1152, (3, 0, 0)), biased_row("m2", "5", 384, (4, 0, 0), sub_topic="cat legs")],
    )
    pairs = taken("vlms_are_biased", path=tmp_path)
    assert list(pairs) == ["m1"]
    pair = pairs["m1"]
    assert colors(pair) == [[2, 0, 0], [3, 0, 0]]
    assert (pair.before, pair.after, pair.biased, pair.references) == ("dog legs: 4", "dog legs: 5", "4", ("4", "5"))


def hallusion_row(figure: str, answer: str, details: str, question: str = "Is A bigger?") -> dict[str, Any]:
    row = {"category": "VD", "subcategory": "illusion", "visual_input": "1", "set_id": "0", "figure_id": figure}
    row |= {"sample_note": "circle", "question_id": "0", "question": question, "gt_answer_details": details}
    return row | {"gt_answer": answer, "filename": f"./hallusion_bench/VD/illusion/0_{figure}.png"}


def test_hallusionbench_pairs_figures_of_a_set_by_the_same_question(tmp_path: Path) -> None:
    folder = tmp_path / "hallusion_bench/VD/illusion"
    folder.mkdir(parents=True)
    (folder / "0_0.png").write_bytes(png(RED))
    (folder / "0_1.png").write_bytes(png(BLUE))
    rows = [hallusion_row("0", "0", "A is as big as B."), hallusion_row("1", "1", "A is bigger than B.")]
    rows += [hallusion_row("1", "1", "Nothing.", "Is C red?"), hallusion_row("0", "1", "x") | {"visual_input": "0"}]
    (tmp_path / "HallusionBench.json").write_text(json.dumps(rows))
    [(name, pair)] = taken("hallusionbench", path=tmp_path / "HallusionBench.json").items()
    assert name == "VD-illusion-0-0-1"
    assert pair.references == ("no", "yes")
    assert (pair.before, pair.after) == ("as big as B", "bigger than B")


def test_magicbrush_measures_what_changed_outside_the_mask(tmp_path: Path) -> None:
    white = np.zeros((6, 8, 3), np.uint8)
    white[:, :4] = 255
    buffer = io.BytesIO()
    Image.fromarray(white).save(buffer, format="PNG")
    row = {
        "img_id": "242679",
        "turn_index": 1,
        "source_img": cell(RED),
        "mask_img": {"bytes": buffer.getvalue(), "path": None},
    }
    row |= {"instruction": "turn the wall blue", "target_img": cell(BLUE)}
    path = write_parquet(tmp_path / "dev.parquet", [row])
    [pair] = taken("magicbrush", path=path, question="What color is the wall?").values()
    assert pair.region is not None
    assert (pair.id, pair.after, pair.region.tolist()) == (
        "242679-1",
        "turn the wall blue",
        (white[..., 0] > 0).tolist(),
    )
    with pytest.raises(InputError, match="no question about image 242679-1"):
        taken("magicbrush", path=path)
    (tmp_path / "q.csv").write_text("img_id,turn_index,question\n242679,1,Which wall?\n")
    assert taken("magicbrush", path=path, questions=tmp_path / "q.csv")["242679-1"].question == "Which wall?"


def test_naturalbench_gives_natural_pairs_two_a_row(tmp_path: Path) -> None:
    row = {"Index": 3, "Image_0": cell(RED), "Image_1": cell(BLUE), "Source": "Flickr30K", "Question_Type": "yes_no"}
    row |= {"Question_0": "Is it day?", "Image_0_Question_0": "Yes", "Image_1_Question_0": "No"}
    row |= {"Question_1": "Is it night?", "Image_0_Question_1": "No", "Image_1_Question_1": "Yes"}
    pairs = taken("naturalbench", path=write_parquet(tmp_path / "train-0.parquet", [row]))
    assert sorted(pairs) == ["3-q0", "3-q1"]
    assert all(pair.natural for pair in pairs.values())
    assert pairs["3-q1"].references == ("no", "yes")


def own(folder: Path) -> dict[str, str]:
    (folder / "a.png").write_bytes(png(RED))
    (folder / "b.png").write_bytes(png(BLUE))
    return {
        "before": "a.png",
        "after": "b.png",
        "question": "Which color?",
        "changed": "red wall",
        "became": "blue wall",
    }


def test_own_pairs_are_read_from_csv_jsonl_and_a_folder_alike(tmp_path: Path) -> None:
    row = own(tmp_path) | {"id": "w", "reference_before": "red", "reference_after": "blue", "kind": "attribute"}
    (tmp_path / "p.csv").write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    folder = tmp_path / "pairs"
    folder.mkdir()
    (folder / "w.before.png").write_bytes(png(RED))
    (folder / "w.after.png").write_bytes(png(BLUE))
    (folder / "w.json").write_text(json.dumps({k: v for k, v in row.items() if k not in ("id", "before", "after")}))
    found = [taken("files", path=tmp_path / name)["w"] for name in ("p.csv", "p.jsonl", "pairs")]
    assert found[0] == found[1] == found[2]
    assert (found[0].before, found[0].after, found[0].references) == ("red wall", "blue wall", ("red", "blue"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"before": "../secret.png"}, "leads out of the set's folder"),
        ({"before": "none.png"}, "no image 'none.png'"),
        ({"kind": "shape"}, "kind must be one of object, attribute"),
        ({"colour": "red"}, "unknown column 'colour'"),
        ({"question": " "}, "question must be a text"),
    ],
)
def test_a_wrong_own_pair_is_told(tmp_path: Path, change: dict[str, str], said: str) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps(own(tmp_path) | change) + "\n")
    with pytest.raises(InputError, match=said):
        taken("files", path=tmp_path / "p.jsonl")


def test_a_draw_keeps_its_pairs_when_more_are_wanted(tmp_path: Path) -> None:
    row = own(tmp_path)
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row | {"id": f"p{n}"}) + "\n" for n in range(20)))
    few, more = (list(taken("files", items, path=tmp_path / "p.jsonl")) for items in (5, 12))
    assert len(few) == 5
    assert more[:5] == few


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A red car.", "A blue car.", ("red car", "blue car")),
        ("a man on the left", "a man on the right", ("the left", "the right")),
        ("the same", "the same", ("the same", "the same")),
        ("a cup", "a cup and a plate", ("cup", "cup and a plate")),
    ],
)
def test_captions_differ_in_these_words(first: str, second: str, expected: tuple[str, str]) -> None:
    assert changed_words(first, second) == expected
