"""Concept edits: what is named becomes counterfactuals, each of the original, and what fails says so."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Status
from cfeval.edct.interfaces import Edit, EditReply, EditRequest, WriteReply, WriteRequest
from cfeval.edct.plugins.concept_editor import ConceptEdit, Instructed
from cfeval.vce.predictions import REGIONS, looked_at
from cfeval.vce.records import Group, SourceImage, VceCounterfactual, VceScore
from cfeval.vce.stages.concept_edits import edited
from cfeval.vce.stages.counterfactuals import wanted
from tests.conftest import Run
from tests.images import image
from tests.vce.stages.colors import Colors

PICTURE = image(90, size=(32, 24))
GROUPS = [Group(source="red", target="green"), Group(source="red", target="blue", pair="other")]
SOURCES = [SourceImage(id=f"r-{n}", label="red", number=n, image=PICTURE.ref(f"r-{n}.png")) for n in range(2)]


class Writer:
    """Names what it is told to; notes its requests."""

    def __init__(self, *concepts: str, status: Status = Status.OK) -> None:
        self.concepts, self.status = concepts, status
        self.requests: list[WriteRequest] = []

    async def write(self, request: WriteRequest) -> WriteReply:
        self.requests.append(request)
        edits = tuple(Edit(concept, f"Change the {concept}.", "") for concept in self.concepts)
        return WriteReply(edits, status=self.status, reason="it was cut off" * (self.status != Status.OK), calls=("w",))


class Editor:
    """Paints another gray for another concept: larger images, the same one, or none, by what the concept says."""

    needs_metadata = False

    def __init__(self) -> None:
        self.requests: list[EditRequest] = []

    async def edit(self, request: EditRequest) -> EditReply:
        self.requests.append(request)
        if request.nothing:
            return EditReply(request.image)
        if "absent" in request.concept:
            return EditReply(status=Status.CITATION_ABSENT, reason="there is none")
        if "same" in request.concept:
            return EditReply(request.image)
        if "lost" in request.concept:
            return EditReply()
        return EditReply(image(250, size=(64, 48)), calls=("e",))


def edits(writer: Writer | None, editor: Editor | None, most: int = 6, **changed: Any) -> Sequence[ConceptEdit]:
    asked = {"item": "i", "image": PICTURE, "classes": ("red", "green"), "explanation": "The middle.", "seed": 3}
    return asyncio.run(Instructed(writer, editor, most).edit(**asked | changed))


def test_each_concept_is_edited_in_the_original_and_what_fails_says_why() -> None:
    writer, editor = Writer("sky", "absent sea", "same sun", "lost moon", "ground"), Editor()
    made = edits(writer, editor, most=4)
    assert [(one.concept, one.status.value, one.reason) for one in made] == [
        ("sky", "ok", ""),
        ("absent sea", "edit_invalid", "there is none"),
        ("same sun", "edit_invalid", "the image did not change"),
        ("lost moon", "no_image", "the editor returned no image"),
    ]
    assert made[0].image is not None
    assert made[0].image.pixels.shape == PICTURE.pixels.shape
    assert made[0].calls == ("w", "e")
    assert all(request.image is PICTURE for request in editor.requests)
    assert len({request.seed for request in editor.requests}) == 4
    [request] = writer.requests
    assert (request.question, request.answer, request.explanation, request.edits) == (
        *("What does this image show: red or green?", "red", "The middle."),
        4,
    )


@pytest.mark.parametrize("writer", [Writer(), Writer("sky", status=Status.TRUNCATED)])
def test_a_writer_that_names_nothing_leaves_one_record_that_says_so(writer: Writer) -> None:
    [lost] = edits(writer, Editor())
    assert (lost.image, lost.stage, lost.status != Status.OK, bool(lost.reason)) == (None, "instructions", True, True)


def test_nothing_is_changed_by_an_editor_or_by_storing_the_image_again() -> None:
    editor = Editor()
    [by_editor] = edits(None, editor)
    [stored] = edits(None, None)
    assert editor.requests[0].nothing
    assert (by_editor.concept, stored.concept) == ("nothing", "nothing")
    assert (by_editor.image, stored.image) == (PICTURE, PICTURE.reencoded())
    with pytest.raises(ParamsError, match="a writer without an editor"):
        registry.build("concept_editors", {"plugin": "instructed", "writer": {"plugin": "mock"}})


def test_every_edit_is_a_record_of_its_own_and_one_without_is_a_status() -> None:
    tasks = wanted(SOURCES, GROUPS, 1, 5, same_noise=True)
    editor = Instructed(Writer("sky", "lost moon"), Editor(), 6)
    made = [
        pair for some in edited(tasks, lambda _: PICTURE, editor, Colors("red", "green", "blue"), 5) for pair in some
    ]
    assert [(record.source_image, record.target, record.concept, record.repeat) for record, _ in made] == [
        (source.id, group.target, concept, number)
        for source in SOURCES
        for group in GROUPS
        for number, concept in enumerate(("sky", "lost moon"))
    ]
    assert len({record.id for record, _ in made}) == len(made)
    for record, files in made:
        assert list(files) == ([record.image.path] if record.image else [])
        assert (record.image is None) == (record.status == Status.NO_IMAGE) == (record.concept == "lost moon")
        assert record.instruction == f"Change the {record.concept}."


def test_records_of_other_methods_have_none_of_the_fields() -> None:
    names = {"id": "a", "source_image": "b", "source": "cat", "target": "fox", "pair": "ideal"}
    assert not {"concept", "instruction", "calls"} & VceCounterfactual.model_validate(names).model_dump().keys()
    edit = VceScore.model_validate(names | {"concept": "sky"})
    assert VceScore.model_validate_json(edit.model_dump_json()) == edit
    assert edit.model_dump()["concept"] == "sky"


@pytest.mark.parametrize("place", range(9))
def test_the_sentence_names_the_region_that_the_class_rests_on(place: int) -> None:
    pixels = np.full((3, 30, 33), -1.0, dtype=np.float32)
    rows, columns = np.array_split(np.arange(30), 3)[place // 3], np.array_split(np.arange(33), 3)[place % 3]
    pixels[0, rows[:, None], columns] = 1.0  # the only red there is

    class Brightest(Colors):
        def logits(self, images: Any, timesteps: Any = None, prepared: bool = True) -> Any:
            return images.amax(dim=(2, 3)) * 9

    said = looked_at(Brightest("red", "green", "blue"), pixels)
    assert said == f"The classifier sees red. The regions that count most for that: {REGIONS[place]} (100 %)."


def test_where_no_region_counts_the_sentence_says_so() -> None:
    flat = np.zeros((3, 9, 9), dtype=np.float32)
    assert looked_at(Colors("red", "green"), flat).endswith("No single region of the image counts for that.")


def test_the_command_edits_the_patches_of_drawn_cells(cfeval: Run, tmp_path: Path) -> None:
    images, out = tmp_path / "images.jsonl", tmp_path / "edits.jsonl"
    world = json.dumps({"plugin": "world"})
    assert cfeval(
        *("vce", "images", "--image-set", world, "--label", "red circle", "--count", 1, "--size", 32, "--seed", 1),
        *("--out", images),
    ) == (0, "", "")
    status, _, said = cfeval(
        *(
            "vce",
            "concept-edits",
            "--images",
            images,
            "--classifier",
            json.dumps({"plugin": "world", "kind": "shortcut"}),
        ),
        *(
            "--editor",
            json.dumps({"plugin": "instructed", "writer": {"plugin": "cells"}, "editor": {"plugin": "cells"}}),
        ),
        *("--groups", json.dumps([{"source": "red circle", "target": "red square"}]), "--seed", 1, "--out", out),
    )
    assert (status, said.count("\n")) == (0, 1), said
    made = list(read_jsonl(out, VceCounterfactual))
    assert {record.concept for record in made if record.status == Status.OK} == {
        "shape of the object",
        "patch in the top left corner",
        "patch in the bottom right corner",
    }
    original = load(folder_of(images), next(read_jsonl(images, SourceImage)).image).pixels
    for record in made:
        assert record.image is not None
        changed = (load(folder_of(out), record.image).pixels != original).any(2)
        if "patch" in record.concept:
            corner = changed[:6, :6] if "top left" in record.concept else changed[-6:, -6:]
            assert (corner.all(), changed.sum()) == (True, 36)


def test_no_groups_are_one_line_and_status_2(cfeval: Run, tmp_path: Path) -> None:
    world, null = json.dumps({"plugin": "world"}), json.dumps({"plugin": "instructed"})
    options = ("--images", tmp_path / "none.jsonl", "--classifier", world, "--editor", null, "--seed", 1)
    status, _, said = cfeval("vce", "concept-edits", *options, "--groups", "[]", "--out", tmp_path / "out.jsonl")
    assert (status, said.count("\n")) == (2, 1)
    assert "--groups: the list is empty" in said
