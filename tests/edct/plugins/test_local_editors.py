"""Any editor behind a gate: what is accepted, tried again, given up, and what is kept of it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image, Mask
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import EditReply, EditRequest, Found, VerifyReply, VerifyRequest
from cfeval.edct.plugins.chat_writer import Plugin as Writer
from cfeval.edct.plugins.local_editors import RADIUS, Gated, GatedPlugin, Inpaint
from cfeval.edct.plugins.segmenters import ClassifierPlugin as ByClassifier
from cfeval.edct.plugins.segmenters import Occluded, matching
from tests.answers import answers
from tests.conftest import Run
from tests.images import image
from tests.slow import slow
from tests.testbed.drawn_edits import wanted

FAILURES = [status for status in Status if status != Status.OK]
YES, NO, UNSURE = VerifyReply(True), VerifyReply(False, "it is not blue"), VerifyReply(None, "no mask")


class Painter:
    """Paints an image of the seed, unless told otherwise attempt by attempt."""

    def __init__(self, *replies: EditReply, needs_metadata: bool = False) -> None:
        self.replies, self.needs_metadata = replies, needs_metadata
        self.seen: list[EditRequest] = []

    async def edit(self, request: EditRequest) -> EditReply:
        self.seen.append(request)
        attempts = sum(seen.item == request.item for seen in self.seen)
        if attempts <= len(self.replies):
            return self.replies[attempts - 1]
        return EditReply(image(request.seed % 251), {"how": "painted"}, calls=(f"edit-{request.seed}",))


class QuestionValidator:
    """Says one thing after the other, of every item anew."""

    def __init__(self, *verdicts: VerifyReply) -> None:
        self.verdicts = verdicts
        self.seen: list[VerifyRequest] = []

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        self.seen.append(request)
        return self._one(request.item)

    def _one(self, item: str) -> VerifyReply:
        asked = sum(seen.item == item for seen in self.seen)
        return self.verdicts[min(asked, len(self.verdicts)) - 1]


def request(item: str = "i", seed: int = 7) -> EditRequest:
    metadata = wanted(1)[0].metadata
    return EditRequest(item, image(255), "Make it blue.", "red", seed, "the bus", metadata, 2, ("Make it small.",))


def gated(
    editor: Painter, verifier: QuestionValidator, retries: int = 1, unsure: Literal["accept", "reject"] = "reject"
) -> Callable[..., EditReply]:
    gate = Gated(editor, verifier, GatedPlugin(editor={}, verifier={}, retries=retries, unsure=unsure))
    return lambda: answers(gate.edit, [request()])[0]


def test_an_accepted_edit_passes_as_the_editor_made_it() -> None:
    editor, verifier = Painter(), QuestionValidator(YES)
    reply = gated(editor, verifier)()
    [alone] = answers(Painter().edit, [replace(request(), metadata=None)])
    assert replace(reply, attempts=(), details=alone.details) == alone
    assert reply.details == {"how": "painted", "verified_attempts": "1"}
    [attempt] = reply.attempts
    assert attempt.image is reply.image
    assert (attempt.seed, attempt.found) == (7, YES)


def test_the_first_attempt_is_the_request_of_a_condition_without_a_gate() -> None:
    editor = Painter()
    gated(editor, QuestionValidator(NO))()
    first, second = editor.seen
    assert first == replace(request(), metadata=None)
    assert second == replace(first, seed=derive_seed(7, "retry", 1))


def test_a_rejected_edit_is_made_once_more_and_both_attempts_are_kept() -> None:
    reply = gated(Painter(), QuestionValidator(NO, YES))()
    assert reply.status == Status.OK
    assert reply.image == image(derive_seed(7, "retry", 1) % 251)
    assert [(attempt.seed, attempt.found) for attempt in reply.attempts] == [(7, NO), (derive_seed(7, "retry", 1), YES)]
    assert reply.calls == ("edit-7", f"edit-{derive_seed(7, 'retry', 1)}")


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_what_is_rejected_to_the_end_is_an_invalid_edit_with_every_attempt(retries: int) -> None:
    editor = Painter()
    reply = gated(editor, QuestionValidator(NO), retries)()
    assert (reply.status, reply.image) == (Status.EDIT_INVALID, None)
    assert reply.reason == "not verified: it is not blue"
    assert len(reply.attempts) == len(editor.seen) == retries + 1
    assert len({attempt.seed for attempt in reply.attempts}) == retries + 1
    assert all(isinstance(attempt.image, Image) for attempt in reply.attempts)


@pytest.mark.parametrize(("unsure", "status", "attempts"), [("accept", Status.OK, 1), ("reject", "edit_invalid", 1)])
def test_what_cannot_be_told_is_accepted_or_rejected_as_the_user_says(
    unsure: Literal["accept", "reject"], status: Status, attempts: int
) -> None:
    reply = gated(Painter(), QuestionValidator(UNSURE), unsure=unsure)()
    assert reply.status == status
    assert len(reply.attempts) == attempts
    assert ("no mask" in reply.reason) == (unsure == "reject")


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("before", [0, 1])
def test_a_failure_of_the_editor_passes_through_and_is_not_tried_again(status: Status, before: int) -> None:
    made = (EditReply(image(1), calls=("first",)),) * before
    failed = EditReply(None, {}, status, "why", ("last",))
    editor, verifier = Painter(*made, failed), QuestionValidator(NO)
    reply = gated(editor, verifier, retries=3)()
    assert (reply.status, reply.reason, reply.image) == (status, "why", None)
    assert len(reply.attempts) == len(verifier.seen) == before
    assert reply.calls == ("first",) * before + ("last",)


@pytest.mark.parametrize("verified", [False, None])
def test_what_was_not_in_the_original_is_a_finding_and_is_not_tried_again(verified: bool | None) -> None:
    absent = VerifyReply(verified, "there is no bus", absent=True)
    gate = Gated(Painter(), QuestionValidator(absent), GatedPlugin(editor={}, verifier={}, retries=3))
    first, later = answers(gate.edit, [replace(request(), before=()), replace(request("j"), before=("Remove it.",))])
    assert (first.status, first.reason, first.image) == (
        Status.CITATION_ABSENT,
        "not verified: there is no bus",
        None,
    )
    assert later.status == Status.EDIT_INVALID, "an earlier edit may have taken it away"
    assert [len(reply.attempts) for reply in (first, later)] == [1, 1]


def test_an_image_in_which_nothing_was_edited_is_rejected_unseen_and_made_once_more() -> None:
    same = EditReply(request().image.reencoded(), {"how": "stored anew"})
    verifier = QuestionValidator(YES)
    reply = gated(Painter(same), verifier)()
    assert (reply.status, len(verifier.seen)) == (Status.OK, 1)
    assert [(one.found.verified, one.found.reason) for one in reply.attempts] == [
        (False, "the image did not change"),
        (True, ""),
    ]
    assert [one.details for one in reply.attempts] == [{"how": "stored anew"}, {"how": "painted"}]


def test_an_editor_that_gives_no_image_is_not_verified() -> None:
    verifier = QuestionValidator(YES)
    reply = gated(Painter(EditReply()), verifier)()
    assert (reply.status, reply.image, reply.attempts, verifier.seen) == (Status.OK, None, (), [])


def test_the_verifier_is_told_everything_and_the_editor_gets_the_scene_only_where_it_asks() -> None:
    for needs_metadata in (False, True):
        editor, verifier = Painter(needs_metadata=needs_metadata), QuestionValidator(YES)
        reply = gated(editor, verifier)()
        assert (editor.seen[0].metadata is not None) == needs_metadata
        [asked] = verifier.seen
        told = request()
        assert (asked.original, asked.edited) == (told.image, reply.image)
        assert (asked.positive, asked.negative, asked.concept) == (told.positive, told.negative, told.concept)
        assert (asked.metadata, asked.before, asked.edit) == (told.metadata, told.before, told.edit)
        assert asked.seed not in (told.seed, 0)


def test_items_do_not_depend_on_each_other_and_only_the_rejected_are_made_again() -> None:
    class Choosy(QuestionValidator):
        def _one(self, item: str) -> VerifyReply:
            return NO if item == "b" else YES

    editor = Painter()
    gate = Gated(editor, Choosy(), GatedPlugin(editor={}, verifier={}, retries=1))
    requests = [request(item, seed) for seed, item in enumerate("abc")]
    together = answers(gate.edit, requests)
    assert sorted(seen.item for seen in editor.seen) == ["a", "b", "b", "c"]
    assert [answers(gate.edit, [one])[0] for one in requests] == together
    assert answers(gate.edit, []) == []


def spec(fault: str, **more: Any) -> dict[str, Any]:
    """The recommended gate on the test bed: where it changed, and into what."""
    flawed = {"plugin": "flawed", "fault": fault}
    place, sight = {"plugin": "localised", "mask": {"plugin": "scene"}}, {"plugin": "reader", "align": True}
    gate = {"plugin": "all_of", "verifiers": {"place": place, "sight": sight}}
    return {"plugin": "gated", "editor": flawed, "verifier": gate, **more}


FAULTS = ("wrong_object", "extra_object", "wrong_value", "spill", "none_made", "no_op")


@pytest.mark.parametrize(
    ("fault", "count"), [("wrong_value", 8), ("extra_object", 8), ("no_op", 8), *(slow(fault, 24) for fault in FAULTS)]
)
def test_the_recommended_gate_refuses_every_fault(fault: str, count: int) -> None:
    replies = answers(registry.build("editors", spec(fault, retries=0)).edit, wanted(count))
    assert {reply.status for reply in replies} == {Status.EDIT_INVALID}
    idle = {reply.reason for reply in replies} == {"not verified: the image did not change"}
    assert idle == (fault in ("none_made", "no_op"))


@pytest.mark.parametrize("count", [8, slow(24)])
def test_the_recommended_gate_lets_good_edits_through(count: int) -> None:
    replies = answers(registry.build("editors", spec("none")).edit, wanted(count))
    assert {(reply.status, len(reply.attempts)) for reply in replies} == {(Status.OK, 1)}
    assert {"place.mask", "place.heat"} == set(replies[0].attempts[0].found.images)
    assert replies[0].attempts[0].details == {"fault": "none"}


@pytest.mark.slow
def test_the_recommended_gate_lets_images_through_that_came_back_shifted() -> None:
    replies = answers(registry.build("editors", spec("shifted", retries=0)).edit, wanted(60))
    assert sum(reply.status == Status.OK for reply in replies) >= 0.95 * 60


def test_a_thing_that_the_scene_does_not_hold_is_absent() -> None:
    asked = replace(
        wanted(1)[0], positive="Remove the white cross in the top left so that only the background remains there."
    )
    gate = Gated(Painter(), registry.build("verifiers", spec("none")["verifier"]), GatedPlugin(editor={}, verifier={}))
    [reply] = answers(gate.edit, [asked])
    assert reply.status == Status.CITATION_ABSENT
    assert "0 objects in the scene fit 'the white cross in the top left'" in reply.reason


def test_what_its_parts_need_and_cost_is_what_it_needs_and_costs() -> None:
    painter = {"plugin": "openai_image"}
    model = {"plugin": "openai", "model": "eyes", "base_url": "http://127.0.0.1:9/v1"}
    whole = {"plugin": "gated", "editor": painter, "verifier": {"plugin": "semantic", "model": model}, "retries": 2}
    assert registry.resources("editors", whole).api
    calls = registry.estimate_calls("editors", whole)
    assert [call.model for call in calls if not call.repair] == ["gpt-image-1", "eyes"]
    assert sum(call.images for call in calls) == 3
    code = registry.code("editors", spec("none"))
    assert next(iter(code.items())) == ("editors:gated", "cfeval.edct.plugins.local_editors:GatedPlugin")
    assert code["segmenters:scene"] == "cfeval_testbed.plugins.segmenters_scene:Plugin"


def test_a_fault_of_a_part_is_named_where_it_stands() -> None:
    with pytest.raises(ParamsError, match="here: gated: unknown editors plugin 'flwed'; did you mean 'flawed'"):
        registry.check("editors", spec("none") | {"editor": {"plugin": "flwed"}}, "here")
    gate = {"plugin": "localised", "mask": {"plugin": "scene", "sides": 1}}
    with pytest.raises(ParamsError, match="here: gated: localised: unknown option 'sides' of 'scene'"):
        registry.check("editors", spec("none") | {"verifier": gate}, "here")
    with pytest.raises(ParamsError, match="option 'unsure' of 'gated'"):
        registry.check("editors", spec("none", unsure="perhaps"), "here")


# The editor that removes what a segmenter finds: what it removes, what it leaves alone, and what it refuses.


SIZE = 60
Box = tuple[int, int, int, int]
BOXES = st.tuples(*(st.integers(12, 22), st.integers(12, 22), st.integers(30, 45), st.integers(30, 45)))
COLORS = st.tuples(*(st.integers(0, 255) for _ in "rgb"))


class Finder:
    """A segmenter that gives what it is told to."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def find(self, request: VerifyRequest, changed: Mask) -> Found:
        assert not changed.any()
        assert request.edited is request.original
        return self.found


def inside(box: Box, size: int = SIZE) -> Mask:
    mask = np.zeros((size, size), dtype=bool)
    top, left, bottom, right = box
    mask[top:bottom, left:right] = True
    return mask


def edited(found: Found, image: Image, positive: str = "Remove the box.", dilation: int = 2, **more: Any) -> EditReply:
    request = EditRequest("i", image, positive, "box", 1, "box", **more)
    return asyncio.run(Inpaint(Finder(found), dilation).edit(request))


@given(BOXES, COLORS, COLORS)
@settings(deadline=None)
def test_a_box_on_a_plain_ground_is_gone_and_the_ground_is_as_it_was(
    box: Box, ground: tuple[int, ...], color: tuple[int, ...]
) -> None:
    """Over a plain ground every inpainting gives the ground: what is known to be right."""
    pixels = np.full((SIZE, SIZE, 3), ground, np.uint8)
    pixels[inside(box)] = color
    reply = edited(Found(inside(box)), Image.from_pixels(pixels))
    assert reply.status == Status.OK
    assert reply.image is not None
    assert np.abs(reply.image.pixels.astype(int) - ground).max() <= 8  # its rounding adds up inwards
    assert reply.details["removed"] == "box"


@given(BOXES, st.integers(0, 6), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_no_pixel_outside_the_grown_region_changes(box: Box, dilation: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    reply = edited(Found(inside(box)), Image.from_pixels(pixels), dilation=dilation)
    assert reply.image is not None
    changed = (reply.image.pixels != pixels).any(axis=2)
    top, left, bottom, right = box
    assert not (changed & ~inside((top - dilation, left - dilation, bottom + dilation, right + dilation))).any()
    assert changed[inside(box)].mean() > 0.5


@pytest.mark.parametrize("scale", [0.25, 0.5, 2, 3.7])
def test_a_mask_of_another_size_is_laid_over_the_image(scale: float) -> None:
    image = Image.from_pixels(np.full((SIZE, SIZE, 3), 90, np.uint8))
    other = round(SIZE * scale)
    box = tuple(round(side * scale) for side in (20, 20, 40, 40))
    reply = edited(Found(inside(box, other)), image, dilation=0)  # type: ignore[arg-type]
    assert float(reply.details["mask_share"]) == pytest.approx(400 / SIZE**2, rel=0.2)


@pytest.mark.parametrize(
    ("positive", "told"),
    [
        ("Add a dog.", "add something"),
        ("Put another cup on the table.", "add something"),
        ("Replace the cup by a glass.", "change or replace something"),
        ("Make the cup blue.", "change or replace something"),
        ("Change the cup: it is now blue.", "change or replace something"),
        ("", "change or replace something"),
    ],
)
def test_what_it_cannot_do_is_refused_and_nothing_is_looked_for(positive: str, told: str) -> None:
    image = Image.from_pixels(np.zeros((SIZE, SIZE, 3), np.uint8))
    reply = edited(Found(inside((20, 20, 40, 40))), image, positive)
    assert (reply.status, reply.image) == (Status.EDIT_INVALID, None)
    assert reply.reason == f"inpaint only removes, and the instruction is to {told}"


@pytest.mark.parametrize(
    ("found", "more", "status"),
    [
        (Found(reason="no 'box' is found"), {}, Status.EDIT_INVALID),
        (Found(reason="no 'box' is found", absent=True), {}, Status.CITATION_ABSENT),
        (Found(reason="no 'box' is found", absent=True), {"before": ("Remove it.",)}, Status.EDIT_INVALID),
        (Found(inside((0, 0, SIZE, SIZE))), {}, Status.EDIT_INVALID),
        (Found(inside((3, 3, SIZE - 3, SIZE - 3))), {"dilation": RADIUS + 9}, Status.EDIT_INVALID),
    ],
)
def test_what_is_not_found_or_fills_the_image_has_no_counterfactual(
    found: Found, more: dict[str, Any], status: Status
) -> None:
    image = Image.from_pixels(np.zeros((SIZE, SIZE, 3), np.uint8))
    reply = edited(found, image, **more)
    assert (reply.status, reply.image) == (status, None)
    assert reply.reason


CLASSES = ("Egyptian cat", "tabby", "tiger cat", "space shuttle", "glass", "coffee mug", "cup")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cat", ["Egyptian cat", "tiger cat"]),
        ("the two cats on the sofa", ["Egyptian cat", "tiger cat"]),
        ("Egyptian Cat", ["Egyptian cat"]),
        ("a coffee mug", ["coffee mug"]),
        ("mug of coffee", ["coffee mug"]),
        ("glass", ["glass"]),
        ("cup beside a glass", ["glass"]),
        ("space", []),
        ("catalogue", []),
        ("paw", []),
        ("", []),
        ("...", []),
    ],
)
def test_words_name_classes_in_full_or_by_their_last_word(text: str, named: list[str]) -> None:
    assert [CLASSES[place] for place in matching(text, CLASSES)] == named


@given(st.sampled_from(CLASSES), st.sampled_from(["{}", "the {}", "{}.", "A large {}", "{}s"]))
def test_every_class_is_named_by_its_own_name(name: str, phrase: str) -> None:
    if phrase == "{}s" and name.endswith("s"):
        return
    assert CLASSES.index(name) in matching(phrase.format(name), CLASSES)


class Spot:
    """A classifier that sees a cat as far as a box of the image is white."""

    device = "cpu"
    classes = ("cat", "dog")

    def __init__(self, box: Box) -> None:
        self.box = box

    def logits(self, images: Any) -> Any:
        import torch

        top, left, bottom, right = self.box
        white = images[:, :, top:bottom, left:right].mean(dim=(1, 2, 3))
        return torch.stack([8 * white, torch.zeros_like(white)], dim=1)


@pytest.mark.parametrize("corner", [(28, 28), (84, 112), (140, 56)])
def test_a_classifier_is_asked_where_it_sees_a_class(corner: tuple[int, int]) -> None:
    top, left = corner
    box = (top, left, top + 56, left + 56)
    pixels = np.zeros((224, 224, 3), np.uint8)
    pixels[inside(box, 224)] = 255
    image = Image.from_pixels(pixels)
    segmenter = Occluded(Spot(box), ByClassifier(classifier={"plugin": "world"}))
    request = VerifyRequest("i", image, image, "Remove the cat.", concept="the cat")
    found = segmenter.find(request, np.zeros((224, 224), dtype=bool))
    assert found.original is not None
    overlap = (found.original & inside(box, 224)).sum() / (found.original | inside(box, 224)).sum()
    assert overlap > 0.4
    assert found.absent is False


def test_a_word_that_names_no_class_is_unknown_and_never_a_mask() -> None:
    image = Image.from_pixels(np.full((30, 40, 3), 200, np.uint8))
    segmenter = Occluded(Spot((0, 0, 224, 224)), ByClassifier(classifier={"plugin": "world"}))
    for concept, said in (("left paw", "has no class 'left paw'"), ("dog", "no 'dog' is found"), ("", "no concept")):
        request = VerifyRequest("i", image, image, "Remove it.", concept=concept)
        found = segmenter.find(request, np.zeros((30, 40), dtype=bool))
        assert found.original is None
        assert found.absent is None
        assert said in found.reason


@pytest.mark.parametrize("protocol", ["edct-2025", "edct-bench-2026", "uncited-edit"])
def test_a_writer_is_asked_for_removals_alone_where_the_editor_can_do_no_other(protocol: str) -> None:
    model = {"plugin": "mock", "replies": ["x"]}
    usual, removing = (Writer(model=model, removals=removals) for removals in (False, True))
    before, after = (writer.prompt(writer.form(protocol, 1)) for writer in (usual, removing))
    assert after.opening.startswith(before.opening)
    assert "begins with the word Remove" in after.opening.removeprefix(before.opening)
    assert after.repair == before.repair


@pytest.mark.parametrize(
    ("editor", "segmenter"),
    [
        ("inpaint/CIDAS/clipseg-rd64-refined", {"plugin": "clipseg", "model": "CIDAS/clipseg-rd64-refined"}),
        ("inpaint/efficientnet_lite", {"plugin": "classifier", "classifier": {"plugin": "efficientnet_lite"}}),
    ],
)
def test_a_study_of_own_photographs_starts_with_it(
    editor: str, segmenter: dict[str, Any], cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    PIL.Image.new("RGB", (40, 30), (9, 80, 200)).save(tmp_path / "photos/a.png")
    options = ["--images", "photos", "--question", "What is it?", "--model", "ollama/llava", "--editor", editor]
    status, out, err = cfeval("init", "s", *options)
    assert status == 0, err
    assert "inpaint only removes" in out
    study = yaml.safe_load(Path("s/params.yaml").read_text())["edct"]
    assert study["editors"]["gated"]["editor"] == {"plugin": "inpaint", "segmenter": segmenter}
    assert study["instruction_writers"]["writer"]["removals"] is True
    monkeypatch.chdir("s")
    status, _, err = cfeval("check")
    assert status == 0, err
