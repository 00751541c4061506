"""Model-backed operations on tiny random checkpoints, against the models called by hand."""

import hashlib
import io
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.cvqa.plugins.vision_tools import Models, box_overlap, distinct
from cfeval.cvqa.programs.turns import Workers
from cfeval.cvqa.programs.vision import Found, View, VisionError
from cfeval.inference.batching import map_requests
from tests.slow import first_fast
from tests.tiny import detectors, visions

ANY = 1e-6


def pixels(seed: int, height: int = 48, width: int = 64) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)


IMAGE = Image.from_pixels(pixels(1))
WHOLE = View(IMAGE, (0, 0, 64, 48), item="i", seed=5)


def vision(**options: Any) -> Models:
    built: Models = registry.build("vision_tools", {"plugin": "transformers", "device": "cpu", **options})
    return built


def loaded(loader: str, folder: Any, reader: str = "AutoProcessor") -> tuple[Any, Any]:
    import transformers

    library: Any = transformers
    return getattr(library, loader).from_pretrained(folder).eval(), getattr(library, reader).from_pretrained(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grounding-dino", "owlv2"])
def test_boxes_lie_in_the_part_and_say_where_in_the_whole_image_they_are(kind: str) -> None:
    eyes = vision(detector=str(detectors.checkpoint(kind)), threshold=ANY, overlap=1)
    part = View(IMAGE, (16.0, 8.0, 56.0, 40.0))
    found = eyes.find(part, "red bus")
    alone = Image.from_pixels(IMAGE.pixels[8:40, 16:56])
    same = eyes.find(View(alone, (0, 0, 40, 32)), "red bus")
    assert len(found) == len(same) > 1
    for one, other in zip(found, same, strict=True):
        left, top, right, bottom = one.box
        assert 16 <= left < right <= 56
        assert 8 <= top < bottom <= 40
        assert np.subtract(one.box, (16, 8, 16, 8)) == pytest.approx(other.box, abs=1e-4)
        assert one.score == pytest.approx(other.score)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.slow
def test_threshold_overlap_and_number_of_boxes_are_kept_to() -> None:
    detector = str(detectors.checkpoint("grounding-dino"))
    every = vision(detector=detector, threshold=ANY, overlap=1).find(WHOLE, "red bus")
    middle = sorted(found.score for found in every)[len(every) // 2]
    assert {f.score for f in vision(detector=detector, threshold=middle, overlap=1).find(WHOLE, "red bus")} == {
        f.score for f in every if f.score > middle
    }
    apart = vision(detector=detector, threshold=ANY, overlap=0).find(WHOLE, "red bus")
    assert all(box_overlap(one.box, other.box) == 0 for one in apart for other in apart if one is not other)
    assert len(apart) <= len(every)
    assert len(vision(detector=detector, threshold=ANY, overlap=1, boxes=2).find(WHOLE, "red bus")) <= 2


def test_the_phrase_is_what_the_detector_reads() -> None:
    detector = str(detectors.checkpoint("owlv2"))
    plain = vision(detector=detector, threshold=ANY)
    worded = vision(detector=detector, threshold=ANY, phrase="a photo of {name}")
    assert worded.find(WHOLE, "bus") == plain.find(WHOLE, "a photo of bus") != plain.find(WHOLE, "bus")


def test_of_overlapping_boxes_the_surer_one_stays() -> None:
    boxes = [(0.5, (0.0, 0.0, 10.0, 10.0)), (0.9, (0.0, 0.0, 10.0, 8.0)), (0.4, (0.0, 0.0, 10.0, 4.0))]
    assert distinct(boxes, 0.5) == [boxes[1], boxes[2]]  # shares .8 with the first, exactly .5 with the last
    assert distinct(boxes, 0.8) == [boxes[1], boxes[0], boxes[2]]
    assert box_overlap((0, 0, 2, 2), (2, 0, 4, 2)) == 0
    assert box_overlap((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_texts_are_matched_by_the_softmax_of_the_models_scores(kind: str) -> None:
    import torch

    folder = visions.checkpoint(kind)
    texts = ["a red dog", "a cat", "a red dog and a very long tail of words behind it"]
    shares = vision(matcher=str(folder)).match(View(IMAGE, (4, 4, 60, 44)), texts)
    model, processor = loaded("AutoModel", folder)
    cut = PIL.Image.fromarray(IMAGE.pixels[4:44, 4:60])
    inputs = processor(text=texts, images=cut, return_tensors="pt", padding="max_length", truncation=True)
    with torch.no_grad():
        expected = model(**inputs).logits_per_image[0].softmax(-1).tolist()
    assert shares == pytest.approx(expected, abs=1e-4)
    assert sum(shares) == pytest.approx(1)
    assert len(set(shares)) == 3


@pytest.mark.parametrize(
    ("name", "sign"), first_fast([("dpt", -1), ("depth_anything", -1), ("depth_anything_metric", 1), ("glpn", 1)], 1)
)
def test_depth_is_the_median_in_the_map_of_the_whole_image_and_grows_with_distance(name: str, sign: int) -> None:
    import torch

    folder = visions.checkpoint(name)
    eyes = vision(depth=str(folder))
    model, processor = loaded("AutoModelForDepthEstimation", folder, "AutoImageProcessor")
    image = PIL.Image.fromarray(IMAGE.pixels)
    with torch.no_grad():
        outputs = model(**processor(images=image, return_tensors="pt"))
    [found] = processor.post_process_depth_estimation(outputs, target_sizes=[(48, 64)])
    depths = found["predicted_depth"].numpy()
    assert depths.shape == (48, 64)
    for left, top, right, bottom in ((0, 0, 64, 48), (3, 5, 20, 30), (40, 20, 64, 48)):
        median = np.median(depths[top:bottom, left:right])
        assert eyes.depth(View(IMAGE, (left, top, right, bottom))) == pytest.approx(sign * median, abs=1e-5)
    other = View(Image.from_pixels(pixels(2)), (3, 5, 20, 30))
    assert eyes.depth(other) == vision(depth=str(folder)).depth(other), "the map is that of the image asked about"


@pytest.mark.slow
def test_inside_goes_by_the_outline_that_sam_draws() -> None:
    from cfeval.inference.local.detector import BoxSegmenter

    eyes = vision(sam=str(detectors.checkpoint("sam2")))
    outer = Found((10.0, 5.0, 50.0, 40.0))
    mask = BoxSegmenter(eyes._loaded["sam"])(IMAGE.pixels, [outer.box])
    for box in ((0, 0, 6, 6), (12, 8, 30, 20), (30, 20, 60, 46), (20, 10, 22, 12)):
        share = mask[box[1] : box[3], box[0] : box[2]].mean()
        assert eyes.inside(View(IMAGE, box), View(IMAGE, outer.box, outer)) == (share > 0.5)


def test_chat_models_are_shown_the_part_and_asked_in_a_word() -> None:
    eyes = vision(
        vqa={"plugin": "mock", "replies": ["{image} {question}"], "statuses": {"bad": "refused"}},
        llm={"plugin": "mock", "replies": ["{question}"]},
    )
    part = View(IMAGE, (8, 8, 40, 40), item="i")
    said = eyes.ask(part, "What color is the {car}?")
    shown = Image.from_pixels(IMAGE.pixels[8:40, 8:40])
    assert said.startswith(hashlib.sha256(shown.png).hexdigest()[:6])
    assert "What color is the {car}?" in said
    assert "single word" in eyes.tell("Where do gulls nest?", long=False)
    assert "single word" not in eyes.tell("Where do gulls nest?", long=True)
    with pytest.raises(VisionError, match="'vqa' did not answer") as caught:
        eyes.ask(View(IMAGE, (0, 0, 9, 9), item="bad"), "?")
    assert caught.value.status == Status.REFUSED


def test_a_question_about_the_whole_image_shows_the_very_file_that_the_record_names() -> None:
    file = io.BytesIO()
    PIL.Image.fromarray(IMAGE.pixels).save(file, format="PNG", compress_level=1)
    image = Image(file.getvalue())
    assert image.png != IMAGE.png
    eyes = vision(vqa={"plugin": "mock", "replies": ["{image}"]})
    assert image.sha256.startswith(eyes.ask(View(image, (-9.5, 0, 64, 48), item="i"), "What?"))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("<think>Four? No.</think>three", "three"),
        ("◁think▷Four?◁/think▷<answer>three</answer> cars", "three"),
        ('{"answer": "three"}', "three"),
        ("<answer>three</answer> or <answer>four</answer>", "<answer>three</answer> or <answer>four</answer>"),
    ],
)
def test_a_program_gets_the_answer_and_not_the_thoughts_of_a_vision_model(reply: str, said: str) -> None:
    eyes = vision(vqa={"plugin": "mock", "replies": [reply]}, llm={"plugin": "mock", "replies": [reply]})
    assert eyes.ask(WHOLE, "How many?") == said
    assert eyes.tell("How many?", long=False) == said


def test_a_vision_model_whose_thoughts_do_not_end_says_nothing() -> None:
    eyes = vision(vqa={"plugin": "mock", "replies": ["<think>Four, or three, or"]})
    with pytest.raises(VisionError, match="thoughts in the reply do not end") as caught:
        eyes.ask(WHOLE, "How many?")
    assert caught.value.status == Status.TRUNCATED


def test_an_operation_without_its_model_names_the_option_to_set() -> None:
    eyes = vision()
    operations = {
        "detector": lambda: eyes.find(WHOLE, "bus"),
        "matcher": lambda: eyes.match(WHOLE, ["bus"]),
        "depth": lambda: eyes.depth(WHOLE),
        "sam": lambda: eyes.inside(WHOLE, WHOLE),
        "vqa": lambda: eyes.ask(WHOLE, "What?"),
        "llm": lambda: eyes.tell("What?", False),
    }
    for option, operation in operations.items():
        with pytest.raises(VisionError, match=f"set its option '{option}'") as caught:
            operation()
        assert caught.value.status == Status.OK


def test_a_part_outside_the_image_is_refused() -> None:
    eyes = vision(detector=str(detectors.checkpoint("owlv2")))
    with pytest.raises(VisionError, match="no pixel of a 64 × 48 image"):
        eyes.find(View(IMAGE, (64, 0, 70, 10)), "bus")


def test_bad_options_and_checkpoints_of_another_kind_are_named() -> None:
    with pytest.raises(ParamsError, match=r"must hold \{name\}"):
        vision(phrase="a photo")
    with pytest.raises(ParamsError, match="'depth_revision' is the revision of a model, and no 'depth' is given"):
        vision(depth_revision="main")
    with pytest.raises(PluginError, match="one of dpt or depth_anything or glpn is needed"):
        vision(depth=str(visions.checkpoint("clip")))


def test_what_it_needs_rests_on_and_lacks_is_said() -> None:
    spec = {"plugin": "transformers", "matcher": str(visions.checkpoint("clip")), "device": "cpu"}
    assert registry.resources("vision_tools", spec).gpu == 0
    assert registry.resources("vision_tools", {**spec, "device": "auto"}).gpu == 1
    assert registry.resources("vision_tools", {"plugin": "transformers"}).gpu == 0
    assert any(path.endswith("model.safetensors") for path in registry.dependencies("vision_tools", spec))
    findings = list(registry.diagnose("vision_tools", spec))
    assert all(finding.fine for finding in findings)
    assert any("detector, depth, sam, vqa, llm" in finding.text for finding in findings)
    talking = {**spec, "llm": {"plugin": "mock"}, "prompts": "no/such/folder"}
    assert any("no prompt ask.md" in finding.text for finding in registry.diagnose("vision_tools", talking))


@pytest.mark.slow
def test_detector_and_matcher_take_several_parts_at_once_and_say_what_they_say_of_each_alone() -> None:
    eyes = vision(detector=str(detectors.checkpoint("owlv2")), matcher=str(visions.checkpoint("clip")), threshold=ANY)
    parts = [View(Image.from_pixels(pixels(seed, 40 + seed, 64)), (0, 0, 64, 40 + seed)) for seed in range(5)]
    texts = [("a red bus", "a dog"), ("two words more than that", "x"), ("a red bus", "a cat", "a dog")] * 2
    sizes = list[int]()
    eyes._found.batch = _counting(sizes, eyes._found.batch)
    eyes._matched.batch = _counting(sizes, eyes._matched.batch)
    workers = Workers(outside=False)

    async def both(number: int) -> tuple[list[Found], list[float]]:
        part = parts[number]
        return await workers.run(lambda: (eyes.find(part, "bus"), eyes.match(part, texts[number])))

    together = [said for _, said in map_requests(range(5), lambda same: same, both, 5)]
    assert sizes == [5, 5]
    for number, (found, shares) in enumerate(together):
        alone = eyes.find(parts[number], "bus")
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-5)
        assert np.array([one.box for one in found]) == pytest.approx(np.array([one.box for one in alone]), abs=1e-3)
        assert shares == pytest.approx(eyes.match(parts[number], texts[number]), abs=1e-5)
        assert len(shares) == len(texts[number])


def _counting(sizes: list[int], batch: Any) -> Any:
    def counted(asked: Any) -> Any:
        sizes.append(len(asked))
        return batch(asked)

    return counted
