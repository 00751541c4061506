"""The plugins `given`: edits that users bring in a table."""

import csv
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, PluginError
from cfeval.core.images import Image, import_image
from cfeval.core.jsonl import read_csv, read_jsonl, write_jsonl
from cfeval.core.records import Status
from cfeval.datasets.sample import Sample
from cfeval.edct.asked import Conditions
from cfeval.edct.files import stage_files
from cfeval.edct.interfaces import EditReply, EditRequest, VerifyReply, VerifyRequest, WriteReply, WriteRequest
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Score
from cfeval_testbed.language.instructions import parse_instruction
from tests.answers import answers
from tests.conftest import Run
from tests.images import image
from tests.slow import slow
from tests.testbed.drawn_edits import drawn, wanted
from tests.told import told

COLUMNS = ("item", "concept", "instruction", "image", "negative", "mask")
BUS = {"item": "i1", "concept": "red bus", "instruction": "Make the bus blue.", "image": "bus.png", "negative": "red"}
ROAD = {"item": "i1", "concept": "wet road", "instruction": "Make the road dry.", "image": "dry/road.png"}
ORIGINAL = image(10)


def table(folder: Path, *rows: dict[str, str], name: str = "edits.csv", images: bool = True) -> str:
    """A table of edits in a folder with their images."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    for number, row in enumerate(rows if images else ()):
        (folder / row["image"]).parent.mkdir(exist_ok=True)
        (folder / row["image"]).write_bytes(image(100 + number).png)
    return str(path)


def write(path: str, item: str = "i1", says: str = "I see the red bus.", **options: Any) -> WriteReply:
    writer = registry.build("instruction_writers", {"plugin": "given", "path": path, **options})
    return answers(writer.write, [WriteRequest(item, "What is it?", "A bus.", says, seed=1)])[0]


def edit(path: str, item: str = "i1", told: str = BUS["instruction"], **options: Any) -> EditReply:
    editor = registry.build("editors", {"plugin": "given", "path": path, **options})
    return answers(editor.edit, [EditRequest(item, ORIGINAL, told, "", seed=1)])[0]


@pytest.mark.parametrize("name", ["edits.csv", "edits.jsonl"])
def test_the_writer_takes_the_first_edit_whose_concept_the_explanation_names(tmp_path: Path, name: str) -> None:
    path = table(tmp_path, BUS, ROAD, name=name)
    [told] = write(path).edits
    assert (told.concept, told.positive, told.negative) == ("red bus", "Make the bus blue.", "red")
    assert [one.concept for one in write(path, says="The road is wet.").edits] == ["wet road"]
    assert [one.concept for one in write(path, says="A wet road, and a red bus.").edits] == ["red bus"]


def test_an_item_without_an_edit_or_with_none_that_it_cites_has_no_instruction(tmp_path: Path) -> None:
    path = table(tmp_path, BUS, ROAD)
    missing, uncited = write(path, "i2"), write(path, says="I just know.")
    assert (missing.status, missing.reason) == (Status.UNPARSABLE, "no edit is given for this item")
    assert uncited.status == Status.UNPARSABLE
    assert uncited.reason == "the explanation names none of: 'red bus', 'wet road'"
    assert missing.edits == uncited.edits == ()


def test_people_may_vouch_that_a_concept_is_cited_in_other_words(tmp_path: Path) -> None:
    path = table(tmp_path, BUS, ROAD)
    assert [one.concept for one in write(path, says="The crimson coach.", unnamed="accept").edits] == ["red bus"]
    assert [one.concept for one in write(path, says="The road is wet.", unnamed="accept").edits] == ["wet road"]
    assert write(path, "i2", unnamed="accept").status == Status.UNPARSABLE


def test_the_writer_is_for_edct_2025_alone_and_check_says_so(tmp_path: Path) -> None:
    spec = {"plugin": "given", "path": table(tmp_path, BUS)}
    request = WriteRequest("i1", "q?", "a", "red bus", seed=1, protocol="edct-bench-2026")
    with pytest.raises(PluginError, match="edct-bench-2026 has no given edits; use edct-2025 or another writer"):
        answers(registry.build("instruction_writers", spec).write, [request])
    said = registry.diagnose("instruction_writers", spec, protocols=["edct-2025", "uncited-edit", "null-edit"])
    assert [finding.fine for finding in said] == [True, False]


def test_the_editor_gives_the_image_that_was_made_by_the_instruction_and_no_other(tmp_path: Path) -> None:
    path = table(tmp_path, BUS, ROAD)
    made = edit(path, told=" Make the  bus blue.\n")
    assert made.image is not None
    assert (made.image.pixels == image(100).pixels).all()
    assert made.details == {"given": "bus.png"}
    for item, wish in (("i1", "Make the bus green."), ("i2", BUS["instruction"])):
        lost = edit(path, item, wish)
        assert (lost.status, lost.image) == (Status.EDIT_INVALID, None)
        assert lost.reason == "no image is given for this item and instruction"


def test_a_mask_says_how_much_changed_elsewhere(tmp_path: Path) -> None:
    """The left half of the image changed, and a quarter of what changed lies outside the mask."""
    pixels = ORIGINAL.pixels.copy()
    pixels[:, :4] = 250
    region = np.zeros(pixels.shape[:2], np.uint8)
    region[:, :3] = 255
    path = table(tmp_path, BUS | {"mask": "mask.png"}, images=False)
    (tmp_path / "bus.png").write_bytes(Image.from_pixels(pixels).png)
    PIL.Image.fromarray(region).save(tmp_path / "mask.png")
    assert edit(path).details == {"given": "bus.png", "outside": "0.2500"}


def test_the_images_are_files_that_the_results_depend_on(tmp_path: Path) -> None:
    path = table(tmp_path, BUS, ROAD)
    named = registry.dependencies("editors", {"plugin": "given", "path": path})
    assert {Path(name).name for name in named} == {"edits.csv", "bus.png", "road.png"}
    folder = registry.dependencies("editors", {"plugin": "given", "path": path, "images": str(tmp_path)})
    assert [Path(name).name for name in folder] == ["edits.csv", tmp_path.name]
    assert registry.dependencies("editors", {"plugin": "given", "path": "none.csv"}) == ("none.csv",)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"instruction": ""}, "row 1: 'instruction' is missing; item, instruction, .* must be filled"),
        ({"item": " "}, "row 1: 'item' is missing"),
        ({"image": "../secret.png"}, "row 1: .*secret.png' leads out of"),
        ({"image": "lost.png"}, "row 1: no image 'lost.png' in"),
        ({"image": ""}, "row 1: 'image' is missing"),
        ({"mask": "lost.png"}, "row 1: no image 'lost.png' in"),
    ],
)
def test_a_bad_row_is_named_in_one_line(tmp_path: Path, row: dict[str, str], said: str) -> None:
    table(tmp_path, BUS)
    with pytest.raises(InputError, match=said):
        edit(table(tmp_path, BUS | row, images=False))


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("item,concept\n", "t.csv", "t.csv: holds no edit; a row has the columns item, concept, instruction, image"),
        ("item,concept,instruction,masks\ni,c,p,m\n", "t.csv", "row 1: unknown column 'masks'; did you mean 'mask'"),
        ("item,concept,instruction\ni,,p\n", "t.csv", "row 1: 'concept' is missing"),
        ("item,concept,instruction\ni,c,p\ni,d,p\n", "t.csv", "row 2: item 'i' has this instruction twice"),
        ('{"item": "i"\n', "t.jsonl", "line 1: not JSON"),
        ("[1]\n", "t.jsonl", "row 1: an object is needed"),
        ("x", "t.txt", "t.txt: a table of edits is a .csv, .tsv, .jsonl file"),
        (None, "t.csv", "t.csv: no such file"),
    ],
)
def test_a_bad_table_ends_the_stage_with_one_line_and_status_2(
    tmp_path: Path, cfeval: Run, content: str | None, name: str, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    study = Tiny(tmp_path, cfeval)
    status, line = study.stage("instructions", "--writer", {"plugin": "given", "path": str(tmp_path / name)})
    assert status == 2
    assert line.count("\n") == 1
    assert said in line
    assert not (tmp_path / "instructions.jsonl").exists()


class Tiny:
    """Three items through the command line: the first two with conversations, the third refused."""

    def __init__(self, folder: Path, cfeval: Run) -> None:
        self.folder, self.cfeval = folder, cfeval
        (folder / "samples").mkdir()
        (folder / "samples" / "x.png").write_bytes(ORIGINAL.png)
        write_jsonl(
            folder / "samples.jsonl",
            [Sample(id=item, image=ORIGINAL.ref("x.png"), question="What is it?") for item in ("i1", "i2", "i3")],
        )
        said = {"question": "What is it?", "answer": "A bus.", "explanation": "I see the red bus."}
        refused = {"question": "What is it?", "status": "refused", "stage": "baselines", "reason": "no"}
        write_jsonl(
            folder / "baselines.jsonl",
            [Baseline(id="i1", **said), Baseline(id="i2", **said), Baseline.model_validate({"id": "i3", **refused})],
        )

    def stage(self, name: str, option: str, spec: dict[str, Any], *files: str) -> tuple[int, str]:
        """Run a stage on the files that it reads, and return its exit status and what it says."""
        read = [
            part for file in files or ("samples", "baselines") for part in (f"--{file}", self.folder / f"{file}.jsonl")
        ]
        given = (*read, option, json.dumps(spec), "--seed", 7, "--out", self.folder / f"{name}.jsonl")
        status, _, said = self.cfeval("edct", name, *given)
        return status, said


def test_a_study_runs_on_given_edits_and_scores_no_item_without_one(tmp_path: Path, cfeval: Run) -> None:
    study = Tiny(tmp_path, cfeval)
    given = {"plugin": "given", "path": table(tmp_path, BUS)}
    mock = {"plugin": "mock"}
    verifier = {"plugin": "localised", "mask": {"plugin": "difference"}}
    steps: list[tuple[Any, ...]] = [
        ("instructions", "--writer", given),
        ("counterfactuals", "--editor", given, "samples", "instructions"),
        ("checks", "--verifier", verifier, "samples", "instructions", "counterfactuals"),
        ("requeries", "--vlm", mock, "samples", "counterfactuals"),
        ("verdicts", "--judge", mock, "requeries", "baselines", "instructions", "counterfactuals"),
    ]
    for step in steps:
        assert study.stage(*step)[0] == 0
    written = list(read_jsonl(tmp_path / "instructions.jsonl", Instruction))
    assert [(one.status.value, one.positive) for one in written] == [
        ("ok", BUS["instruction"]),
        ("unparsable", ""),
        ("refused", ""),
    ]
    made = next(iter(read_jsonl(tmp_path / "counterfactuals.jsonl", Counterfactual)))
    assert made.image is not None
    shown = import_image(tmp_path / "counterfactuals" / made.image.path)
    assert (shown.pixels == image(100).pixels).all()
    condition = Condition(dataset="d", vlm="m", writer="g", protocol="edct-2025", editor="g", judge="j")
    results, scores = tmp_path / "edct", tmp_path / "scores"
    for name in ("verdicts", "checks", "samples", "baselines", "instructions"):
        [file] = stage_files(results, "items" if name == "samples" else name, condition, 1)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / f"{name}.jsonl", file)
    asked = told(tmp_path, Conditions(conditions=(condition,)))
    assert cfeval("edct", "scores", "--study", asked, "--results", results, "--out", scores)[0] == 0
    [file] = scores.rglob("edct-2025.csv")
    rows = read_csv(file, Score)
    assert [(row.id, row.status.value, row.ccs is None) for row in rows] == [
        ("i1", "ok", False),
        ("i2", "unparsable", True),
        ("i3", "refused", True),
    ]
    assert rows[1].reason == "no edit is given for this item"


def test_the_editor_refuses_an_instruction_that_another_writer_wrote(tmp_path: Path, cfeval: Run) -> None:
    study = Tiny(tmp_path, cfeval)
    assert study.stage("instructions", "--writer", {"plugin": "mock"})[0] == 0
    given = {"plugin": "given", "path": table(tmp_path, BUS)}
    assert study.stage("counterfactuals", "--editor", given, "samples", "instructions")[0] == 0
    ends = [one.status.value for one in read_jsonl(tmp_path / "counterfactuals.jsonl", Counterfactual)]
    assert ends == ["edit_invalid", "edit_invalid", "refused"]


def test_an_image_that_is_none_ends_the_stage_with_one_line(tmp_path: Path, cfeval: Run) -> None:
    study = Tiny(tmp_path, cfeval)
    given = {"plugin": "given", "path": table(tmp_path, BUS)}
    (tmp_path / "bus.png").write_text("no image")
    assert study.stage("instructions", "--writer", given)[0] == 0
    status, said = study.stage("counterfactuals", "--editor", given, "samples", "instructions")
    assert (status, said.count("\n")) == (2, 1)
    assert "bus.png: not an image" in said


@pytest.mark.parametrize("size", [(16, 12), (5, 9)])
def test_an_image_of_another_size_is_measured_like_any_other(
    tmp_path: Path, cfeval: Run, size: tuple[int, int]
) -> None:
    study = Tiny(tmp_path, cfeval)
    given = {"plugin": "given", "path": table(tmp_path, BUS)}
    (tmp_path / "bus.png").write_bytes(image(200, size).png)
    verifier = {"plugin": "localised", "mask": {"plugin": "difference"}}
    files = ("samples", "instructions", "counterfactuals")
    assert study.stage("instructions", "--writer", given)[0] == 0
    assert study.stage("counterfactuals", "--editor", given, *files[:2])[0] == 0
    assert study.stage("checks", "--verifier", verifier, *files)[0] == 0
    check = next(iter(read_jsonl(tmp_path / "checks.jsonl", Check)))
    assert (check.status, check.changed_share) == (Status.OK, 1)


# The gate on drawn edits of known quality: 20 of each kind, and 70 in the slow tests.


COUNT, FEWER = 70, 20
GOOD, BAD = ("none", "shifted"), ("wrong_object", "spill", "none_made")
SCENE = {"plugin": "scene"}


def verdicts(requests: tuple[VerifyRequest, ...], mask: dict[str, object]) -> list[VerifyReply]:
    replies: list[VerifyReply] = answers(
        registry.build("verifiers", {"plugin": "localised", "mask": mask}).verify, requests
    )
    return replies


def accepted(requests: tuple[VerifyRequest, ...], mask: dict[str, object]) -> float:
    return float(np.mean([reply.verified is True for reply in verdicts(requests, mask)]))


@pytest.mark.slow
def test_every_kind_of_edit_is_there() -> None:
    kinds = Counter(intent.kind for r in wanted(COUNT) if (intent := parse_instruction(r.positive)))
    assert set(kinds) == {"color", "shape", "object", "remove", "background"}
    assert min(kinds.values()) >= 5


@pytest.mark.parametrize(("fault", "count"), [(GOOD[0], FEWER), *(slow(fault, COUNT) for fault in GOOD)])
def test_with_exact_masks_good_edits_are_accepted(fault: str, count: int) -> None:
    assert accepted(drawn(count, fault), SCENE) >= 0.95


@pytest.mark.parametrize(("fault", "count"), [(BAD[0], FEWER), *(slow(fault, COUNT) for fault in BAD)])
def test_with_exact_masks_bad_edits_are_rejected(fault: str, count: int) -> None:
    assert accepted(drawn(count, fault), SCENE) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "least", "most"), [("none", 0.95, 1), *((fault, 0, 0.05) for fault in BAD)])
def test_a_shift_hides_nothing(fault: str, least: float, most: float) -> None:
    """Moved by another amount than the editor's own shift, with black borders instead of repeated ones."""
    moved = tuple(replace(r, edited=_moved(r.edited, 4, -2)) for r in drawn(FEWER, fault))
    assert least <= accepted(moved, SCENE) <= most


def _moved(image: Image, across: int, down: int) -> Image:
    pixels = np.roll(image.pixels, (down, across), (0, 1))
    pixels[:, :across] = 0
    pixels[down:] = 0
    return Image.from_pixels(pixels)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "least", "most"), [("none", 0.95, 1), *((fault, 0, 0.05) for fault in BAD)])
def test_the_learned_locator_does_as_well(fault: str, least: float, most: float) -> None:
    assert least <= accepted(drawn(FEWER, fault), {"plugin": "locator"}) <= most


@pytest.mark.slow
def test_without_a_detector_only_spill_and_idleness_are_found() -> None:
    """Of an edit of the background or of everything, without a detector, there is no telling."""
    mask = {"plugin": "difference"}
    found = {fault: verdicts(drawn(FEWER, fault), mask) for fault in (*GOOD, *BAD)}
    told = {fault: Counter(reply.verified for reply in replies) for fault, replies in found.items()}
    assert told["spill"] == {None: FEWER}
    assert told["none_made"] == {False: FEWER}
    assert told["wrong_object"][True] > 0.95 * FEWER, "blind to what was edited"
    for fault in GOOD:
        backgrounds = sum("background" in r.concept for r in wanted(FEWER))
        assert told[fault] == {True: FEWER - backgrounds, None: backgrounds}


@pytest.mark.slow
def test_known_limits_with_exact_masks() -> None:
    """Any change of the right object is one; another object beside it is seen, though it is under the paper's 30 %.

    A second verifier that reads what is there sees a wrong value: `test_local_editors`.
    """
    objects = [n for n, r in enumerate(wanted(FEWER)) if "background" not in r.concept]
    for fault, accepts in (("extra_object", False), ("wrong_value", True)):
        requests = tuple(drawn(FEWER, fault)[n] for n in objects)
        assert (accepted(requests, SCENE) > 0.95) is accepts
        assert accepts or accepted(requests, SCENE) < 0.05
