"""The detector and SAM 2 on tiny random checkpoints, against their models called by hand."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import Image
from cfeval.edct.interfaces import Found, VerifyRequest
from cfeval.edct.plugins.segmenters import Detected
from cfeval.inference.local.detector import filled
from tests.slow import each_once_fast, first_fast, slow
from tests.tiny.detectors import SIDE, checkpoint

KINDS = ("grounding-dino", "owlv2")
ANY = 1e-6
Pixels = npt.NDArray[np.uint8]


def pixels(seed: int, height: int = 48, width: int = 64) -> Pixels:
    return np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)


def spec(kind: str, sam: bool = False, **options: Any) -> dict[str, Any]:
    segmenter = {"sam": str(checkpoint("sam2"))} if sam else {}
    return {"plugin": "detector", "model": str(checkpoint(kind)), "device": "cpu", **segmenter, **options}


def segmenter(kind: str, sam: bool = False, **options: Any) -> Detected:
    built: Detected = registry.build("segmenters", spec(kind, sam, **options))
    return built


def found(masking: Detected, image: Pixels, edited: Pixels | None = None, positive: str = "Make it blue.") -> Found:
    pair = (Image.from_pixels(one) for one in (image, image if edited is None else edited))
    request = VerifyRequest("i", *pair, positive, concept="the red bus")
    return masking.find(request, np.zeros((8, 8), dtype=bool))


def by_hand(kind: str, image: Pixels, text: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Scores (N,) and boxes (N, 4), left, top, right and bottom in pixels, straight from the model's own outputs."""
    import torch
    import transformers

    library: Any = transformers
    folder = checkpoint(kind)
    model = library.AutoModelForZeroShotObjectDetection.from_pretrained(folder).eval()
    prompt = f"{text}." if kind == "grounding-dino" else text
    inputs = library.AutoProcessor.from_pretrained(folder)(
        images=PIL.Image.fromarray(image), text=[prompt], return_tensors="pt", truncation=True
    )
    with torch.no_grad():
        outputs = model(**inputs)
    height, width = image.shape[:2]
    scale = np.array([width, height]) if kind == "grounding-dino" else np.array([max(width, height)] * 2)
    middle, size = np.split(outputs.pred_boxes[0].numpy(), 2, axis=1)
    corners = np.hstack([(middle - size / 2) * scale, (middle + size / 2) * scale])
    return outputs.logits[0].sigmoid().numpy().max(axis=1), corners


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shape"), each_once_fast(KINDS, ["wide", "tall"]))
def test_boxes_are_the_models_own_in_pixels_of_the_image_and_the_surest_come_first(kind: str, shape: str) -> None:
    image = pixels(1) if shape == "wide" else pixels(2, 60, 40)
    scores, corners = by_hand(kind, image, "the red bus")
    order = np.argsort(-scores, kind="stable")
    boxes = segmenter(kind, threshold=ANY, boxes=3).detector(image, "The red bus.")
    assert [score for score, _ in boxes] == pytest.approx(scores[order][:3], abs=1e-5)
    assert np.array(boxes[0][1]) == pytest.approx(corners[order[0]], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_text_and_the_image_matter(kind: str) -> None:
    detector = segmenter(kind, threshold=ANY).detector
    first = detector(pixels(1), "the red bus")
    assert first == detector(pixels(1), "the red bus")
    assert first != detector(pixels(3), "the red bus")
    assert first != detector(pixels(1), "a small dog")
    assert detector(pixels(1), "a. very! long; name " * 60)


@pytest.mark.slow
@pytest.mark.parametrize("kind", first_fast(KINDS, 1))
def test_only_boxes_over_the_threshold_are_found(kind: str) -> None:
    every = segmenter(kind, threshold=ANY, boxes=99).detector(pixels(1), "the red bus")
    scores = sorted({score for score, _ in every})
    middle = scores[len(scores) // 2]
    found_boxes = segmenter(kind, threshold=middle, boxes=99).detector(pixels(1), "the red bus")
    assert found_boxes == [box for box in every if box[0] > middle]


def test_without_a_segmenter_the_box_is_the_mask() -> None:
    masking = segmenter("grounding-dino", threshold=ANY)
    [(score, (left, top, right, bottom))] = masking.detector(pixels(1), "the red bus")
    answer = found(masking, pixels(1))
    assert answer.original is not None
    rows, columns = np.nonzero(answer.original)
    assert (columns.min(), columns.max() + 1) == (int(left), int(np.ceil(right)))
    assert (rows.min(), rows.max() + 1) == (int(top), int(np.ceil(bottom)))
    assert answer.numbers["mask_score"] == score
    assert answer.edited is None


def test_a_box_is_cut_at_the_borders_and_may_lie_outside() -> None:
    assert filled([(-5.0, 1.2, 2.1, 2.0)], (4, 6, 3)).tolist() == [
        [False] * 6,
        [True] * 3 + [False] * 3,
        [False] * 6,
        [False] * 6,
    ]
    assert not filled([(7.0, 0.0, 9.0, 4.0), (0.0, -4.0, 6.0, -1.0)], (4, 6)).any()
    assert filled([(0, 0, 1, 1), (5, 3, 6, 4)], (4, 6)).sum() == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sam2", slow("sam2_video")])
def test_sam_outlines_what_is_in_the_box(kind: str) -> None:
    import torch
    import transformers

    library: Any = transformers
    sam = {"sam": str(checkpoint(kind))}
    masking: Detected = registry.build("segmenters", spec("grounding-dino", threshold=ANY) | sam)
    image = pixels(1)
    answer = found(masking, image)
    [(_, box)] = masking.detector(image, "the red bus")
    processor = library.Sam2Processor.from_pretrained(checkpoint(kind))
    model = library.Sam2Model.from_pretrained(checkpoint(kind)).eval()
    inputs = processor(images=PIL.Image.fromarray(image), return_tensors="pt")
    corners = torch.tensor(box, dtype=torch.float64).reshape(2, 2) / torch.tensor([64, 48]) * SIDE
    with torch.no_grad():
        outputs = model(
            pixel_values=inputs["pixel_values"], input_boxes=corners.reshape(1, 1, 4).float(), multimask_output=False
        )
    by_hand = torch.nn.functional.interpolate(
        outputs.pred_masks[0].float(), (48, 64), mode="bilinear", align_corners=False
    )[0, 0]
    assert answer.original is not None
    assert answer.original.shape == (48, 64)
    assert (answer.original == (by_hand > 0).numpy()).mean() > 0.99
    assert 0 < answer.original.mean() < 1


@pytest.mark.slow
def test_what_is_modified_can_be_looked_for_in_both_images() -> None:
    one, both = (segmenter("grounding-dino", threshold=ANY, both=both) for both in (False, True))
    assert found(one, pixels(1), pixels(3)).edited is None
    answer = found(both, pixels(1), pixels(3))
    assert answer.edited is not None
    assert answer.original is not None
    assert (answer.edited == found(one, pixels(3)).original).all()
    added = found(both, pixels(1), pixels(3), "Add a red bus.")
    assert added.original is None
    assert (added.edited == answer.edited).all()


@pytest.mark.parametrize("kind", first_fast(KINDS, 1))
def test_what_is_not_found_has_no_mask(kind: str) -> None:
    answer = found(segmenter(kind, sam=True, threshold=0.9999999), pixels(5))
    assert (answer.original, answer.refuted) == (None, False)
    assert answer.reason == "no 'the red bus' is found in the original"


@pytest.mark.slow
@pytest.mark.parametrize("kind", first_fast(KINDS, 1))
def test_a_thing_is_absent_only_where_no_box_has_the_least_score(kind: str) -> None:
    nothing = found(segmenter(kind, threshold=0.9999999, absent=0.999999), pixels(5))
    weak = found(segmenter(kind, threshold=0.9999999, absent=ANY), pixels(5))
    assert (nothing.original, nothing.absent) == (None, True)
    assert (weak.original, weak.absent) == (None, None), "some box has a score, and none enough"
    assert weak.numbers["mask_score"] > 0


@pytest.mark.slow
def test_each_kind_has_the_librarys_own_threshold_where_none_is_given() -> None:
    assert segmenter("grounding-dino").detector.threshold == 0.25
    assert segmenter("owlv2").detector.threshold == 0.1


@pytest.mark.slow
def test_a_checkpoint_of_another_kind_is_one_line() -> None:
    sam, dino = str(checkpoint("sam2")), str(checkpoint("grounding-dino"))
    with pytest.raises(PluginError, match="'tiny-sam2' is a checkpoint of 'sam2', and one of grounding-dino or"):
        registry.build("segmenters", {"plugin": "detector", "model": sam, "device": "cpu"})
    with pytest.raises(PluginError, match="is a checkpoint of 'grounding-dino', and one of sam2 or sam2_video"):
        registry.build("segmenters", {"plugin": "detector", "model": dino, "sam": dino, "device": "cpu"})
    with pytest.raises(ParamsError, match="is the revision of a segmenter, and no 'sam' is given"):
        registry.check("segmenters", {"plugin": "detector", "model": dino, "sam_revision": "x"}, "here")


def test_weights_that_are_in_no_file_are_one_line_and_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    lacking = Path(shutil.copytree(checkpoint("owlv2"), tmp_path / "owlv2"))
    weights = load_file(lacking / "model.safetensors")
    left = {name: tensor for name, tensor in weights.items() if not name.startswith("box_head")}
    save_file(left, lacking / "model.safetensors", {"format": "pt"})
    message = (
        rf"'owlv2' is incomplete: {len(weights) - len(left)} weights of its architecture are in no file \(box_head"
    )
    with pytest.raises(PluginError, match=message):
        registry.build("segmenters", spec("owlv2") | {"model": str(lacking)})


def test_the_doctor_looks_at_both_checkpoints(tmp_path: Path) -> None:
    whole = [(finding.fine, finding.text) for finding in registry.diagnose("segmenters", spec("owlv2", sam=True))]
    assert all(fine for fine, _ in whole)
    assert sum("is complete" in text for _, text in whole) == 2
    broken = Path(shutil.copytree(checkpoint("owlv2"), tmp_path / "owlv2"))
    (broken / "model.safetensors").write_bytes(b"")
    said = [f for f in registry.diagnose("segmenters", spec("owlv2") | {"model": str(broken)}) if not f.fine]
    assert [f.text for f in said] == [
        "model 'owlv2' is incomplete: model.safetensors is cut short or no safetensors file; copy or download it again"
    ]
    (broken / "config.json").write_text(json.dumps({"model_type": "clip"}))
    with pytest.raises(PluginError):
        registry.build("segmenters", spec("owlv2") | {"model": str(broken)})


def test_results_depend_on_the_files_of_both_checkpoints_and_hold_a_gpu_where_one_is_wanted() -> None:
    files = registry.dependencies("segmenters", spec("owlv2", sam=True))
    assert {Path(file).parent.name for file in files} == {"tiny-owlv2", "tiny-sam2"}
    assert registry.resources("segmenters", spec("owlv2")).gpu == 0
    assert registry.resources("verifiers", {"plugin": "localised", "mask": spec("owlv2") | {"device": "cuda"}}).gpu == 1
