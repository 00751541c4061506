"""Files and folders appear whole or not at all."""

import errno
from pathlib import Path

import pytest

from cfeval.core import files
from cfeval.core.errors import OutputError
from cfeval.core.files import fresh_folder, write_text
from cfeval.core.shards import atomic_records_with_images
from cfeval.edct.records import Instruction
from tests.images import image


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"x\.txt: the disk is full"):
        write_text(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "old"


def test_a_folder_replaces_the_old_one_only_when_all_went_well(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    with fresh_folder(folder) as building:
        (building / "a").write_text("1")

    def fail_half_way() -> None:
        with fresh_folder(folder) as building:
            (building / "b").write_text("2")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert [p.name for p in tmp_path.iterdir()] == ["images"]
    assert [p.name for p in folder.iterdir()] == ["a"]


def test_written_files_have_the_permissions_of_the_umask(tmp_path: Path) -> None:
    write_text(tmp_path / "x", "")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o666 & ~files._umask()


def test_a_folder_of_someone_elses_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday" / "dear.png").write_bytes(image().png)
    complaint = r"holiday: exists, and holiday\.jsonl does not stand beside it"
    with pytest.raises(OutputError, match=complaint), atomic_records_with_images(tmp_path / "holiday.jsonl"):
        pass
    assert (tmp_path / "holiday" / "dear.png").exists()


def test_records_and_images_appear_together(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with atomic_records_with_images(path) as add:
        add(Instruction(id="a"), {"a.png": image(), "a-mask.png": image(2)})
        assert not path.exists()
    assert sorted(file.name for file in (tmp_path / "x").iterdir()) == ["a-mask.png", "a.png"]
    with atomic_records_with_images(path) as add:
        add(Instruction(id="b"), {})
    assert path.read_text().count("\n") == 1
    assert list((tmp_path / "x").iterdir()) == []
