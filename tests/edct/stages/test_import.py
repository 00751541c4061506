"""`cfeval edct import`: own images in, or one line that says what is wrong and where, and nothing half-written."""

import json
import re
from pathlib import Path

import PIL.Image
import pytest

from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.sample import Sample
from tests.conftest import Run
from tests.images import image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two photos."""
    (tmp_path / "in").mkdir()
    for name, color in (("a b.png", "red"), ("c.jpg", "blue")):
        PIL.Image.new("RGB", (20, 10), color).save(tmp_path / "in" / name)
    return tmp_path / "in"


def test_a_folder_becomes_samples(cfeval: Run, folder: Path, tmp_path: Path) -> None:
    status, out, _ = cfeval("edct", "import", folder, "--question", "What is this?", "--out", tmp_path / "mine.jsonl")
    assert status == 0
    assert out.startswith(f"filed in {tmp_path / 'mine.jsonl'}: items 2, images 2; name the file in params.yaml: ")
    samples = list(read_jsonl(tmp_path / "mine.jsonl", Sample))
    assert [(s.id, s.question) for s in samples] == [("a-b", "What is this?"), ("c", "What is this?")]
    assert all((tmp_path / "mine" / s.image.path).exists() for s in samples)


def test_a_csv_with_commas_line_breaks_and_a_byte_order_mark(cfeval: Run, folder: Path, tmp_path: Path) -> None:
    text = '\ufeffimage,question,reference\nc.jpg,"What,\nhere?",blue\nc.jpg,Why?,\n'
    (folder / "x.csv").write_text(text, encoding="utf-8")
    assert cfeval("edct", "import", folder / "x.csv", "--out", tmp_path / "mine.jsonl")[0] == 0
    first, second = read_jsonl(tmp_path / "mine.jsonl", Sample)
    assert (first.id, first.question, first.reference) == ("000001", "What,\nhere?", "blue")
    assert first.image == second.image


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_table_may_have_other_marks_than_commas(cfeval: Run, folder: Path, tmp_path: Path, mark: str) -> None:
    (folder / "x.csv").write_text(f"image{mark}question\nc.jpg{mark}What, here?\n")
    status, _, _ = cfeval("edct", "import", folder / "x.csv", "--out", tmp_path / "mine.jsonl")
    assert status == 0
    assert [sample.question for sample in read_jsonl(tmp_path / "mine.jsonl", Sample)] == ["What, here?"]


def test_the_same_images_give_the_same_bytes(cfeval: Run, folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        cfeval("edct", "import", folder, "--question", "What?", "--out", tmp_path / f"{name}.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


GOOD = {"image": "c.jpg", "question": "What?"}


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (['{"image": "c.jpg", "question": "What?"}', "{"], "line 2: not JSON"),
        (["[]"], "line 1: an object with the keys"),
        ([json.dumps(GOOD | {"id": "x"})] * 2, "line 2: id 'x' stands at .*line 1 already"),
        ([json.dumps(GOOD | {"id": "../x"})], "line 1: id '../x' cannot be a file name"),
        ([json.dumps(GOOD | {"id": "a/b"})], "cannot be a file name"),
        ([json.dumps(GOOD | {"id": "a\0b"})], "line 1: .* half a character or NUL"),
        ([json.dumps(GOOD | {"id": "x" * 300})], "use 1 to 100 letters"),
        ([json.dumps(GOOD | {"id": "🙂"})], "cannot be a file name"),
        ([json.dumps(GOOD | {"id": ""})], "cannot be a file name"),
        ([json.dumps(GOOD | {"id": 7})], "line 1: id must be text, but got 7"),
        ([json.dumps(GOOD | {"question": " "})], "line 1: the question is empty"),
        ([json.dumps({"image": "c.jpg"})], "line 1: the question is empty"),
        ([json.dumps({"question": "What?"})], "line 1: no image named"),
        (
            [json.dumps(GOOD | {"image": "none.png"})],
            "no image can be used: 0 rows, 1 unreadable: none.png .no such file",
        ),
        ([json.dumps(GOOD | {"image": "x\0.png"})], "line 1"),
        ([json.dumps(GOOD | {"image": "."})], "no image can be used: .*a folder"),
        ([json.dumps(GOOD | {"anser": "x"})], "unknown column 'anser'"),
        ([json.dumps(GOOD | {"image": "empty.png"})], "no image can be used: .*empty.png .the file is empty"),
        ([json.dumps(GOOD | {"image": "../x.png"})], "line 1: .*leads out of"),
        ([], "no item to file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    cfeval: Run, folder: Path, tmp_path: Path, rows: list[str], complaint: str
) -> None:
    (folder / "empty.png").touch()
    (folder / "x.jsonl").write_text("\n".join(rows))
    status, _, err = cfeval("edct", "import", folder / "x.jsonl", "--out", tmp_path / "out" / "mine.jsonl")
    assert status == 2
    assert err.startswith("cfeval: ")
    assert err.count("\n") == 1
    assert re.search(complaint, err), err
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("none.csv", "no such file or folder"),
        ("c.jpg", "give a .csv, .tsv or .jsonl"),
        ("empty", "no images in this folder"),
    ],
)
def test_a_source_that_is_none_is_refused(
    cfeval: Run, folder: Path, tmp_path: Path, source: str, complaint: str
) -> None:
    (folder / "empty").mkdir()
    status, _, err = cfeval("edct", "import", folder / source, "--question", "?", "--out", tmp_path / "mine.jsonl")
    assert (status, complaint in err) == (2, True)


def test_an_import_never_replaces_a_folder_that_is_not_its_own(cfeval: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "dear.png").write_bytes(image().png)
    status, _, err = cfeval("edct", "import", folder, "--question", "?", "--out", tmp_path / "mine.jsonl")
    assert status == 2
    assert "move it away" in err
    assert (tmp_path / "mine" / "dear.png").exists()
