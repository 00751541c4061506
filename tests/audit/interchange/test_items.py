"""The items as others load them: by Hugging Face `datasets`. Croissant's own checker: `tests/formats`."""

import json
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval_audit.interchange.items import ITEM_FIELDS, PAIR_FIELDS, write
from cfeval_audit.interchange.study import Finished
from tests.audit.interchange.study import PAIRS
from tests.edct.verification.study import IMAGES, ITEMS


@pytest.fixture
def folder(done: Finished, tmp_path: Path) -> Path:
    """The folder of a study's items and pairs."""
    write(done, tmp_path, "Seven items", "CC-BY-4.0")
    return tmp_path


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (file / "metadata.jsonl").read_text().splitlines()]


def test_rows_and_images_are_those_of_the_items_and_each_image_is_there_once(folder: Path) -> None:
    told = rows(folder / "items-d")
    assert [row["id"] for row in told] == list(ITEMS)
    for row in told:
        assert list(row) == list(ITEM_FIELDS)
        assert (folder / "items-d" / row["file_name"]).read_bytes() == IMAGES[row["id"]].png
    assert len(list((folder / "items-d").glob("*.png"))) == len(set(IMAGES.values())) == len(ITEMS) - 1
    assert told[0]["cluster"] == told[-1]["cluster"] != told[1]["cluster"]


def test_a_pair_is_one_row_with_both_images(folder: Path) -> None:
    told = rows(folder / "pairs-d")
    assert [row["id"] for row in told] == [pair.id for pair in PAIRS]
    for row, pair in zip(told, PAIRS, strict=True):
        assert list(row) == list(PAIR_FIELDS)
        images = [(folder / "pairs-d" / row[f"{side}_file_name"]).read_bytes() for side in ("before", "after")]
        assert images == [image.png for image in pair.images]
        assert (row["reference_before"], row["reference_after"], row["changed_before"]) == ("cup", "none", "a cup")
    assert len(list((folder / "pairs-d").glob("*.png"))) == 4, "the first image encoded again is no part of the set"


def test_the_description_names_what_is_there(folder: Path) -> None:
    described = json.loads((folder / "croissant.json").read_text())
    assert described["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    for node in described["distribution"]:
        assert list(folder.glob(node.get("contentUrl") or node["includes"]))
    assert "| `items-d` | 7 |" in (folder / "README.md").read_text()


def test_an_image_that_is_another_is_refused(done: Finished, tmp_path: Path) -> None:
    image = next((done.results / "items" / "d").glob("*.png"))
    content = image.read_bytes()
    try:
        image.write_bytes(content + b" ")
        with pytest.raises(InputError, match="not the image its record names"):
            write(done, tmp_path, "x", "CC0-1.0")
    finally:
        image.write_bytes(content)
    assert not (tmp_path / "README.md").exists()


@pytest.mark.slow
def test_hugging_face_datasets_loads_items_and_pairs(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    cache = str(tmp_path_factory.mktemp("cache"))
    items = datasets.load_dataset(str(folder), "items-d", cache_dir=cache)["test"]
    assert items["id"] == list(ITEMS)
    assert [image.size for image in items["image"]] == [IMAGES[item].pixels.shape[1::-1] for item in ITEMS]
    pairs = datasets.load_dataset(str(folder), "pairs-d", cache_dir=cache)["test"]
    assert (pairs[0]["before"].size, pairs[0]["changed_before"]) == (PAIRS[0].images[0].pixels.shape[1::-1], "a cup")
