"""Given pairs: each reader on a tiny table of our own with the columns that the set publishes."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pyarrow as arrow
import pytest
from pyarrow import parquet

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.datasets.pair import RawPair
from cfeval.datasets.pairs.benchmarks import changed_words

RED, BLUE = (255, 0, 0), (0, 0, 255)


def png(color: tuple[int, int, int], size: tuple[int, int] = (8, 6)) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, color).save(buffer, format="PNG")
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
    return [image.pixels[0, 0].tolist() for image in pair.images]


def vismin_row(name: str, **more: Any) -> dict[str, Any]:
    row = {f"{kind}_question_{number}": "unused" for kind in ("text", "image") for number in (0, 1)}
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
    (tmp_path / "images/1_0_img_0.jpg").write_bytes(png(RED))
    (tmp_path / "images/1_0_img_1.jpg").write_bytes(png(BLUE))
    row = {
        "id": "1",
        "image_0": "1_0_img_0.jpg",
        "image_1": "1_0_img_1",
        "caption_0": "a cat on a mat",
        "caption_1": "a dog on a mat",
    }
    (tmp_path / "examples.jsonl").write_text(json.dumps(row) + "\n")
    table = tmp_path / "examples.jsonl"
    pair = taken("coco_counterfactuals", path=table)["1"]
    assert taken("coco_counterfactuals", path=table, images=tmp_path / "images")["1"] == pair
    assert (pair.before, pair.after, pair.kind) == ("cat", "dog", "object")
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


def test_visual_counterfact_asks_which_of_the_two_answers_is_larger_and_leaves_out_a_change_that_is_none(
    tmp_path: Path,
) -> None:
    images = {"original_image": cell(RED), "counterfact_image": cell(BLUE)}
    row = images | {"correct_answer": "whale", "incorrect_answer": "Mouse", "object": "whale"}
    path = write_parquet(tmp_path / "size.parquet", [row])
    [pair] = taken("visual_counterfact", path=path, split="size").values()
    assert pair.question.startswith("Which is larger in this image, Mouse or whale?")
    assert (pair.before, pair.after, pair.references) == (
        "the whale is larger",
        "the Mouse is larger",
        ("whale", "Mouse"),
    )
    same = images | {"correct_answer": "['red', 'white']", "incorrect_answer": "White", "object": "radish"}
    kept = images | {"correct_answer": "['red']", "incorrect_answer": "blue", "object": "apple"}
    path = write_parquet(tmp_path / "color.parquet", [same, kept])
    assert [pair.before for pair in taken("visual_counterfact", path=path, split="color").values()] == ["red apple"]


def biased_row(name: str, truth: str, pixel: int, color: tuple[int, int, int], image: str) -> dict[str, Any]:
    row = {"image": cell(color), "ID": name, "image_path": image, "topic": "Animals", "sub_topic": "mammals"}
    row |= {"prompt": "How many legs?", "ground_truth": truth, "expected_bias": "4", "with_title": False}
    return row | {"type_of_question": "Q1", "pixel": pixel, "metadata": "{}"}


def test_vlms_are_biased_pairs_a_changed_image_with_the_original_of_its_name_and_nearest_size(tmp_path: Path) -> None:
    originals = [("o1", 384, 1, "dog.png"), ("o2", 1152, 2, "dog_px1152.png"), ("o3", 1152, 5, "elephant.png")]
    rows = [biased_row(name, "4", size, (red, 0, 0), f"images/{image}") for name, size, red, image in originals]
    write_parquet(tmp_path / "original-00000-of-00001.parquet", rows)
    changed = [("m1", "5", 1152, 3, "dog_4_5_1152.png"), ("m2", "5", 384, 4, "cat_4_5_384.png")]
    changed += [("m3", "3", 768, 6, "dog_legs_768.png")]
    changed += [("m4", "4", 768, 6, "dog_tail_768.png")]  # changed, as its split says, but nothing says in what
    rows = [biased_row(name, truth, size, (red, 0, 0), f"animals/{image}") for name, truth, size, red, image in changed]
    write_parquet(tmp_path / "main-00000-of-00001.parquet", [row | {"sub_topic": None} for row in rows])
    pairs = taken("vlms_are_biased", path=tmp_path)
    assert sorted(pairs) == ["m1", "m3"]
    pair = pairs["m1"]
    assert colors(pair) == [[2, 0, 0], [3, 0, 0]]
    assert (pair.before, pair.after, pair.biased, pair.references) == ("Animals: 4", "Animals: 5", "4", ("4", "5"))


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


def test_pairs_of_which_nothing_says_what_was_changed_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hallusion_bench/VD/illusion"
    folder.mkdir(parents=True)
    for figure in range(3):
        (folder / f"0_{figure}.png").write_bytes(png(RED))
    rows = [hallusion_row("0", "0", "A is as big as B."), hallusion_row("1", "0", "a is as big as B")]
    rows += [hallusion_row("2", "1", "A is bigger than B.")]
    table = tmp_path / "HallusionBench.json"
    table.write_text(json.dumps(rows))
    assert list(taken("hallusionbench", path=table)) == ["VD-illusion-0-0-2"]
    assert "HallusionBench.json: left out 1 of 2 pairs: nothing says what was changed" in capsys.readouterr().err
    same = vismin_row("same", text_1="Two men hold a dog.")
    write_arrow(tmp_path / "d.arrow", [same, vismin_row("b")])
    assert list(taken("vismin", path=tmp_path / "d.arrow")) == ["b"]
    assert "left out 1 of 2 pairs" in capsys.readouterr().err


def test_hallusionbench_without_a_figure_0_takes_the_first_that_has_an_image(tmp_path: Path) -> None:
    folder = tmp_path / "hallusion_bench/VS/chart"
    folder.mkdir(parents=True)
    of_chart = {"category": "VS", "subcategory": "chart"}
    rows = [hallusion_row("0", "0", "B leads.") | of_chart | {"visual_input": "0", "filename": None}]
    for figure, answer in (("10", "1"), ("2", "1"), ("1", "0")):
        (folder / f"0_{figure}.png").write_bytes(png((int(figure), 0, 0)))
        file = {"filename": f"./VS/chart/0_{figure}.png", "visual_input": "1" if figure == "1" else "2"}
        rows.append(hallusion_row(figure, answer, "A leads." if answer == "1" else "B leads.") | of_chart | file)
    (tmp_path / "HallusionBench.json").write_text(json.dumps(rows))
    pairs = taken("hallusionbench", path=tmp_path / "HallusionBench.json")
    assert {name: colors(pair)[0][0] for name, pair in pairs.items()} == {"VS-chart-0-0-2": 1, "VS-chart-0-0-10": 1}


def test_magicbrush_measures_what_changed_outside_the_mask(tmp_path: Path) -> None:
    white = np.zeros((6, 8, 3), np.uint8)
    white[:, :4] = 255
    buffer = io.BytesIO()
    PIL.Image.fromarray(white).save(buffer, format="PNG")
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
        ({"before": "../secret.png"}, "leads out of"),
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


@pytest.mark.parametrize(("name", "write"), [("d.parquet", write_parquet), ("d.arrow", write_arrow)])
def test_a_set_larger_than_memory_is_read_image_by_image(tmp_path: Path, name: str, write: Any) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 100, 100, 3), np.uint8)
    made = [io.BytesIO() for _ in noise]
    for pixels, buffer in zip(noise, made, strict=True):
        PIL.Image.fromarray(pixels).save(buffer, format="PNG")
    cells = [{"bytes": buffer.getvalue(), "path": None} for buffer in made]
    rows = [vismin_row(f"p{n}", image_0=cells[n], image_1=cells[n]) for n in range(len(cells))]
    size = 2 * sum(len(one["bytes"]) for one in cells)
    path = write(tmp_path / name, rows)
    options = {"plugin": "vismin", "path": str(path)}
    tracemalloc.start()
    pairs = registry.build("pair_sets", options).pairs(len(rows), 7)
    seen = {pair.id: pair.images[1].pixels.tobytes() for pair in pairs if pair.id in ("p0", "p39")}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == {name: noise[int(name[1:])].tobytes() for name in ("p0", "p39")}
    assert peak < size / 2


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
        ("a man on the left", "a man on the right", ("left", "right")),
        ("A cat on a mat.", "A dog on a mat.", ("cat", "dog")),
        ("Two men hold a dog.", "Three men hold a dog.", ("Two men", "Three men")),
        ("a cat sitting on a mat", "a dog sitting on a mat", ("cat", "dog")),
        ("a red building by a lake", "a blue building by a lake", ("red building", "blue building")),
        ("a cup under the table", "a cup on the table", ("under", "on")),
        ("a man on a horse", "a tall man on a horse", ("man", "tall man")),
        ("two dogs and a ball.", "two dogs.", ("dogs and a ball", "dogs")),
        ("the same", "the same", ("the same", "the same")),
        ("a cup", "a cup and a plate", ("cup", "cup and a plate")),
    ],
)
def test_captions_differ_in_these_words(first: str, second: str, expected: tuple[str, str]) -> None:
    assert changed_words(first, second) == expected
