"""The editor that errs on purpose: what it draws, told by a network that reads scenes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.edct.metrics import is_unedited
from cfeval_testbed.agents.scene_reader import Reading, SceneReader, expected_readings, reading_of
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.plugins.editors_flawed import ANY, Fault
from cfeval_testbed.records import POSITIONS
from tests.answers import answers
from tests.slow import first_fast
from tests.testbed.drawn_edits import wanted
from tests.testbed.scenes import recorded

COUNT = 40


def made(fault: Fault, share: float = 1.0, requests: Sequence[EditRequest] = ()) -> list[EditReply]:
    editor = registry.build("editors", {"plugin": "flawed", "fault": fault, "share": share})
    replies: list[EditReply] = answers(editor.edit, requests or wanted(COUNT))
    return replies


def read(replies: list[EditReply]) -> list[Reading]:
    return SceneReader().read([reply.image.pixels for reply in replies if reply.image])


def right(request: EditRequest) -> Reading:
    intent = parse_instruction(request.positive)
    assert intent is not None
    [reading] = expected_readings(reading_of(recorded(request.metadata)), intent)
    return reading


def test_without_a_fault_it_draws_what_the_perfect_editor_draws() -> None:
    perfect = answers(registry.build("editors", {"plugin": "scene"}).edit, wanted(COUNT))
    assert [reply.image for reply in made("none")] == [reply.image for reply in perfect]


@pytest.mark.parametrize("fault", first_fast(ANY, 2))
def test_a_faulty_edit_shows_another_scene_than_the_right_one(fault: Fault) -> None:
    readings = read(made(fault))
    as_told = [reading == right(request) for reading, request in zip(readings, wanted(COUNT), strict=True)]
    assert np.mean(as_told) == 0


def test_another_object_is_edited_instead_and_nothing_else_changes() -> None:
    for request, target, reply in zip(wanted(COUNT), targets(), made("wrong_object"), strict=True):
        assert len(touched := changed_quadrants(request.image, reply.image)) == 1
        assert target is None or touched != {target}


def test_another_object_is_edited_too_and_nothing_else_changes() -> None:
    for perfect, target, reply in zip(made("none"), targets(), made("extra_object"), strict=True):
        assert len(touched := changed_quadrants(perfect.image, reply.image)) == 1
        assert target is None or touched != {target}


def test_only_the_target_becomes_something_else_than_told() -> None:
    for perfect, target, reply in zip(made("none"), targets(), made("wrong_value"), strict=True):
        assert changed_quadrants(perfect.image, reply.image) == ({0, 1, 2, 3} if target is None else {target})


def test_spill_leaves_nothing_as_it_was() -> None:
    for request, reply in zip(wanted(COUNT), made("spill"), strict=True):
        assert changed_quadrants(request.image, reply.image) == {0, 1, 2, 3}
    for request, spilt in zip(wanted(COUNT), read(made("spill")), strict=True):
        scene = recorded(request.metadata)
        assert spilt.background != scene.background
        for slot, seen in zip(scene.slots, spilt.slots, strict=True):
            assert not slot.present or seen is None or seen[1] != slot.color or seen[2] != slot.shape


def test_where_no_edit_was_made_only_the_noise_is_another() -> None:
    for request, reply in zip(wanted(COUNT), made("none_made"), strict=True):
        assert reply.image is not None
        difference = np.abs(request.image.pixels.astype(int) - reply.image.pixels)
        assert 1 < difference.mean() < 6
        assert difference.max() < 24


def test_a_no_op_is_the_original_with_other_bytes() -> None:
    for request, reply in zip(wanted(COUNT), made("no_op"), strict=True):
        assert reply.image is not None
        assert reply.image != request.image
        assert is_unedited(request.image.pixels, reply.image.pixels)


def targets() -> list[int | None]:
    """The quadrant that each instruction names; None for the background."""
    intents = [parse_instruction(request.positive) for request in wanted(COUNT)]
    return [POSITIONS.index(i.target.position) if i and i.target.position else None for i in intents]


def changed_quadrants(before: Image | None, after: Image | None) -> set[int]:
    assert before is not None
    assert after is not None
    differs = (before.pixels != after.pixels).any(axis=2).reshape(2, 32, 2, 32).any(axis=(1, 3))
    return set(np.flatnonzero(differs).tolist())


def test_a_shifted_edit_is_the_right_one_three_pixels_away() -> None:
    for perfect, shifted in zip(made("none"), made("shifted"), strict=True):
        assert perfect.image
        assert shifted.image
        moves = [(x, y) for x in (-3, 0, 3) for y in (-3, 0, 3) if x or y]
        inner = shifted.image.pixels[3:-3, 3:-3]
        assert any((np.roll(perfect.image.pixels, (y, x), (0, 1))[3:-3, 3:-3] == inner).all() for x, y in moves)


@pytest.mark.slow
def test_the_share_is_kept_and_chosen_by_item_edit_and_seed() -> None:
    many = wanted(200)
    faulty = [reply.details["fault"] == "spill" for reply in made("spill", 0.3, many)]
    assert np.mean(faulty) == pytest.approx(0.3, abs=0.08)
    few, faulty = many[:COUNT], faulty[:COUNT]
    assert [reply.details["fault"] == "spill" for reply in made("spill", 0.3, few[::-1])[::-1]] == faulty
    another = made("spill", 0.3, tuple(replace(request, seed=request.seed + 1) for request in few))
    assert [reply.details["fault"] == "spill" for reply in another] != faulty, "another try may be right"
    assert {reply.details["fault"] for reply in made("any", 1.0, few)} == set(ANY)
    more = [reply.details["fault"] == "spill" for reply in made("spill", 0.6, few)]
    assert all(new for old, new in zip(faulty, more, strict=True) if old)
    other_edit = made("spill", 0.3, tuple(replace(request, edit=2) for request in few))
    assert [reply.details["fault"] == "spill" for reply in other_edit] != faulty


def test_an_edit_is_applied_to_what_earlier_ones_left() -> None:
    request = next(r for r in wanted(COUNT) if recorded(r.metadata).background != "sky")
    first = f"Change the background from {recorded(request.metadata).background} to sky. Keep everything else as it is."
    second = "Change the background from sky to mint. Keep everything else as it is."
    chained = replace(request, positive=second, before=(first,))
    [reply] = made("none", requests=(chained,))
    assert read([reply])[0].background == "mint"
    [idle] = made("none_made", requests=(chained,))
    assert read([idle])[0].background == "sky"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": None}, "the sample has no scene record"),
        ({"positive": "make it nicer"}, "not in the test bed's language"),
        ({"before": ("make it nicer",)}, "not in the test bed's language"),
    ],
)
def test_what_cannot_be_drawn_is_an_invalid_edit(change: dict[str, object], reason: str) -> None:
    [reply] = made("spill", requests=(replace(wanted(COUNT)[0], **change),))  # type: ignore[arg-type]
    assert reply.status == Status.EDIT_INVALID
    assert reason in reply.reason
