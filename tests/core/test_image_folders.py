"""What a folder of images holds, what is left out and why, and that nothing comes from outside of it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL.JpegImagePlugin import JpegImageFile

from cfeval.core.errors import InputError
from cfeval.core.image_folders import inside, read_fault, reasons, scan, summary
from cfeval.core.images import check_image, import_image
from tests.troubles import SILENT, TROUBLES, Trouble, make, photograph


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_each_kind_of_trouble_is_left_out_and_said(tmp_path: Path, trouble: Trouble) -> None:
    found = scan(make(tmp_path / "photos", 2, [trouble]))
    assert [path.name for path in found.images] == ["IMG_0.jpg", "IMG_1.jpg"]
    [one] = found.left_out
    assert one.is_loss == trouble.is_loss
    assert trouble.said in summary(2, found.left_out)


@given(st.integers(0, 3), st.sets(st.sampled_from(range(len(TROUBLES)))))
def test_of_any_folder_every_file_is_used_or_named(good: int, chosen: set[int]) -> None:
    troubles = [TROUBLES[number] for number in sorted(chosen)]
    with TemporaryDirectory() as place:
        found = scan(make(Path(place, "photos"), good, troubles))
    assert len(found.images) == good
    assert {one.name for one in found.left_out} == {trouble.name for trouble in troubles}
    assert "\n" not in summary(good, found.left_out)
    assert not any(name in summary(good, found.left_out) for name in SILENT)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow warns of a broken header before it refuses the file
@given(st.integers(0, 40_000), st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"]))
def test_the_check_takes_what_the_import_takes(kept: int, form: str) -> None:
    content = photograph(3, form)
    with TemporaryDirectory() as place:
        path = Path(place, "x.png")
        path.write_bytes(content[:kept] if kept < len(content) else content)
        outcomes = []
        for look in (check_image, import_image):
            try:
                look(path)
                outcomes.append(True)
            except InputError:
                outcomes.append(False)
    assert outcomes[0] == outcomes[1]


def test_a_jpeg_is_checked_at_an_eighth_of_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jpg").write_bytes(photograph(1, size=(2000, 1500)))
    sizes, load = [], JpegImageFile.load

    def noting(image: JpegImageFile) -> object:
        loaded = load(image)
        sizes.append(image.size)
        return loaded

    monkeypatch.setattr(JpegImageFile, "load", noting)
    assert read_fault(tmp_path / "a.jpg") == ""
    assert sizes == [(250, 188)]


def test_subfolders_are_said_and_taken_only_if_asked(tmp_path: Path) -> None:
    photos = make(tmp_path / "photos", 1, [])
    for name in ("a/x.jpg", "a/b/y.JPG", ".hidden/z.jpg"):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).write_bytes(photograph())
    found = scan(photos)
    assert summary(1, found.left_out) == (
        "1 image; 2 in subfolders left out (--recursive, or recursive: true, takes them); "
        "1 hidden left out: .hidden/z.jpg"
    )
    assert [path.relative_to(photos).as_posix() for path in scan(photos, recursive=True).images] == [
        "IMG_0.jpg",
        "a/x.jpg",
        "a/b/y.JPG",
    ]


def test_a_folder_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such folder"):
        scan(tmp_path / "none")


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos = make(tmp_path / "photos", 1, [])

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    found = scan(photos)
    assert not found.images
    assert reasons(found.left_out) == "1 unreadable: IMG_0.jpg (no permission to read the file)"


def test_many_are_counted_and_the_first_named() -> None:
    found = [TROUBLES[0]._replace(name=f"{number}.jpg") for number in range(9)]
    with TemporaryDirectory() as place:
        left_out = scan(make(Path(place, "photos"), 1, found)).left_out
    assert reasons(left_out).startswith("9 unreadable: 0.jpg (broken or truncated image), 1.jpg")
    assert reasons(left_out).endswith(" and 4 more")


@pytest.mark.parametrize("name", ["x.png", "sub/x.png", "sub/../x.png", "link-inside.png"])
def test_what_lies_inside_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "set/sub").mkdir(parents=True)
    (tmp_path / "set/link-inside.png").symlink_to("x.png")
    assert inside(tmp_path / "set" / name, [tmp_path / "set"], "row 1") == tmp_path / "set" / name


@pytest.mark.parametrize("name", ["../x.png", "/etc/x.png", "sub/../../x.png", "out.png", "away/x.png"])
def test_what_leads_outside_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "set/sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "set/out.png").symlink_to("../x.png")
    (tmp_path / "set/away").symlink_to("../elsewhere")
    with pytest.raises(InputError, match=r"row 1: .*leads out of .*allow_outside: true") as error:
        inside(tmp_path / "set" / name, [tmp_path / "set"], "row 1")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("recursive", [False, True])
def test_what_lies_deeper_is_used_or_named_too(tmp_path: Path, recursive: bool) -> None:
    photos = make(tmp_path / "photos", 1, [])
    others = ["a/note.txt", ".old/x.jpg", "a/.old/y.png", "a/b/raw.cr2"]
    for name in (*others, "a/b/z.jpg", ".git/logo.png"):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).write_bytes(photograph())
    (tmp_path / "else").mkdir()
    (photos / "link").symlink_to(tmp_path / "else")
    found = scan(photos, recursive)
    named = {entry.name for entry in found.left_out}
    assert named == {*others, "link", *(() if recursive else ["a/b/z.jpg"])}
    assert len(found.images) == 1 + recursive
    assert not any(entry.is_loss for entry in found.left_out)
