"""Frozen sets: what makes a sample another one, what does not, and a list that was tampered with."""

import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.sampling import read_list
from cfeval.datasets.sample import RawSample, Sample, as_frozen, content_hash, write_set
from tests.images import image

RAW = RawSample("a", image(1), "What?", "red", ("red", "blue"), "vqa", "color")


def digest(raw: RawSample) -> str:
    return content_hash(raw, raw.image)


def frozen(folder: Path, *raws: RawSample) -> str:
    path = folder / "set.txt"
    write_set(path, {raw.id: digest(raw) for raw in raws})
    return str(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"question": "What ?"},
        {"image": image(2)},
        {"image": image(1, (6, 8))},
        {"reference": "Red"},
        {"answers": ("blue", "red")},
        {"scorer": "okvqa"},
    ],
)
def test_a_change_of_what_results_rest_on_is_another_content(changed: dict[str, Any]) -> None:
    assert digest(replace(RAW, **changed)) != digest(RAW)


@pytest.mark.parametrize("changed", [{"id": "b"}, {"kind": "shape"}])
def test_a_name_or_a_kind_is_no_content(changed: dict[str, Any]) -> None:
    assert digest(replace(RAW, **changed)) == digest(RAW)


def test_how_the_pixels_are_packed_is_no_content() -> None:
    file = io.BytesIO()
    PIL.Image.fromarray(RAW.image.pixels).save(file, format="PNG", compress_level=0)
    packed = Image(file.getvalue())
    assert packed.sha256 != RAW.image.sha256
    assert digest(replace(RAW, image=packed)) == digest(RAW)


def test_a_filed_sample_has_the_content_of_the_raw_one() -> None:
    filed = Sample(
        id="a",
        image=RAW.image.ref("x.png"),
        question=RAW.question,
        reference=RAW.reference,
        answers=RAW.answers,
        scorer=RAW.scorer,
    )
    assert content_hash(filed, RAW.image) == digest(RAW)


def test_a_set_is_a_line_an_item_and_keeps_its_hashes_from_release_to_release(tmp_path: Path) -> None:
    path = Path(frozen(tmp_path, RAW))
    pixels = hashlib.sha256(bytes((1, 254, 7)) + bytes((1, 1, 1)) * 47).hexdigest()
    content = f'["What?", [8, 6, 3], "{pixels}", "red", ["red", "blue"], "vqa"]'
    assert path.read_text() == f"a  {hashlib.sha256(content.encode()).hexdigest()}\n"
    assert read_list(path)["a"].sha256 == digest(RAW)


def test_the_first_sample_that_differs_is_named_in_one_line_and_those_before_it_pass(tmp_path: Path) -> None:
    raws = [replace(RAW, id=item) for item in "abc"]
    ids = frozen(tmp_path, *raws)
    now = [raws[0], replace(raws[1], question="Why?"), replace(raws[2], question="Why?")]
    passed = as_frozen(now, ids)
    assert next(passed) == raws[0]
    with pytest.raises(InputError, match=r"set.txt: 'b' is not what was frozen .* select and freeze again") as error:
        next(passed)
    assert "\n" not in str(error.value)


def test_a_plain_list_and_no_list_freeze_nothing(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("a\n")
    assert list(as_frozen([RAW], str(tmp_path / "plain.txt"))) == [RAW]
    assert list(as_frozen([RAW], None)) == [RAW]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("a  {0}\nb\n", "line 2: 'b' has no SHA-256, others have"),
        ("a\nb  {0}\n", "line 1: 'a' has no SHA-256, others have"),
        ("a  {0}x\n", "line 1: write an id, or an id and its SHA-256"),
        ("a  red\n", "line 1: write an id, or an id and its SHA-256"),
        ("a  {0}  {0}\n", "line 1: write an id, or an id and its SHA-256"),
        ("a  {0}\na  {0}\n", "line 2: 'a' stands in line 1 already"),
        ("\n", "lists no ids"),
    ],
)
def test_a_list_that_is_frozen_in_part_or_garbled_is_refused(tmp_path: Path, lines: str, complaint: str) -> None:
    (tmp_path / "set.txt").write_text(lines.format("0" * 64))
    with pytest.raises(InputError, match=complaint):
        read_list(tmp_path / "set.txt")
