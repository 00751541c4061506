"""The editor that removes what a segmenter finds: what it removes, what it leaves alone, and what it refuses."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfeval.core.images import Image, Mask
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest, Found, VerifyRequest
from cfeval.edct.plugins.chat_writer import Plugin as Writer
from cfeval.edct.plugins.local_editors import RADIUS, Inpaint
from cfeval.edct.plugins.segmenters import ClassifierPlugin as ByClassifier
from cfeval.edct.plugins.segmenters import Occluded, matching
from tests.conftest import Run

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
