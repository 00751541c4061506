"""What lies beside a proper edit, and half an edit, on photographs and drawn scenes: kinds, places and sizes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.edct.interfaces import Found, VerifyReply, VerifyRequest
from cfeval.edct.plugins.localised import Localised, Plugin, grown
from cfeval.edct.stages.checks import as_evidence
from tests.answers import answers
from tests.edct.plugins.intrusions import INTRUSIONS, with_intrusion
from tests.edct.plugins.known_masks import Known
from tests.edct.plugins.photographs import (
    Change,
    Mask,
    Pixels,
    bent,
    both,
    brighter,
    ellipse,
    jpeg,
    moved,
    pasted,
    photograph,
    softened,
    tinted,
)
from tests.slow import first_fast
from tests.testbed.drawn_edits import drawn

STORED: dict[str, Change] = {
    "as it is": lambda pixels: pixels,
    "JPEG 60": jpeg(60),
    "as a model returns it": both(bent(0.002), softened(0.6), brighter(3), jpeg(85)),
    "cropped": moved(12, 8, zoom=1.02),
}


def noisy(pixels: Pixels) -> Pixels:
    noise = np.random.default_rng(0).normal(0, 5, pixels.shape)
    return np.asarray(np.clip(pixels + noise, 0, 255), dtype=np.uint8)


STORED["noise and JPEG 90"] = both(noisy, jpeg(90))


def image(pixels: Pixels) -> Image:
    return Image.from_pixels(np.ascontiguousarray(pixels))


def photo_reply(original: Pixels, edited: Pixels, place: Mask | None) -> VerifyReply:
    segmenter = registry.build("segmenters", {"plugin": "difference"}) if place is None else Known(Found(place))
    request = VerifyRequest("i", image(original), image(edited), "Make it red.", concept="it")
    [reply] = answers(Localised(segmenter, Plugin(mask={})).verify, [request])
    return reply


def halved(original: Pixels, edited: Pixels, place: Mask, rows: bool) -> Pixels:
    """The edit in one half of a place only."""
    middle = int(np.nonzero(place)[0 if rows else 1].mean())
    half = edited.copy()
    part = (slice(None, middle), slice(None)) if rows else (slice(None), slice(None, middle))
    half[part] = original[part]
    return half


@pytest.mark.parametrize("stored", first_fast(list(STORED), 3))
@pytest.mark.parametrize("name", first_fast(("astronaut", "chelsea", "immunohistochemistry"), 1))
@pytest.mark.parametrize("detector", [True, False], ids=["mask known", "no detector"])
def test_on_a_photograph_a_proper_edit_passes_and_none_with_something_beside_it(
    name: str, stored: str, detector: bool
) -> None:
    original = photograph(name, 256)
    place = ellipse(original.shape, 0.45, 0.55, 0.12)
    edited = tinted(pasted(original, place), place)
    known, store = place if detector else None, STORED[stored]
    assert photo_reply(original, store(edited), known).verified
    for number, kind in enumerate(INTRUSIONS):
        share = (0.08, 0.12, 0.2)[number % 3]
        spoilt = with_intrusion(edited, kind, grown(place, 0.1), share, number)
        assert spoilt is not None
        reply = photo_reply(original, store(spoilt), known)
        assert reply.verified is False, (kind, share)
        assert re.search(r"[0-9]+% of a place beside the mask changed, more than the [0-9]+% allowed", reply.reason)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("edit", [tinted, pasted])
def test_half_an_edit_of_a_photograph_is_rejected(edit: Change, rows: bool) -> None:
    original = photograph("astronaut", 256)
    place = ellipse(original.shape, 0.45, 0.55, 0.12)
    edited = edit(original, place)  # type: ignore[call-arg]
    reply = photo_reply(original, STORED["JPEG 60"](halved(original, edited, place, rows)), place)
    assert reply.verified is False
    assert "one half of the mask" in reply.reason


def scenes(count: int) -> list[tuple[VerifyRequest, Mask]]:
    """Drawn scenes with a right edit of an object, and where it belongs."""
    segmenter = registry.build("segmenters", {"plugin": "scene"})
    of = [(request, segmenter.find(request, np.zeros((1, 1), bool)).original) for request in drawn(2 * count)]
    return [(request, mask) for request, mask in of if mask is not None and mask.mean() < 0.3][:count]


GATE = {
    "plugin": "all_of",
    "verifiers": {
        "place": {"plugin": "localised", "mask": {"plugin": "scene"}},
        "sight": {"plugin": "reader"},
    },
}


def shares_accepted(requests: list[VerifyRequest]) -> float:
    replies = answers(registry.build("verifiers", GATE).verify, requests)
    return sum(reply.verified is True for reply in replies) / len(replies)


def test_on_drawn_scenes_the_gate_passes_right_edits() -> None:
    assert shares_accepted([request for request, _ in scenes(12)]) == 1


@pytest.mark.parametrize("kind", INTRUSIONS)
def test_on_drawn_scenes_the_gate_stops_what_lies_beside_a_right_edit(kind: str) -> None:
    spoilt = []
    for number, (request, mask) in enumerate(scenes(12)):
        pixels = with_intrusion(request.edited.pixels, kind, grown(mask, 0.06), (0.1, 0.14)[number % 2], number)
        spoilt += [replace(request, edited=image(pixels))] if pixels is not None else []
    assert len(spoilt) >= 10
    assert shares_accepted(spoilt) <= (0.2 if kind in ("text", "line") else 0.1)


def test_on_drawn_scenes_the_gate_stops_most_edits_of_half_an_object() -> None:
    halves = [
        replace(one, edited=image(halved(one.original.pixels, one.edited.pixels, mask, rows)))
        for one, mask in scenes(12)
        for rows in (True, False)
    ]
    assert shares_accepted(halves) <= 0.25


def test_a_verifier_of_places_alone_never_shows_that_an_edit_is_what_was_asked() -> None:
    """A gate may accept it; as evidence it is nobody's word, unless another verifier looked at the content."""
    request = scenes(1)[0][0]
    [alone] = answers(registry.build("verifiers", GATE["verifiers"]["place"]).verify, [request])  # type: ignore[index]
    [together] = answers(registry.build("verifiers", GATE).verify, [request])
    assert (alone.verified, as_evidence(alone).verified) == (True, None)
    assert (together.verified, as_evidence(together).verified) == (True, True)
    assert "nobody looked at what it shows" in as_evidence(alone).reason
