"""Contact sheets: what stands on them, pixel by pixel where it matters, and what could not be shown."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.records import Status
from cfeval.vce.contact_sheet import ContactSheet, Shot, Strip, contact_sheet, difference
from cfeval.vce.contact_sheet_cli import ContactRow, file_name, sheet_of
from cfeval.vce.records import SheetRecord, SourceImage, VceCounterfactual, VceScore
from tests.conftest import Run

Files = Callable[[str], Path]
RED, BLUE = (200, 30, 30), (30, 30, 200)
GROUP = ("red circle", "blue circle")


def flat(color: tuple[int, int, int], size: int = 32) -> Image:
    return Image.from_pixels(np.full((size, size, 3), color, dtype=np.uint8))


def source(number: int) -> SourceImage:
    return SourceImage(id=f"i{number}", label="red circle", number=number, image=flat(RED).ref(f"i{number}.png"))


def record(number: int, status: Status = Status.OK, repeat: int = 0) -> VceCounterfactual:
    image = flat(BLUE).ref(f"{number}-{repeat}.png") if status == Status.OK else None
    names = {"id": f"{number}-{repeat}", "source_image": f"i{number}", "source": GROUP[0], "target": GROUP[1]}
    return VceCounterfactual.model_validate(
        {**names, "pair": "ideal", "repeat": repeat, "status": status, "image": image}
    )


def score(of: VceCounterfactual, predicted: str = GROUP[1]) -> VceScore:
    names = of.model_dump(include={"id", "source_image", "source", "target", "pair", "repeat"})
    figures = {"before": "red circle", "predicted": predicted, "p_target": 0.93, "oracles": {"a": GROUP[1], "b": "x"}}
    return VceScore.model_validate({**names, **figures})


def lane(label: str, records: list[VceCounterfactual], predicted: str = GROUP[1]) -> ContactRow:
    scores = {one.id: score(one, predicted) for one in records if one.status == Status.OK}
    return ContactRow(label, records, lambda _: flat(BLUE), scores)


def sheet(*lanes: ContactRow, most: int = 9) -> ContactSheet:
    sources = {one.id: one for one in map(source, range(20))}
    return sheet_of(GROUP, lanes, sources, lambda _: flat(RED), most)


def opened(of: ContactSheet) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(contact_sheet(of).png))


def test_no_change_is_grey_and_a_change_is_amplified_and_signed() -> None:
    before = np.full((1, 3, 3), 100, dtype=np.uint8)
    after = np.array([[[100] * 3, [110] * 3, [20] * 3]], dtype=np.uint8)
    assert difference(before, after)[0, :, 0].tolist() == [128, 148, 0]


def test_small_images_are_scaled_up_by_whole_numbers_and_stay_exact() -> None:
    checks = np.indices((32, 32)).sum(axis=0) % 2
    pixels = np.stack([checks * 255] * 3, axis=-1).astype(np.uint8)
    image = opened(ContactSheet("t", "", ("cf",), (Strip(pixels, (), (Shot(pixels, ()),)),)))
    shown = np.asarray(image)[:, :, 0]
    corner = np.argwhere(shown == 0)[0]
    rows = shown[corner[0] : corner[0] + 10]
    assert {0, 255} <= set(np.unique(rows).tolist())
    assert len(np.unique(np.asarray(image.crop((156, 90, 316, 250))).reshape(-1, 3), axis=0)) == 2


def test_the_same_records_give_the_same_bytes() -> None:
    assert contact_sheet(sheet(lane("m", [record(0)]))).png == contact_sheet(sheet(lane("m", [record(0)]))).png


def test_a_counterfactual_is_labelled_with_what_is_said_of_it() -> None:
    (strip,) = sheet(lane("m", [record(0)])).strips
    assert strip.lines == ("red circle", "seen as red circle")
    assert strip.shots[0].lines == ("blue circle", "p(target) 0.93", "oracles: 1 of 2")
    assert strip.shots[0].mood == "right"
    (missed,) = sheet(lane("m", [record(0)], "green star")).strips
    assert (missed.shots[0].lines[0], missed.shots[0].mood) == ("green star", "wrong")


def test_a_failure_says_its_status_and_shows_no_image() -> None:
    found = sheet(lane("m", [record(0, Status.REJECTED), record(1)]))
    assert (found.strips[0].shots[0].pixels, found.strips[0].shots[0].lines) == (None, ("rejected",))
    assert found.subtitle == "2 images   ·   m: 1 of 1 seen as the target, 1 rejected"
    assert opened(found).size[0] >= 640


def test_methods_and_draws_are_rows_of_their_own() -> None:
    found = sheet(lane("cone", [record(0), record(0, repeat=1)]), lane("no cone", [record(0), record(1)]))
    assert found.labels == ("cone, draw 1", "cone, draw 2", "no cone")
    assert [shot.lines[0] for shot in found.strips[1].shots] == ["not asked for", "not asked for", "blue circle"]


def test_more_images_than_fit_are_left_out_with_a_note() -> None:
    found = sheet(lane("m", [record(n) for n in range(12)]), most=5)
    assert len(found.strips) == 5
    assert found.note.startswith("The first 5 of 12 images")


def test_a_counterfactual_without_a_score_is_shown_as_such() -> None:
    bare = ContactRow("m", [record(0)], lambda _: flat(BLUE))
    assert sheet(bare).strips[0].shots[0].lines == ("not scored",)


def test_large_and_unequal_images_fit() -> None:
    strips = tuple(
        Strip(np.zeros((*size, 3), np.uint8), ("a",), (Shot(None, ("rejected",)),)) for size in ((900, 600), (40, 90))
    )
    assert opened(ContactSheet("t", "s", ("cf",), strips)).size[1] < 1200


def test_a_sheet_is_called_by_its_group() -> None:
    assert file_name(("red circle", "tench, Tinca tinca/x")) == "red-circle--tench-Tinca-tinca-x.png"


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(ValueError, match="`strips` must hold at least one image"):
        contact_sheet(ContactSheet("t", "", (), ()))


@pytest.fixture
def study(tmp_path: Path) -> Files:
    """Files of two images and their counterfactuals."""
    records = [record(0), record(1, Status.REJECTED)]
    for name, of in (("sources", [source(0), source(1)]), ("made", records), ("scores", [score(records[0])])):
        write_jsonl(tmp_path / f"{name}.jsonl", of)
    for name, color, files in (("sources", RED, ["i0.png", "i1.png"]), ("made", BLUE, ["0-0.png"])):
        folder = folder_of(tmp_path / f"{name}.jsonl")
        folder.mkdir()
        for file in files:
            (folder / file).write_bytes(flat(color).png)
    return lambda name: tmp_path / f"{name}.jsonl"


def test_the_verb_writes_a_sheet_for_each_group(cfeval: Run, study: Files, tmp_path: Path) -> None:
    given = ["--images", study("sources"), "--counterfactuals", study("made"), "--scores", study("scores")]
    assert cfeval("vce", "contact-sheet", *given, "--label", "dbvce", "--out", tmp_path / "sheets.jsonl") == (
        0,
        "",
        "",
    )
    assert [path.name for path in (tmp_path / "sheets").iterdir()] == ["red-circle--blue-circle.png"]
    (named,) = read_jsonl(tmp_path / "sheets.jsonl", SheetRecord)
    assert (named.source, named.target, named.image.path) == (*GROUP, "red-circle--blue-circle.png")


def test_counterfactuals_of_unknown_images_are_one_line(cfeval: Run, study: Files, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "one.jsonl", [source(0)])
    given = ["--images", tmp_path / "one.jsonl", "--counterfactuals", study("made"), "--out", tmp_path / "s.jsonl"]
    status, _, err = cfeval("vce", "contact-sheet", *given)
    assert (status, err.count("\n")) == (2, 1)
    assert "the counterfactual 1-0 is of the image i1, which" in err


def test_as_many_scores_as_counterfactuals_are_needed(cfeval: Run, study: Files, tmp_path: Path) -> None:
    given = ["--images", study("sources"), "--counterfactuals", study("made"), "--out", tmp_path / "s.jsonl"]
    status, _, err = cfeval("vce", "contact-sheet", *given, "--label", "a", "--label", "b")
    assert (status, err) == (2, "cfeval: --label: 2 for 1 --counterfactuals; give one each\n")
