"""Images in one file: equal bytes, whole or not at all, read as from a folder, and nothing of anybody else's lost."""

import errno
import os
import subprocess
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from cfeval.core import files
from cfeval.core.errors import InputError, OutputError
from cfeval.core.files import MARK, archive_of, growing_archive
from cfeval.core.images import fault_of, file_in, folder_of, load, names_in
from cfeval.core.records import ImageRef
from cfeval.core.shards import atomic_records_with_images, move, sharded_gallery
from cfeval.edct.records import Instruction
from tests.images import image
from tests.slow import slow

IMAGES = {"b.png": image(1), "a.png": image(2), "ünï.png": image(3)}


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A record file with its archive."""
    return written(tmp_path / "x.jsonl")


def written(path: Path, archive: bool = True) -> Path:
    with atomic_records_with_images(path, archive=archive) as add:
        add(Instruction(id="a"), IMAGES)
        add(Instruction(id="b"), {"a.png": image(2), "values.npy": b"123"})
    return path


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_equal_content_gives_equal_bytes_at_any_time_under_any_umask(tmp_path: Path) -> None:
    first = archive_of(folder_of(written(tmp_path / "one" / "x.jsonl")))
    before, environment = os.umask(0o077), os.environ.get("TZ")
    try:
        os.environ["TZ"] = "Asia/Tokyo"
        time.tzset()
        second = archive_of(folder_of(written(tmp_path / "two" / "y.jsonl")))
    finally:
        os.umask(before)
        os.environ.pop("TZ") if environment is None else os.environ.update(TZ=environment)
        time.tzset()
    assert first.read_bytes() == second.read_bytes()


def test_it_is_a_plain_zip_file_in_the_order_of_writing(records: Path) -> None:
    assert listed(records.parent) == ["x.jsonl", "x.zip"]
    with zipfile.ZipFile(records.with_suffix(".zip")) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*IMAGES, "values.npy"]
        assert archive.comment == MARK
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {(entry.create_system, entry.external_attr) for entry in archive.infolist()} == {(3, 0o100644 << 16)}
    if unzip := next((tool for tool in ("/usr/bin/unzip",) if Path(tool).exists()), None):
        assert subprocess.run([unzip, "-tq", records.with_suffix(".zip")], check=False).returncode == 0


def test_images_are_read_as_from_a_folder(records: Path) -> None:
    folder = folder_of(records)
    assert not folder.exists()
    for name, shown in IMAGES.items():
        assert load(folder, shown.ref(name)).png == shown.png
        assert fault_of(folder, shown.ref(name)) == ""
    assert file_in(folder, "values.npy") == b"123"
    assert names_in(folder) == sorted([*IMAGES, "values.npy"])
    written(records, archive=False)
    assert names_in(folder) == sorted([*IMAGES, "values.npy"])


def test_an_image_that_is_named_and_not_there_is_told(records: Path) -> None:
    ref = image().ref("none.png")
    assert fault_of(folder_of(records), ref) == "its image 'none.png' cannot be read (not in x.zip)"
    with pytest.raises(InputError, match=r"x/none\.png: cannot read the image \(not in x\.zip\)"):
        load(folder_of(records), ref)


@pytest.mark.parametrize("name", ["../x.png", "/etc/passwd", "a/../../x.png", "nul\0.png"])
@pytest.mark.parametrize("archive", [True, False])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str, archive: bool) -> None:
    records = written(tmp_path / "in" / "x.jsonl", archive)
    (tmp_path / "in" / "x.png").write_bytes(image().png)
    (tmp_path / "x.png").write_bytes(image().png)
    ref = ImageRef(path=name, sha256=image().sha256)
    assert fault_of(folder_of(records), ref)
    with pytest.raises(InputError):
        load(folder_of(records), ref)


@pytest.mark.parametrize("step", [7, slow(1)])
def test_a_flipped_byte_never_gives_another_image(records: Path, step: int) -> None:
    file, sound = records.with_suffix(".zip"), records.with_suffix(".zip").read_bytes()
    right = {name: shown.png for name, shown in IMAGES.items()} | {"values.npy": b"123"}
    for at in range(0, len(sound), step):
        file.write_bytes(sound)
        flipped(file, at)
        wrong = [name for name in right if _read(folder_of(records), name) not in (right[name], None)]
        assert wrong == [], at


def _read(folder: Path, name: str) -> bytes | None:
    try:
        return file_in(folder, name)
    except OSError:
        return None


def test_a_flipped_byte_in_an_image_is_told(records: Path) -> None:
    shown = IMAGES["a.png"]
    flipped(records.with_suffix(".zip"), records.with_suffix(".zip").read_bytes().index(shown.png) + 40)
    assert fault_of(folder_of(records), shown.ref("a.png")) == "its image 'a.png' cannot be read (x.zip is damaged)"
    with pytest.raises(InputError, match=r"a\.png: cannot read the image \(x\.zip is damaged\)"):
        load(folder_of(records), shown.ref("a.png"))
    other = ImageRef(path="b.png", sha256=shown.sha256)
    assert fault_of(folder_of(records), other).endswith("(SHA-256 differs)")


def test_an_archive_that_was_replaced_is_read_anew(records: Path) -> None:
    folder = folder_of(records)
    assert load(folder, image(1).ref("b.png"))
    with atomic_records_with_images(records, archive=True) as add:
        add(Instruction(id="a"), {"b.png": image(9)})
    assert load(folder, image(9).ref("b.png"))
    assert fault_of(folder, image(1).ref("b.png"))


@pytest.mark.parametrize("archive", [True, False])
def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path, archive: bool) -> None:
    def interrupted(path: Path) -> None:
        with atomic_records_with_images(path, 1, archive=archive) as add:
            add(Instruction(id="c"), {"c.png": image(4)})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "x.jsonl")
    assert listed(tmp_path) == []
    written(tmp_path / "x.jsonl", archive)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "x.jsonl")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open

    def full(path: Path, mode: str = "r", *more: object, **options: object) -> object:
        if mode == "ab":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, mode, *more, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OutputError, match=r"x\.(zip|jsonl): the disk is full"):
        written(tmp_path / "x.jsonl")
    assert listed(tmp_path) == []


@pytest.mark.parametrize("archive", [True, False])
def test_the_other_form_of_a_former_run_goes(tmp_path: Path, archive: bool) -> None:
    records = written(written(tmp_path / "x.jsonl", not archive), archive)
    assert listed(tmp_path) == sorted(["x.jsonl", "x.zip" if archive else "x"])
    assert load(folder_of(records), image(1).ref("b.png"))
    with sharded_gallery(records, archive=not archive) as add:
        add("a", Instruction(id="a"), {})
    assert listed(tmp_path) == sorted(["x.jsonl", "x" if archive else "x.zip"])


@pytest.mark.parametrize("archive", [True, False])
def test_the_archive_of_a_run_that_was_broken_off_is_made_anew(records: Path, archive: bool) -> None:
    records.unlink()
    with atomic_records_with_images(records, archive=archive) as add:
        add(Instruction(id="a"), {"a.png": image(9)})
    assert names_in(folder_of(records)) == ["a.png"]
    assert load(folder_of(records), image(9).ref("a.png"))


@pytest.mark.parametrize("records", [True, False])
def test_an_archive_of_someone_elses_is_neither_read_nor_replaced(tmp_path: Path, records: bool) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.png").write_bytes(image(2).png)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.png", image(7).png)
    if records:
        (tmp_path / "x.jsonl").touch()
    assert load(tmp_path / "x", image(2).ref("a.png"))
    mine = (tmp_path / "x.zip").read_bytes()
    with pytest.raises(OutputError, match=r"x\.zip: exists, and"):
        written(tmp_path / "x.jsonl")
    if records:
        written(tmp_path / "x.jsonl", archive=False)
    assert (tmp_path / "x.zip").read_bytes() == mine


def test_what_is_no_archive_is_told_where_there_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip file")
    assert "x.zip is damaged or no archive of images" in fault_of(tmp_path / "x", image().ref("a.png"))
    (tmp_path / "y.zip").mkdir()
    assert "cannot be read" in fault_of(tmp_path / "y", image().ref("a.png"))


def test_shards_have_an_archive_each(tmp_path: Path) -> None:
    with sharded_gallery(tmp_path / "x.jsonl", 2, archive=True) as add:
        for item in "abcdef":
            add(item, Instruction(id=item), {f"{item}.png": image(ord(item))})
    assert listed(tmp_path / "x") == ["000.jsonl", "000.zip", "001.jsonl", "001.zip"]
    names = [names_in(tmp_path / "x" / shard) for shard in ("000", "001")]
    assert sorted(names[0] + names[1]) == [f"{item}.png" for item in "abcdef"]
    move(tmp_path / "x" / "000.jsonl", tmp_path / "y.jsonl")
    assert names_in(tmp_path / "y") == names[0]


def test_no_more_than_a_piece_is_in_memory_and_no_file_is_open(tmp_path: Path) -> None:
    content, many = bytes(1 << 16), 200
    tracemalloc.start()
    open_before = len(listed(Path("/proc/self/fd")))
    try:
        with growing_archive(tmp_path / "x.zip", 1 << 16) as add:
            for number in range(many):
                add(f"{number}", content)
            assert len(listed(Path("/proc/self/fd"))) == open_before
        assert tracemalloc.get_traced_memory()[1] < (1 << 20) < many * len(content)
    finally:
        tracemalloc.stop()


def test_the_directory_is_read_once(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(files, "ZipFile", lambda *given: read.append(given) or zipfile.ZipFile(*given))
    files._opened.cache_clear()
    for _ in range(3):
        for name, shown in IMAGES.items():
            load(folder_of(records), shown.ref(name))
    assert len(read) == 1
