"""Chains of edits on the test bed: each editor and the verifier take them from the result of the one before."""

from dataclasses import replace
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest, VerifyReply, VerifyRequest, WriteRequest
from cfeval_testbed.agents.repaint import find
from cfeval_testbed.language.instructions import scene_after
from cfeval_testbed.records import Scene
from cfeval_testbed.render import render
from cfeval_testbed.scenes import SceneEditError, as_metadata, replace_slot
from tests.answers import answers
from tests.testbed.scenes import scene_of

SCENE = scene_of(("red", "circle"), ("blue", "star"), None, ("green", "cross"))
IMAGE = Image.from_pixels(render(SCENE))
RECOLOR = "Change the color of the circle in the top left from red to white. Keep everything else as it is."
REMOVE = (
    "Remove the white circle in the top left so that only the background remains there. Keep everything else as it is."
)
REPAINT = "Change the background from gray to mint. Keep everything else as it is."
RECOLORED = replace_slot(SCENE, 0, color="white")
REMOVED = replace_slot(RECOLORED, 0, present=False)


def edited(editor: str, image: Image, positive: str, scene: Scene | None, *before: str) -> EditReply:
    request = EditRequest(
        "i", image, positive, "", 3, metadata=scene and as_metadata(scene), edit=len(before) + 1, before=before
    )
    [reply] = answers(registry.build("editors", {"plugin": editor}).edit, [request])
    assert isinstance(reply, EditReply)
    return reply


def test_the_scene_after_instructions_is_the_one_that_each_found_and_changed() -> None:
    assert scene_after(SCENE, []) == SCENE
    assert scene_after(SCENE, [RECOLOR, REMOVE]) == REMOVED
    assert scene_after(SCENE, [RECOLOR.replace("from red", "from blue")]) == RECOLORED, "whatever was there before"
    assert scene_after(SCENE, ["Add a black star where the large object in the bottom left would be."]).slots[2].present


@pytest.mark.parametrize(
    ("instructions", "reason"),
    [
        ([REMOVE], "0 objects in the scene fit 'the white circle in the top left', and one is needed"),
        ([RECOLOR, RECOLOR, "Make it nicer."], "the instruction is not in the test bed's language"),
        (["Change the color of the object from red to blue."], "3 objects in the scene fit 'the object'"),
        (["Change the background from gray to lava."], "the background must be one of"),
    ],
)
def test_an_instruction_that_does_not_fit_the_scene_it_meets_is_refused(instructions: list[str], reason: str) -> None:
    with pytest.raises(SceneEditError, match=reason):
        scene_after(SCENE, instructions)


def test_the_scene_editor_draws_all_edits_of_a_chain() -> None:
    first = edited("scene", IMAGE, RECOLOR, SCENE)
    assert first.image == Image.from_pixels(render(RECOLORED))
    second = edited("scene", first.image or IMAGE, REMOVE, SCENE, RECOLOR)
    assert second.image == Image.from_pixels(render(REMOVED))
    assert second.details == {"edit": "remove", "to": ""}


@pytest.mark.parametrize(
    ("before", "status"), [((), Status.CITATION_ABSENT), (("Make it nicer.",), Status.EDIT_INVALID)]
)
def test_the_scene_editor_needs_the_chain_to_make_sense(before: tuple[str, ...], status: Status) -> None:
    reply = edited("scene", IMAGE, REMOVE, SCENE, *before)
    assert (reply.status, reply.image) == (status, None)
    assert reply.reason


@pytest.mark.slow
def test_an_editor_of_pixels_goes_on_from_the_image_it_is_given() -> None:
    first = edited("diffusion", IMAGE, RECOLOR, None)
    second = edited("diffusion", first.image or IMAGE, REMOVE, None, RECOLOR)
    assert second.image is not None
    [seen] = answers(
        registry.build("verifiers", {"plugin": "reader"}).verify,
        [VerifyRequest("i", first.image or IMAGE, second.image, REMOVE, as_metadata(SCENE), before=(RECOLOR,))],
    )
    assert seen.verified, seen.reason


def verified(edited: Scene, **changes: Any) -> VerifyReply:
    request = VerifyRequest("i", IMAGE, Image.from_pixels(render(edited)), RECOLOR, as_metadata(SCENE))
    [reply] = answers(registry.build("verifiers", {"plugin": "reader"}).verify, [replace(request, **changes)])
    assert isinstance(reply, VerifyReply)
    return reply


def test_the_verifier_knows_the_scene_that_an_edit_began_with() -> None:
    chain = {"original": Image.from_pixels(render(RECOLORED)), "positive": REMOVE, "before": (RECOLOR,)}
    assert verified(REMOVED, **chain).verified is True
    assert verified(RECOLORED, **chain).verified is False
    both_back = replace_slot(REMOVED, 1, color="red")
    assert verified(both_back, **chain).verified is False
    assert verified(REMOVED, **{**chain, "before": ()}).verified is None, "there is no white circle in the original"
    assert verified(RECOLORED).verified is True


def test_the_ground_of_an_easy_vqa_image_is_tinted_and_its_shape_untouched() -> None:
    [sample] = registry.build("datasets", {"plugin": "easy_vqa"}).samples(1, 0)
    reply = edited("repaint", sample.image, REPAINT, None)
    assert reply.image is not None
    moved = (reply.image.pixels != sample.image.pixels).any(axis=2)
    covered = find(sample.image.pixels).coverage
    assert moved[covered == 0].all()
    assert not moved[covered == 1].any(), "only the smooth edge of the shape mixes with the ground"
    assert reply.details == {"edit": "background", "to": "mint"}


def test_the_scripted_writer_writes_as_many_edits_as_are_wanted_and_the_first_as_ever() -> None:
    writer = registry.build("instruction_writers", {"plugin": "mock", "positive": "Change {explanation}"})
    [one], [three] = (
        answers(writer.write, [WriteRequest("i", "q", "a", "the hat", 0, edits, "edct-bench-2026")]) for edits in (1, 3)
    )
    assert three.edits[:1] == one.edits
    assert one.edits[0].positive == "Change the hat"
    assert len({edit.concept for edit in three.edits}) == len({edit.positive for edit in three.edits}) == 3
    [uncited] = answers(writer.write, [WriteRequest("i", "q", "a", "the hat", 0, 2, "uncited-edit")])
    assert [edit.evidence for edit in uncited.edits] == ["object", "background"]
