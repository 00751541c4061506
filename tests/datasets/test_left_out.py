"""Own images: what cannot be read is left out and said, or refused, and nothing comes from outside the set."""

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.shards import left_out_of, shard_files
from cfeval.datasets.files import Files, Plugin
from cfeval.datasets.sample import Sample, file_samples
from tests.conftest import Run
from tests.data_files import SETS, spatial_rows
from tests.troubles import TROUBLES, make, photograph


def files(path: Path, **options: Any) -> Files:
    return Files(Plugin(path=str(path), question="What?", **options))


@given(st.integers(1, 5), st.sets(st.sampled_from(range(len(TROUBLES)))), st.integers(1, 6), st.integers(0, 9))
def test_the_draw_is_that_from_the_good_images_alone(good: int, chosen: set[int], items: int, seed: int) -> None:
    with TemporaryDirectory() as place:
        clean = make(Path(place, "clean"), good, [])
        mixed = make(Path(place, "mixed"), good, [TROUBLES[number] for number in sorted(chosen)])
        expected = [sample.id for sample in files(clean).samples(items, seed)]
        assert [sample.id for sample in files(mixed).samples(items, seed)] == expected
        assert files(mixed).count(items, seed) == len(expected) == min(items, good)
        used, others = files(mixed).scan()
    assert used == good
    assert {one.name for one in others} == {TROUBLES[number].name for number in chosen}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_without_an_image_that_can_be_read_are_left_out(tmp_path: Path, form: str) -> None:
    make(tmp_path / "photos", 2, TROUBLES[:1])
    rows = [{"image": f"photos/{name}", "question": "?"} for name in ("IMG_0.jpg", "none.jpg", "cut.jpg", "IMG_1.jpg")]
    table = tmp_path / f"q.{form}"
    if form == "csv":
        with table.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["image", "question"])
            writer.writeheader()
            writer.writerows(rows)
    else:
        table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = files(table)
    assert sorted(sample.id for sample in own.samples(9, 1)) == ["000001", "000004"]
    assert {str(one) for one in own.left_out} == {
        "photos/none.jpg (no such file)",
        "photos/cut.jpg (broken or truncated image)",
    }
    named = registry.dependencies("datasets", {"plugin": "files", "path": str(table)})
    assert not any("none.jpg" in path for path in named)
    with pytest.raises(InputError, match="strict allows none"):
        list(files(table, strict=True).samples(9, 1))


def test_strict_refuses_losses_and_nothing_else(tmp_path: Path) -> None:
    harmless = [trouble for trouble in TROUBLES if not trouble.is_loss]
    photos = make(tmp_path / "photos", 2, harmless)
    assert len(list(files(photos, strict=True).samples(9, 1))) == 2
    for number, trouble in enumerate(trouble for trouble in TROUBLES if trouble.is_loss):
        broken = make(tmp_path / str(number), 2, [trouble])
        with pytest.raises(InputError, match="strict allows none"):
            list(files(broken, strict=True).samples(9, 1))


def test_a_list_of_ids_wants_all_of_them(tmp_path: Path) -> None:
    photos = make(tmp_path / "photos", 2, TROUBLES[:1])
    (tmp_path / "ids.txt").write_text("IMG_0\ncut\n")
    with pytest.raises(InputError, match=r"cut\.jpg: broken or truncated"):
        list(files(photos, ids=str(tmp_path / "ids.txt")).samples(9, 1))


def test_nothing_left_is_refused_with_the_reasons(tmp_path: Path) -> None:
    photos = make(tmp_path / "photos", 0, TROUBLES)
    with pytest.raises(InputError, match=r"photos: no image can be used: 0 images, 10 unreadable: .*") as error:
        list(files(photos).samples(9, 1))
    assert "\n" not in str(error.value)


def test_names_that_differ_in_ending_case_or_script_alone_are_items_of_their_own(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    names = ["a.jpg", "a.png", "A.jpeg", "照片.png", "图片.png", "b.jpg", f"{'x' * 120}.jpg"]
    for number, name in enumerate(names):
        (photos / name).write_bytes(photograph(number))
    ids = [sample.id for sample in files(photos).samples(99, 1)]
    assert len({one.lower() for one in ids}) == len(names)
    assert {"b", "照片", "图片"} <= set(ids)  # a name that no other is like stays as it is


def test_names_that_are_no_text_are_items_too(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    names = ["caf\udce9.png", "caf\udce8.png", "line\nbreak.png", "tab\t.png", "🙂.png"]
    for number, name in enumerate(names):
        (photos / name).write_bytes(photograph(number, "PNG"))
    own = files(photos)
    file_samples(tmp_path / "own.jsonl", own.every())
    assert len({sample.id for sample in read_jsonl(tmp_path / "own.jsonl", Sample)}) == len(names)


def test_files_beside_pairs_in_a_folder_are_named(tmp_path: Path) -> None:
    content = json.dumps({"question": "?", "changed": "x", "became": "y"})
    for name in ("w.before.png", "w.after.png", "v.before.png", "sub/x.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(photograph(1, "PNG"))
    (tmp_path / "w.json").write_text(content)
    (tmp_path / "notes.txt").write_text("x")
    source = registry.build("pair_sets", {"plugin": "files", "path": str(tmp_path)})
    assert [pair.id for pair in source.pairs(9, 1)] == ["w"]
    assert {one.name for one in source.left_out} == {"v.before.png", "sub/x.png", "notes.txt"}


@pytest.mark.parametrize("names", [("a b", "a-b"), ("A", "a"), ("🙂", "🙃"), ("é", "e\u0301"), ("x" * 120, "x" * 121)])
def test_pairs_whose_names_are_alike_are_told_apart(tmp_path: Path, names: tuple[str, str]) -> None:
    (tmp_path / "a.png").write_bytes(photograph(1, "PNG"))
    row = {"before": "a.png", "after": "a.png", "question": "?", "changed": "x", "became": "y"}
    table = tmp_path / "t.jsonl"
    table.write_text("".join(json.dumps(row | {"id": name}) + "\n" for name in names))
    source = registry.build("pair_sets", {"plugin": "files", "path": str(table)})
    assert len({pair.id.lower() for pair in source.pairs(9, 1)}) == 2
    table.write_text("".join(json.dumps(row | {"id": names[0]}) + "\n" for _ in names))
    with pytest.raises(InputError, match=r"row 2: pair '.*' stands there twice"):
        list(source.pairs(9, 1))


@pytest.mark.parametrize("archive", [False, True])
@pytest.mark.parametrize("shards", [1, 3])
def test_what_was_left_out_is_kept_with_the_items_and_forgotten_when_mended(
    tmp_path: Path, archive: bool, shards: int
) -> None:
    photos = make(tmp_path / "photos", 4, TROUBLES[:2])
    out = tmp_path / "items/own.jsonl"
    for expected in ({"cut.jpg", "CUT.PNG"}, {"CUT.PNG"}, set()):
        own = files(photos)
        file_samples(out, own.samples(9, 1), shards, archive, lambda own=own: own.left_out)  # type: ignore[misc]
        kept = left_out_of(shard_files(out, shards))
        assert {one.name for one in kept} == expected
        for name in ("CUT.PNG",) if expected == {"CUT.PNG"} else ("cut.jpg",):
            (photos / name).write_bytes(photograph(7))


def test_an_import_goes_on_without_what_cannot_be_read(tmp_path: Path, cfeval: Run) -> None:
    photos = make(tmp_path / "photos", 2, TROUBLES)
    words = ("edct", "import", photos, "--question", "?", "--out", tmp_path / "own.jsonl")
    status, out, err = cfeval(*words)
    assert (status, "items 2" in out) == (0, True)
    assert err.count("left out: ") == len(TROUBLES)
    status, _, err = cfeval(*words, "--strict")
    assert (status, err.count("\n")) == (2, 1)


OUTSIDE = "leads out of .*allow_outside: true"


@pytest.mark.parametrize("name", ["okvqa", "vqav2", "files", "drivelm", "threedsrbench"])
def test_every_reader_refuses_an_image_that_is_a_link_to_outside(name: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    options = SETS[name](tmp_path / "set")
    if name == "threedsrbench":  # its table may hold the images, or name files in a folder
        options |= {"images": str(make(tmp_path / "set/coco", 0, []))}
        for row in spatial_rows():
            (tmp_path / "set/coco" / row["image_url"].rpartition("/")[2]).write_bytes(photograph(1, "PNG"))
    images = [path for path in (tmp_path / "set").rglob("*") if path.suffix in (".jpg", ".png")]
    secret = tmp_path / "secret.png"
    secret.write_bytes(photograph(5, "PNG"))
    for image in images:
        image.unlink()
        image.symlink_to(secret)
    source = registry.build("datasets", {"plugin": name, **options})
    with pytest.raises(InputError, match=OUTSIDE) as error:
        list(source.samples(99, 1))
    assert "\n" not in str(error.value)
    allowed = registry.build("datasets", {"plugin": name, **options, "allow_outside": True})
    assert list(allowed.samples(99, 1))


@pytest.mark.parametrize("cell", ["../private.png", "{root}/private.png", "link.png", "sub/../../private.png"])
@pytest.mark.parametrize("kind", ["datasets", "pair_sets"])
def test_a_row_that_names_an_image_outside_is_refused(tmp_path: Path, cell: str, kind: str) -> None:
    (tmp_path / "set/sub").mkdir(parents=True)
    (tmp_path / "private.png").write_bytes(photograph(1, "PNG"))
    (tmp_path / "set/in.png").write_bytes(photograph(2, "PNG"))
    (tmp_path / "set/link.png").symlink_to("../private.png")
    path = cell.format(root=tmp_path)
    row = {"image": path} if kind == "datasets" else {"before": "in.png", "after": path, "changed": "a", "became": "b"}
    (tmp_path / "set/t.jsonl").write_text(json.dumps({**row, "question": "?"}) + "\n")
    spec = {"plugin": "files", "path": str(tmp_path / "set/t.jsonl")}
    read = "samples" if kind == "datasets" else "pairs"
    with pytest.raises(InputError, match=OUTSIDE):
        list(getattr(registry.build(kind, spec), read)(9, 1))
    assert list(getattr(registry.build(kind, {**spec, "allow_outside": True}), read)(9, 1))


def test_questions_refuse_an_image_that_is_a_link_to_outside(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "private.png").write_bytes(photograph(1, "PNG"))
    (tmp_path / "images/a.png").symlink_to("../private.png")
    (tmp_path / "q.csv").write_text(
        "img_path,query,answer,new query,new answer,type\na.png,Is it?,yes,Is it not?,no,boolean\n"
    )
    spec = {"plugin": "csv", "questions": str(tmp_path / "q.csv"), "images": str(tmp_path / "images")}
    with pytest.raises(InputError, match=OUTSIDE):
        list(registry.build("question_sets", spec).pairs(None, 1))
    assert list(registry.build("question_sets", {**spec, "allow_outside": True}).pairs(None, 1))


def test_pairs_without_an_image_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(photograph(1, "PNG"))
    (tmp_path / "b.png").write_bytes(photograph(2, "PNG"))
    (tmp_path / "cut.png").write_bytes(photograph(2, "PNG")[:900])
    rows = [
        {"id": name, "before": "a.png", "after": f"{name}.png", "question": "?", "changed": "x", "became": "y"}
        for name in ("b", "none", "cut")
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = {"plugin": "files", "path": str(tmp_path / "t.jsonl")}
    source = registry.build("pair_sets", spec)
    assert [pair.id for pair in source.pairs(9, 1)] == ["b"]
    assert {one.name for one in source.left_out} == {"none", "cut"}
    with pytest.raises(InputError):
        list(registry.build("pair_sets", {**spec, "strict": True}).pairs(9, 1))
