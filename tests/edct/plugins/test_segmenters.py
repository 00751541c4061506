"""Where each segmenter says an edit belongs; the detector has a file of its own."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.edct.interfaces import Found, Seen, VerifyRequest
from cfeval.edct.plugins.segmenters import look
from cfeval_testbed.language.instructions import describe
from cfeval_testbed.records import EditIntent, Referent, Scene
from cfeval_testbed.render import object_masks, render
from cfeval_testbed.scenes import apply, as_metadata
from tests.testbed.drawn_edits import drawn, wanted
from tests.testbed.scenes import recorded
from tests.tiny.editors import checkpoint

Mask = npt.NDArray[np.bool_]
NOTHING = np.zeros((64, 64), dtype=bool)


def found(request: VerifyRequest, changed: Mask = NOTHING, **spec: Any) -> Found:
    answer: Found = registry.build("segmenters", spec).find(request, changed)
    return answer


def request(
    scene: Scene, intent: EditIntent, before: tuple[str, ...] = (), edited: Scene | None = None
) -> VerifyRequest:
    concept, positive, negative = describe(intent)
    images = (Image.from_pixels(render(one)) for one in (scene, edited or scene))
    return VerifyRequest("i", *images, positive, as_metadata(scene), negative, concept, before)


def overlap(one: Mask | None, other: Mask | None) -> float:
    assert one is not None
    assert other is not None
    return float((one & other).sum() / (one | other).sum())


def scene_with(count: int) -> Scene:
    scenes = (recorded(r.metadata) for r in wanted(80))
    return next(scene for scene in scenes if sum(slot.present for slot in scene.slots) == count)


def test_the_scene_record_gives_exactly_what_a_right_edit_changes() -> None:
    """Against the pixels that differ between the images before and after a perfect edit."""
    for checked in drawn(20):
        mask = found(checked, plugin="scene").original
        differs = (checked.original.pixels != checked.edited.pixels).any(axis=2)
        assert mask is not None
        assert (differs & ~_neighborhood(mask)).sum() <= 0.06 * differs.sum()
        assert differs[mask].mean() > 0.15


def _neighborhood(mask: Mask) -> Mask:
    steps = (-1, 0, 1)
    return np.logical_or.reduce([np.roll(mask, (down, across), (0, 1)) for down in steps for across in steps])


def test_the_scene_record_follows_the_edits_before() -> None:
    scene = scene_with(4)
    here = Referent(position="top left")
    remove = EditIntent(kind="remove", target=here)
    add = EditIntent(kind="add", target=here, new="red circle")
    after = apply(scene, remove)
    both = apply(after, add)
    seen = found(request(scene, add, before=(describe(remove)[1],)), plugin="scene")
    assert overlap(seen.original, object_masks(both)[0]) == 1
    assert "empty quadrant" in found(request(scene, add), plugin="scene").reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": None}, "no scene record"),
        ({"positive": "Make it nicer."}, "not in the test bed's language"),
        ({"before": ("Make it nicer.",)}, "not in the test bed's language"),
        ({"positive": "Remove the large black star in the top left so that only the background remains there."}, "fit"),
    ],
)
def test_without_a_scene_that_fits_there_is_no_mask(change: dict[str, Any], reason: str) -> None:
    answer = found(replace(drawn(40)[0], **change), plugin="scene")
    assert answer.original is answer.edited is None
    assert reason in answer.reason
    assert not answer.refuted


@pytest.mark.slow
def test_the_locator_sees_in_pixels_what_the_scene_record_says() -> None:
    overlaps = []
    for checked in drawn(40):
        blind = replace(checked, metadata=None)
        exact, seen = (found(r, plugin=b) for r, b in ((checked, "scene"), (blind, "locator")))
        both = found(blind, plugin="locator", both=True)
        assert seen.original is not None
        after = both.edited if both.edited is not None else NOTHING
        overlaps.append(overlap(exact.original, seen.original | after))
    assert np.median(overlaps) > 0.9
    assert np.quantile(overlaps, 0.1) > 0.6


def test_the_locator_looks_for_what_was_added_in_the_edited_image() -> None:
    scene = scene_with(3)
    free = next(n for n, slot in enumerate(scene.slots) if not slot.present)
    position = ("top left", "top right", "bottom left", "bottom right")[free]
    add = EditIntent(kind="add", target=Referent(position=position), new="red square")
    after = apply(scene, add)
    seen = found(request(scene, add, edited=after), plugin="locator")
    assert seen.original is None
    assert overlap(seen.edited, object_masks(after)[free]) > 0.8
    missing = found(request(scene, add), plugin="locator")
    assert (missing.edited, missing.refuted) == (None, True)
    assert "not seen" in missing.reason


@pytest.mark.parametrize(
    ("positive", "size", "reason"),
    [
        ("Make it nicer.", 64, "not in the test bed's language"),
        ("Change the background from sky to sand.", 65, "the locator looks at 64 × 64 pixels"),
    ],
)
def test_the_locator_says_why_it_sees_nothing(positive: str, size: int, reason: str) -> None:
    blank = Image.from_pixels(np.full((size, size, 3), 128, np.uint8))
    assert reason in found(VerifyRequest("i", blank, blank, positive), plugin="locator").reason


def test_the_main_change_is_the_largest_connected_one() -> None:
    changed = np.zeros((50, 80), dtype=bool)
    changed[5:15, 5:15] = changed[30:45, 40:60] = changed[2, 70] = True
    answer = found(drawn(40)[0], changed, plugin="difference")
    assert answer.original is not None
    assert answer.original.sum() == 15 * 20
    assert answer.original[30:45, 40:60].all()


@pytest.mark.parametrize(
    ("share", "options", "refuted", "reason"),
    [
        (0.0, {}, True, "nothing changed"),
        (0.0005, {}, True, "nothing changed"),
        (0.6, {}, False, "the main change covers 60% of the image: spill, or a new background"),
        (0.6, {"most": 1}, False, ""),
        (0.2, {"most": 0.1}, False, "covers 20%"),
        (0.2, {"least": 0.3}, True, "nothing changed"),
    ],
)
def test_too_little_or_too_much_change_is_no_mask(
    share: float, options: dict[str, Any], refuted: bool, reason: str
) -> None:
    changed = np.zeros((100, 100), dtype=bool)
    changed.ravel()[: round(share * changed.size)] = True
    answer = found(drawn(40)[0], changed, plugin="difference", **options)
    assert (answer.original is None, answer.refuted and answer.original is None) == (bool(reason), refuted)
    assert reason in answer.reason


def test_own_masks_are_taken_from_a_folder_by_item_and_edit(tmp_path: Path) -> None:
    for name, column in (("i.png", 10), ("i-2.png", 30)):
        plane = np.zeros((64, 64), np.uint8)
        plane[:, column:] = 255
        PIL.Image.fromarray(plane).save(tmp_path / name)
    asked = replace(drawn(40)[0], item="i")
    assert found(asked, plugin="folder", folder=str(tmp_path)).original.mean() == 54 / 64  # type: ignore[union-attr]
    second = found(replace(asked, edit=2), plugin="folder", folder=str(tmp_path))
    assert second.original.mean() == 34 / 64  # type: ignore[union-attr]
    missing = found(replace(asked, item="j"), plugin="folder", folder=str(tmp_path))
    assert "no mask j-1.png or j.png" in missing.reason
    assert len(registry.dependencies("segmenters", {"plugin": "folder", "folder": str(tmp_path)})) == 2
    with pytest.raises(PluginError, match="masks: no folder"):
        registry.build("segmenters", {"plugin": "folder", "folder": str(tmp_path / "nowhere")})


class Eyes:
    """Sees a text in some images."""

    def __init__(self, *seeing: Image) -> None:
        self.seeing = [image.pixels.tobytes() for image in seeing]
        self.asked: list[str] = []
        self.sure = False
        """Whether it says of what it does not see that it is not there."""

    def __call__(self, pixels: npt.NDArray[np.uint8], text: str) -> Seen:
        self.asked.append(text)
        there = pixels.tobytes() in self.seeing
        mask = np.ones(pixels.shape[:2], dtype=bool) if there else None
        return Seen(mask, 0.75 if there else 0.125, self.sure and not there)


def pair(positive: str, concept: str = "the red bus") -> VerifyRequest:
    original, edited = (Image.from_pixels(np.full((8, 9, 3), value, np.uint8)) for value in (1, 2))
    return VerifyRequest("i", original, edited, positive, concept=concept)


@pytest.mark.parametrize(
    ("positive", "both", "sides"),
    [
        ("Add a red bus.", False, "edited"),
        ("Add a red bus.", True, "edited"),
        ("Remove the red bus.", True, "original"),
        ("Make the bus blue.", False, "original"),
        ("Make the bus blue.", True, "original edited"),
    ],
)
def test_what_is_added_is_looked_for_in_the_edited_image_all_else_in_the_original(
    positive: str, both: bool, sides: str
) -> None:
    asked = pair(positive)
    eyes = Eyes(asked.original, asked.edited)
    answer = look(asked, eyes, both)
    seen = {"original": answer.original, "edited": answer.edited}
    assert " ".join(side for side, mask in seen.items() if mask is not None) == sides
    assert Counter(eyes.asked) == {"the red bus": len(sides.split())}
    assert answer.numbers == {"mask_score": 0.75}


def test_what_is_not_found_refutes_an_addition_only() -> None:
    asked = pair("Add a red bus.")
    missing = look(asked, Eyes(asked.original), both=False)
    assert (missing.edited, missing.refuted, missing.numbers["mask_score"]) == (None, True, 0.125)
    assert missing.reason == "no 'the red bus' is found in the edited image, to which it was to be added"
    asked = pair("Remove the red bus.")
    missing = look(asked, Eyes(asked.edited), both=True)
    assert (missing.original, missing.refuted) == (None, False)
    assert missing.reason == "no 'the red bus' is found in the original"
    assert missing.absent is None, "it may have looked badly"


@pytest.mark.parametrize("positive", ["Remove the red bus.", "Make the bus blue."])
def test_a_thing_is_absent_only_where_the_segmenter_is_sure_of_it(positive: str) -> None:
    asked = pair(positive)
    eyes = Eyes(asked.edited)
    eyes.sure = True
    assert look(asked, eyes, both=True).absent is True
    assert look(asked, Eyes(asked.original), both=True).absent is False
    added = replace(asked, positive="Add a red bus.")
    assert look(added, eyes, both=True).absent is None, "it need not be in the original"
    asked = pair("Make the bus blue.")
    assert look(asked, Eyes(asked.original), both=True).edited is None, "it may be another thing now"
    assert "names no concept" in look(pair("Make it blue.", " "), Eyes(), both=False).reason


def test_a_segmenter_finds_what_is_over_the_threshold() -> None:
    spec = {"plugin": "clipseg", "model": str(checkpoint("clipseg")), "device": "cpu"}
    asked = replace(drawn(40)[0], positive="Make it blue.", concept="the red circle")
    everything = found(asked, **spec, threshold=1e-6)
    score = everything.numbers["mask_score"]
    assert everything.original is not None
    assert everything.original.all()
    some = found(asked, **spec, threshold=score * 0.999)
    assert some.original is not None
    assert 0 < some.original.mean() < 1
    assert found(asked, **spec, threshold=(1 + score) / 2).reason == "no 'the red circle' is found in the original"
    assert registry.resources("segmenters", spec).gpu == 0
    assert registry.resources("segmenters", spec | {"device": "auto"}).gpu == 1
    assert str(checkpoint("clipseg") / "config.json") in registry.dependencies("segmenters", spec)
    assert all(finding.fine for finding in registry.diagnose("segmenters", spec))
