"""The items of one shard at a time: together they are those that one step files, and no step opens another's images."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import record
from cfeval.core.jsonl import read_jsonl
from cfeval.core.shards import left_out_of, shard_files, shard_of
from cfeval.datasets.sample import Sample
from tests.conftest import Run
from tests.data_files import SETS, spatial_rows
from tests.troubles import TROUBLES, make, photograph

SHARDS = 3
File = Callable[..., list[Path]]


@pytest.fixture
def file(cfeval: Run, tmp_path: Path) -> File:
    """Files a dataset's items by the command, whole or each shard by itself; returns the record files."""

    def filed(spec: dict[str, Any], *options: object, items: int = 5, shards: int = 1) -> list[Path]:
        out = tmp_path / "items" / f"of-{shards}.jsonl"
        for number, path in enumerate(shard_files(out, shards)):
            path.parent.mkdir(parents=True, exist_ok=True)
            cut = ("--shards", shards, *(("--shard", number) if shards > 1 else ()))
            words = ("--items", items, "--seed", 5, *cut, *options, "--out", path)
            status, _, err = cfeval("edct", "items", "--dataset", json.dumps(spec), *words)
            assert status == 0, err
        return shard_files(out, shards)

    return filed


def samples(files: list[Path]) -> list[Sample]:
    return sorted((sample for path in files for sample in read_jsonl(path, Sample)), key=lambda sample: sample.id)


def images(files: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for file in files for path in file.with_suffix("").glob("*.png")}


@pytest.mark.parametrize("name", [*SETS, "world", "easy_vqa"])
def test_shards_filed_one_by_one_hold_what_one_step_files(name: str, file: File, tmp_path: Path) -> None:
    spec = {"plugin": name, **(SETS[name](tmp_path) if name in SETS else {})}
    whole, cut = file(spec), file(spec, shards=SHARDS)
    assert samples(cut) == samples(whole)
    assert images(cut) == images(whole)
    for number, path in enumerate(cut):
        assert all(shard_of(sample.id, SHARDS) == number for sample in read_jsonl(path, Sample))
    order = [sample.id for sample in read_jsonl(whole[0], Sample)]
    assert all([one.id for one in read_jsonl(path, Sample)] == [i for i in order if i in ids(path)] for path in cut)


@pytest.mark.parametrize("name", SETS)
def test_the_shards_together_name_every_image_that_one_step_names(name: str, file: File, tmp_path: Path) -> None:
    """An image that no record named could be changed without a result being outdated."""
    spec = {"plugin": name, **SETS[name](tmp_path)}
    if name == "threedsrbench":  # its table holds the images too; take them from a folder
        spec["images"] = str(tmp_path / "coco")
        (tmp_path / "coco").mkdir()
        for number, row in enumerate(spatial_rows()):
            (tmp_path / "coco" / row["image_url"].rpartition("/")[2]).write_bytes(photograph(number // 4, "PNG"))
    whole = named_images(file(spec, items=1000))
    assert whole
    assert named_images(file(spec, items=1000, shards=SHARDS)) == whole


def named_images(files: list[Path]) -> set[Path]:
    """The images that the records of these files name, each by itself or by its folder."""
    inputs = [Path(name) for path in files for name in record.read(f"{path}{record.ENDING}")[0]["inputs"]]
    each = [file for path in inputs for file in (path.rglob("*") if path.is_dir() else [path])]
    return {file.resolve() for file in each if file.suffix in {".jpg", ".png"}}


def ids(path: Path) -> set[str]:
    return {sample.id for sample in read_jsonl(path, Sample)}


@pytest.mark.parametrize("items", [3, 5, 6, 9])
def test_what_cannot_be_read_makes_room_for_the_same_items_however_they_are_cut(
    items: int, file: File, tmp_path: Path
) -> None:
    photos = make(tmp_path / "photos", 6, TROUBLES)
    spec = {"plugin": "files", "path": str(photos), "question": "What?"}
    whole, cut = file(spec, items=items), file(spec, items=items, shards=SHARDS)
    assert samples(cut) == samples(whole)
    assert len(samples(cut)) == min(items, 6)
    assert set(left_out_of(cut)) == set(left_out_of(whole))
    assert len(left_out_of(cut)) == len(left_out_of(whole))


def test_a_shard_opens_only_its_own_images_and_its_record_names_only_those(file: File, tmp_path: Path) -> None:
    photos = make(tmp_path / "photos", 9, [])
    spec = {"plugin": "files", "path": str(photos), "question": "What?"}
    cut = file(spec, items=9, shards=SHARDS)
    for path in cut:
        [step] = record.read(f"{path}{record.ENDING}")
        named = {Path(name).stem for name in step["inputs"] if name.endswith(".jpg")}
        assert named == {one.replace("IMG-", "IMG_") for one in ids(path)}, "neither the folder nor others' images"
    held = [path for path in cut if ids(path)]
    other = photos / f"{samples(held[1:2])[0].id.replace('IMG-', 'IMG_')}.jpg"
    other.write_bytes(photograph(99))
    records = record.Records()
    outdated = [path for path in held if records.fault(record.read(f"{path}{record.ENDING}")[0])]
    assert outdated == held[1:2]
    (photos / "new.jpg").write_bytes(photograph(98))
    assert all(records.fault(record.read(f"{path}{record.ENDING}")[0]) for path in cut), "it may belong to any shard"


def test_a_shard_without_items_is_an_empty_file_and_a_dataset_without_any_is_refused(
    file: File, cfeval: Run, tmp_path: Path
) -> None:
    photos = make(tmp_path / "photos", 1, [])
    spec = {"plugin": "files", "path": str(photos), "question": "What?"}
    assert sorted(path.stat().st_size > 0 for path in file(spec, shards=SHARDS)) == [False, False, True]
    for name in ("cut.jpg", "CUT.PNG"):
        (tmp_path / "broken").mkdir(exist_ok=True)
        (tmp_path / "broken" / name).write_bytes(b"no image")
    words = ("--items", 5, "--seed", 5, "--shards", SHARDS, "--out", tmp_path / "x.jsonl")
    for number in range(SHARDS):
        dataset = json.dumps(spec | {"path": str(tmp_path / "broken")})
        status, _, err = cfeval("edct", "items", "--dataset", dataset, *words, "--shard", number)
        assert (status, "no image can be used" in err) == (2, True), "whichever shard the broken images are of"


def test_a_shard_that_there_is_not_is_refused(cfeval: Run, tmp_path: Path) -> None:
    words = ("--items", 2, "--seed", 1, "--shards", 2, "--shard", 2, "--out", tmp_path / "x.jsonl")
    status, _, err = cfeval("edct", "items", "--dataset", '{"plugin": "world"}', *words)
    assert (status, err) == (2, "cfeval: --shard: 2 is none of 2 shards; they count from 0\n")
