"""Where masks come from: own ones, a segmenter, or the whole image."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.edct.interfaces import EditRequest
from cfeval.edct.plugins.masks import Masked, MaskOptions, examine_masks, mask_files, mask_source
from tests.tiny.editors import checkpoint

IMAGE = Image.from_pixels(np.random.default_rng(1).integers(0, 255, (40, 60, 3), dtype=np.uint8))


def request(item: str = "i", edit: int = 1, concept: str = "the red bus") -> EditRequest:
    return EditRequest(item, IMAGE, "make it blue", "red", seed=1, concept=concept, edit=edit)


def masked(asked: EditRequest, **options: Any) -> Masked:
    source = mask_source(MaskOptions(**options))
    assert source is not None
    return source(asked)


def save(path: Path, columns: slice, size: tuple[int, int] = (40, 60)) -> None:
    pixels = np.zeros(size, dtype=np.uint8)
    pixels[:, columns] = 255
    path.parent.mkdir(exist_ok=True)
    PIL.Image.fromarray(pixels).save(path)


def test_no_source_is_no_masker() -> None:
    assert mask_source(MaskOptions()) is None


def test_whole_means_everywhere() -> None:
    found = masked(request(), masks="whole")
    assert found.mask is not None
    assert found.mask.shape == (40, 60)
    assert found.mask.all()
    assert found.details == {"mask": "whole", "mask_share": "1.0000"}


def test_where_nothing_is_to_change_no_mask_is_looked_for(tmp_path: Path) -> None:
    """As in an editor's null: no folder has a mask for it, and no model finds "nothing" in an image."""
    save(tmp_path / "own" / "other.png", slice(0, 15))
    sources = ({"masks": "whole"}, {"masks": str(tmp_path / "own")}, {"mask_model": str(checkpoint("clipseg"))})
    for options in sources:
        found = masked(replace(request(concept="nothing"), nothing=True), **options)
        assert found.mask is not None
        assert not found.mask.any()
        assert found.reason == ""


def test_an_own_mask_is_white_where_the_image_may_change(tmp_path: Path) -> None:
    save(tmp_path / "i.png", slice(0, 15))
    found = masked(request(), masks=str(tmp_path))
    assert found.mask is not None
    assert found.mask[:, :15].all()
    assert not found.mask[:, 15:].any()
    assert found.details == {"mask": "own", "mask_share": "0.2500"}


def test_a_mask_of_the_edit_comes_before_one_of_the_item(tmp_path: Path) -> None:
    save(tmp_path / "i.png", slice(0, 15))
    save(tmp_path / "i-2.png", slice(0, 30))
    first, second = (masked(request(edit=edit), masks=str(tmp_path)) for edit in (1, 2))
    assert (first.details["mask_share"], second.details["mask_share"]) == ("0.2500", "0.5000")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("none", "no mask none-1.png or none.png in the mask folder"),
        ("black", "the mask is black all over: nothing may change"),
        ("small", "the mask has 30 × 20 pixels, but the image 60 × 40"),
        ("broken", "not an image"),
    ],
)
def test_a_mask_that_cannot_be_used_is_a_reason(item: str, reason: str, tmp_path: Path) -> None:
    save(tmp_path / "black.png", slice(0, 0))
    save(tmp_path / "small.png", slice(0, 9), (20, 30))
    (tmp_path / "broken.png").write_bytes(b"no image")
    found = masked(request(item), masks=str(tmp_path))
    assert found.mask is None
    assert reason in found.reason


def test_a_folder_that_is_not_there_or_holds_no_masks_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"masks: no folder .*nowhere; give a folder of masks \(<item>.png\) or 'who"):
        mask_source(MaskOptions(masks=str(tmp_path / "nowhere")))
    with pytest.raises(PluginError, match=r"masks: no \*.png in"):
        mask_source(MaskOptions(masks=str(tmp_path)))


def share(**options: Any) -> float:
    found = masked(request(), mask_model=str(checkpoint("clipseg")), **options)
    return float(found.details.get("mask_share", 0))


def test_a_segmenter_is_asked_for_the_concept() -> None:
    found = masked(request(), mask_model=str(checkpoint("clipseg")), mask_threshold=middle_of("the red bus"))
    assert found.mask is not None
    assert found.mask.shape == (40, 60)
    assert found.details["mask"] == "mask model"
    assert found.details["mask_of"] == "the red bus"


def middle_of(text: str) -> float:
    """A threshold that about half of the pixels reach."""
    return float(np.median(probabilities(text)))


def probabilities(text: str) -> Any:
    from cfeval.edct.plugins.masks import ClipSeg

    return ClipSeg(str(checkpoint("clipseg")), "", "cpu")(IMAGE.pixels, text)


@pytest.mark.slow
def test_a_segmenter_gives_a_probability_for_every_pixel_that_depends_on_the_text() -> None:
    bus, circle = probabilities("the red bus"), probabilities("circle")
    assert bus.shape == circle.shape == (40, 60)
    assert ((bus > 0) & (bus < 1)).all()
    assert (bus != circle).any()
    assert (bus == probabilities("the red bus")).all()
    assert probabilities("a very long name " * 40).shape == (40, 60)


@pytest.mark.slow
def test_a_lower_threshold_and_a_wider_dilation_let_more_change() -> None:
    middle = middle_of("the red bus")
    plain = share(mask_threshold=middle, mask_dilation=0)
    assert plain == pytest.approx(0.5, abs=0.01)
    assert share(mask_threshold=middle * 0.999, mask_dilation=0) > plain
    assert share(mask_threshold=middle, mask_dilation=2) > plain


def test_what_a_segmenter_does_not_find_is_a_reason() -> None:
    options = {"mask_model": str(checkpoint("clipseg")), "mask_threshold": 0.99999}
    assert masked(request(), **options).reason == "the mask model finds no 'the red bus' in the image"
    assert "names no concept" in masked(request(concept=" "), **options).reason


def test_a_broken_segmenter_is_one_line(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("clipseg"), tmp_path / "clipseg"))
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(PluginError, match=r"model 'clipseg' is incomplete: model\.safetensors is cut short"):
        mask_source(MaskOptions(mask_model=str(folder)))
    (folder / "config.json").write_text(json.dumps({"model_type": "sam"}))
    with pytest.raises(PluginError, match="model 'clipseg' is a checkpoint of 'sam', and one of clipseg is needed"):
        examine_masks(MaskOptions(mask_model=str(folder)))


def test_the_doctor_hears_about_every_source(tmp_path: Path) -> None:
    save(tmp_path / "i.png", slice(0, 9))
    assert examine_masks(MaskOptions(masks=str(tmp_path))) == f"masks: 1 in {tmp_path}"
    assert examine_masks(MaskOptions(mask_model=str(checkpoint("clipseg")))).endswith("model 'clipseg' is complete")


def test_the_files_of_masks_are_named(tmp_path: Path) -> None:
    save(tmp_path / "i.png", slice(0, 9))
    assert mask_files(MaskOptions(masks=str(tmp_path))) == [tmp_path / "i.png"]
    assert mask_files(MaskOptions(masks="whole")) == []
    assert checkpoint("clipseg") / "config.json" in mask_files(MaskOptions(mask_model=str(checkpoint("clipseg"))))
