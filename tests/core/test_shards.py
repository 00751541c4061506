"""What `--shards` wrote is read again under the name that it was given."""

from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.shards import shard_files, whole_or_shards, whole_or_shards_of_all


@pytest.mark.parametrize("shards", [1, 3])
def test_what_one_option_wrote_the_same_name_reads(tmp_path: Path, shards: int) -> None:
    files = shard_files(tmp_path / "model-4.1.jsonl", shards)
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert whole_or_shards(tmp_path / "model-4.1.jsonl") == files


def test_of_a_file_that_was_cut_otherwise_before_only_the_present_shards_are_read(tmp_path: Path) -> None:
    name = tmp_path / "x.jsonl"
    for file in (name, *shard_files(name, 3)):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert [whole_or_shards_of_all([name], cut) for cut in (1, 2)] == [[name], shard_files(name, 3)[:2]]


def test_the_folder_of_the_shards_may_be_named_too(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for name in ("000", "reviews-000"):
        (tmp_path / "x" / f"{name}.jsonl").touch()
    assert whole_or_shards(tmp_path / "x") == [tmp_path / "x" / "000.jsonl"]


def test_a_folder_of_images_is_no_folder_of_shards(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.png").touch()
    with pytest.raises(InputError, match=r"x\.jsonl: no such file; run the step"):
        whole_or_shards(tmp_path / "x.jsonl")


@pytest.mark.parametrize(("shards", "last"), [(1000, "999"), (1001, "1000"), (9999, "9998")])
def test_files_of_many_shards_sort_by_their_names(tmp_path: Path, shards: int, last: str) -> None:
    files = shard_files(tmp_path / "x.jsonl", shards)
    assert sorted(files) == files
    assert files[-1].stem == last
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert whole_or_shards(tmp_path / "x.jsonl") == files
