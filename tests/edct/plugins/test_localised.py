"""The gate on real photographs with edits in a known place, of 512 to 1024 pixels, and on cases worked out by hand."""

from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.edct.interfaces import Found, VerifyReply, VerifyRequest
from cfeval.edct.plugins.localised import (
    Limits,
    Localised,
    Plugin,
    Shares,
    decide,
    grown,
    halves_share,
    shares,
    stray_share,
)
from tests.answers import answers
from tests.edct.plugins.known_masks import Known
from tests.edct.plugins.photographs import (
    Change,
    Mask,
    Pixels,
    bent,
    blurred,
    both,
    brighter,
    ellipse,
    jpeg,
    moved,
    pasted,
    photograph,
    removed,
    softened,
    tinted,
)
from tests.slow import fast_only, first_fast, slow

NAMES = ("astronaut", "coffee", "chelsea", "immunohistochemistry")
AS_A_MODEL_RETURNS_IT = both(bent(0.003), softened(0.6), brighter(3), jpeg(85))
STORED = {"as it is": jpeg(95), "JPEG": jpeg(60), "shifted": moved(3, -2), "all of it": AS_A_MODEL_RETURNS_IT}
EDITS = {"tinted": tinted, "removed": removed, "pasted": pasted}


def verified(original: Pixels, edited: Pixels, found: Mask | Found, **options: Any) -> VerifyReply:
    found = found if isinstance(found, Found) else Found(found)
    request = VerifyRequest("i", image(original), image(edited), "Make it red.", concept="it")
    [reply] = answers(Localised(Known(found), Plugin(mask={}, **options)).verify, [request])
    return reply


def image(pixels: Pixels) -> Image:
    return Image.from_pixels(np.ascontiguousarray(pixels))


def place_in(original: Pixels) -> Mask:
    return ellipse(original.shape, 0.45, 0.55, 0.12)


@pytest.mark.parametrize(
    ("edit", "stored"), fast_only(product(EDITS, STORED), ("removed", "all of it"), ("pasted", "shifted"))
)
def test_an_edit_in_its_place_is_accepted_however_it_was_stored(edit: str, stored: str) -> None:
    original = photograph("coffee", 512)
    place = place_in(original)
    reply = verified(original, STORED[stored](EDITS[edit](original, place)), place)
    assert (reply.verified, reply.reason) == (True, "")
    assert reply.numbers["inside"] > 0.3
    assert reply.numbers["outside"] < 0.05
    assert reply.numbers["mask_share"] == pytest.approx(place.mean(), rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", first_fast(NAMES, 1))
def test_an_edit_is_accepted_in_every_photograph_as_a_model_returns_it(name: str) -> None:
    original = photograph(name, 512)
    place = place_in(original)
    assert verified(original, AS_A_MODEL_RETURNS_IT(removed(original, place)), place).verified
    assert verified(original, AS_A_MODEL_RETURNS_IT(original), place).verified is False


@pytest.mark.slow
def test_the_same_holds_at_1024_pixels_and_every_time() -> None:
    original = photograph("astronaut", 1024)
    place = place_in(original)
    edited = AS_A_MODEL_RETURNS_IT(removed(original, place))
    first, again = (verified(original, edited, place) for _ in range(2))
    assert first == again
    assert first.verified


@pytest.mark.parametrize("stored", fast_only(STORED, "all of it"))
def test_no_edit_is_rejected_however_it_was_stored(stored: str) -> None:
    original = photograph("coffee", 512)
    reply = verified(original, STORED[stored](original), place_in(original))
    assert reply.verified is False
    assert "of the mask changed, not more than the 10% required" in reply.reason


@pytest.mark.slow
def test_an_edit_elsewhere_is_rejected() -> None:
    for name in NAMES:
        original = photograph(name, 256)
        elsewhere = ellipse(original.shape, 0.15, 0.2, 0.08)
        assert verified(original, pasted(original, elsewhere), place_in(original)).verified is False


SPILT: dict[str, Change] = {
    "tinted": lambda p: tinted(p, np.ones(p.shape[:2], dtype=bool)),
    "replaced": lambda p: pasted(p, np.ones(p.shape[:2], dtype=bool)),
    "negative": lambda p: np.asarray(255 - p),
}


@pytest.mark.parametrize("spilt", first_fast(SPILT, 1))
def test_a_change_of_the_whole_image_is_rejected(spilt: str) -> None:
    for name in NAMES:
        original = photograph(name, 256)
        reply = verified(original, SPILT[spilt](original), place_in(original))
        assert reply.verified is False
        assert "of what is beside the mask changed, which must stay below 30%" in reply.reason


@pytest.mark.slow
def test_a_blur_of_the_whole_image_is_seen() -> None:
    for name in (*NAMES, "rocket"):
        original = photograph(name, 256)
        assert verified(original, blurred(original.shape[1] / 60)(original), place_in(original)).verified is False


@pytest.mark.slow
def test_a_large_image_is_compared_at_the_working_size_and_its_evidence_kept_small() -> None:
    original = photograph("coffee", 1200)
    place = place_in(original)
    reply = verified(original, AS_A_MODEL_RETURNS_IT(tinted(original, place)), place, max_side=256)
    assert reply.verified
    assert {shown.pixels.shape for shown in reply.images.values()} == {(341, 512, 3)}
    small = photograph("coffee", 90)
    assert {p.pixels.shape for p in verified(small, small, place_in(small)).images.values()} == {small.shape}


@pytest.mark.parametrize(("width", "height"), [(300, 200), slow(1024, 1024), slow(601, 399)])
def test_an_image_of_another_size_is_brought_to_the_originals_and_that_is_told(width: int, height: int) -> None:
    original = photograph("coffee", 400)
    place = place_in(original)
    came = cv2.resize(tinted(original, place), (width, height), interpolation=cv2.INTER_AREA)
    reply = verified(original, came, place)
    assert reply.verified
    assert reply.numbers["resized"] == 1
    assert verified(original, tinted(original, place), place).numbers["resized"] == 0


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 500), (500, 1), (5, 300), (20, 1500), (63, 65)])
def test_slivers_and_single_pixels_are_compared_like_any_image(height: int, width: int) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    everything = np.ones((height, width), dtype=bool)
    assert verified(noise, np.asarray(255 - noise), everything).verified
    assert verified(noise, noise, everything).verified is False


@pytest.mark.slow
def test_how_the_images_lie_over_each_other_is_told_in_pixels_of_the_original() -> None:
    original = photograph("astronaut", 640)
    reply = verified(original, moved(20, -8, zoom=1.03, degrees=2)(original), place_in(original))
    assert reply.numbers["matches"] > 100
    assert reply.numbers["moved_right"] == pytest.approx(20, abs=1)
    assert reply.numbers["moved_down"] == pytest.approx(-8, abs=1)
    assert reply.numbers["stretched"] == pytest.approx(1.03, abs=0.005)
    assert reply.numbers["turned_degrees"] == pytest.approx(-2, abs=0.2)
    assert 0.8 < reply.numbers["valid_share"] < 1
    assert "aligned by" not in reply.reason


@pytest.mark.slow
def test_where_keypoints_do_not_suffice_the_numbers_and_the_reason_say_so() -> None:
    plain = np.full((64, 64, 3), 200, np.uint8)
    reply = verified(plain, plain, ellipse(plain.shape))
    assert reply.numbers["matches"] == 0
    assert "(the images were compared as they lie)" in reply.reason
    original = photograph("coffee")
    shifted = verified(original, np.roll(original, 4, 1), place_in(original))
    assert shifted.numbers["matches"] == 0
    assert "aligned by phase correlation" in shifted.reason


@pytest.mark.slow
def test_a_mask_of_the_edited_image_is_carried_over_to_the_original() -> None:
    original = photograph("chelsea", 512)
    place = place_in(original)
    move = moved(40, 25)
    edited = move(pasted(original, place))
    where = move(np.repeat(place[..., None], 3, axis=2).astype(np.uint8))[..., 0] > 0
    carried = verified(original, edited, Found(edited=where))
    straight = verified(original, edited, Found(original=place))
    assert carried.verified
    assert carried.numbers["inside"] == pytest.approx(straight.numbers["inside"], abs=0.02)
    union = verified(original, edited, Found(original=place, edited=where))
    assert union.numbers["mask_share"] == pytest.approx(straight.numbers["mask_share"], rel=0.05)


def test_without_a_mask_there_is_no_telling_unless_its_absence_tells() -> None:
    original = photograph("coffee", 256)
    lost = verified(original, original, Found(reason="nothing found", numbers={"mask_score": 0.01}))
    assert (lost.verified, lost.reason, lost.numbers["mask_score"]) == (None, "nothing found", 0.01)
    assert set(lost.images) == {"heat"}
    assert verified(original, original, Found(reason="not added", refuted=True)).verified is False
    assert verified(original, original, np.zeros(original.shape[:2], dtype=bool)).verified is None


def test_the_heat_map_shows_changes_in_color_and_the_mask_in_white() -> None:
    original = photograph("coffee", 256)
    place, mask = ellipse(original.shape, 0.25, 0.5, 0.1), ellipse(original.shape, 0.75, 0.5, 0.1)
    reply = verified(original, pasted(original, place), mask, dilation=0)
    heat = reply.images["heat"].pixels
    colored = heat.max(axis=2) != heat.min(axis=2)
    assert colored[place].mean() > 0.7
    assert colored[~place].mean() < 0.05
    assert (heat[~colored & ~mask] <= 128).all()
    outline = (heat == 255).all(axis=2)
    assert outline.any()
    assert not outline[~mask].any()
    assert (reply.images["mask"].pixels[mask] == 255).all()
    assert (reply.images["mask"].pixels[~mask] == 0).mean() > 0.99


def test_the_masker_sees_both_images_at_one_size_and_what_changed() -> None:
    original = photograph("coffee", 400)
    place = place_in(original)
    segmenter = Known(Found(place))
    edited = cv2.resize(pasted(original, place), (300, 200), interpolation=cv2.INTER_AREA)
    answers(Localised(segmenter, Plugin(mask={})).verify, [VerifyRequest("i", image(original), image(edited), "p")])
    [(request, changed)] = segmenter.seen
    assert request.edited.pixels.shape == request.original.pixels.shape
    assert changed[place].mean() > 0.5
    assert changed[~place].mean() < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option 'mask' of 'localised': Field required"),
        ({"mask": {"plugin": "scen"}}, "localised: unknown segmenters plugin 'scen'; did you mean 'scene'"),
        ({"mask": {"plugin": "scene"}, "min_side": 2000}, "min_side must be at most max_side, but got 2000 and 1024"),
        ({"mask": {"plugin": "scene"}, "change": {"ssim": 2}}, r"option 'change.ssim' of 'localised'.*less than 1"),
        ({"mask": {"plugin": "scene"}, "align": {"flows": 1}}, "unknown option 'align.flows' of 'localised'"),
        ({"mask": {"plugin": "scene"}, "inside": 1.5}, "option 'inside' of 'localised'"),
    ],
)
def test_options_that_cannot_be_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        registry.check("verifiers", {"plugin": "localised", **options}, "here")


# Shares and verdicts worked out by hand.


ALL = np.ones((10, 10), dtype=bool)


def block(rows: slice, columns: slice) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    mask = np.zeros((10, 10), dtype=bool)
    mask[rows, columns] = True
    return mask


def test_shares_are_of_the_pixels_inside_and_outside() -> None:
    mask = block(slice(0, 4), slice(0, 5))
    changed = block(slice(0, 4), slice(0, 1)) | block(slice(8, 10), slice(0, 10))
    assert shares(changed, mask, ALL) == Shares(inside=4 / 20, outside=20 / 80, mask=0.2)


def test_pixels_without_a_counterpart_do_not_count() -> None:
    mask, valid = block(slice(0, 4), slice(0, 5)), block(slice(0, 10), slice(2, 10))
    changed = block(slice(0, 10), slice(0, 3))
    assert shares(changed, mask, valid) == Shares(inside=4 / 12, outside=6 / 68, mask=0.2)


def test_a_mask_that_is_out_of_sight_cannot_be_told_of() -> None:
    found = shares(ALL, block(slice(0, 4), slice(0, 2)), block(slice(0, 10), slice(2, 10)))
    assert found.inside is None
    assert decide(found, Limits())[0] is None


def test_a_mask_of_everything_has_nothing_beside_it() -> None:
    assert shares(ALL, ALL, ALL) == Shares(inside=1, outside=0, mask=1)


@pytest.mark.parametrize(
    ("inside", "outside", "accepted"),
    [(0.11, 0.29, True), (0.1, 0.0, False), (0.5, 0.3, False), (0.0, 1.0, False), (1.0, 0.0, True)],
)
def test_the_papers_limits_are_over_ten_and_under_thirty_percent(inside: float, outside: float, accepted: bool) -> None:
    verdict, reason = decide(Shares(inside, outside, 0.2), Limits())
    assert verdict is accepted
    assert ("of the mask changed" in reason) == (inside <= 0.1)
    assert ("beside the mask changed" in reason) == (outside >= 0.3)


@pytest.mark.parametrize("radius", [0, 1, 2, 5])
def test_a_mask_grows_by_a_disk(radius: int) -> None:
    mask = np.zeros((30, 40), dtype=bool)
    mask[12, 17] = True
    rows, columns = np.mgrid[:30, :40]
    away = np.hypot(rows - 12, columns - 17)
    found = grown(mask, radius / 40)
    assert not found[away > radius + 0.71].any()
    assert found[away <= radius - 0.71].all()
    assert found[12, 17 - radius]
    assert found[12 + radius, 17]


def test_a_change_counts_by_its_place_unless_it_lies_largely_in_the_mask() -> None:
    mask, changed = np.zeros((200, 200), dtype=bool), np.zeros((200, 200), dtype=bool)
    mask[60:140, 60:140] = True
    changed[60:140, 60:170] = True
    assert stray_share(changed, mask) == 0
    changed[4:12, 4:12] = True
    assert stray_share(changed, mask) == pytest.approx(64 / 256)
    changed[4:20, 4:20] = True
    assert stray_share(changed, mask) == 1


@pytest.mark.parametrize(("columns", "expected"), [(slice(None), 1), (slice(0, 20), 0), (slice(0, 0), 1)])
def test_halves_are_compared_whatever_the_direction(columns: slice, expected: float) -> None:
    mask, changed = np.ones((40, 40), dtype=bool), np.zeros((40, 40), dtype=bool)
    changed[:, columns] = True
    for turned in (changed, changed.T, changed[:, ::-1]):
        assert halves_share(turned, mask) == expected


def test_both_limits_can_be_left_aside_as_in_the_paper() -> None:
    found = Shares(0.5, 0.01, 0.2, stray=0.9, halves=0.0)
    assert decide(found, Limits())[0] is False
    assert decide(found, Limits(stray=1, halves=0)) == (True, "")
