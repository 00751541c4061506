"""A user's masks: opened by an image's id, kept to by the stage and by `vce try`, named where they are wrong."""

import json
import random
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import ENDING, read
from cfeval.vce.files import masks_in
from cfeval.vce.method import Compute, Method
from cfeval.vce.records import SourceImage
from cfeval.vce.sampler.networks import Models
from cfeval.vce.stages.counterfactuals import counterfactuals, wanted
from cfeval_testbed.scenes import draw_cells
from tests.conftest import Run
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser
from tests.vce.stages.test_counterfactuals import GROUPS, SIDE, SOURCES, pixels_of


def drawn(path: Path, size: tuple[int, int] = (SIDE, SIDE), top: int = 2, mode: str = "L") -> None:
    """A mask whose upper rows are white."""
    pixels = np.zeros(size[::-1], np.uint8)
    pixels[:top] = 255
    PIL.Image.fromarray(pixels).convert(mode).save(path)


@pytest.mark.parametrize("mode", ["L", "1", "RGB", "P"])
def test_a_counterfactual_differs_where_its_mask_is_white_alone(mode: str, tmp_path: Path) -> None:
    for number, source in enumerate(SOURCES):
        drawn(tmp_path / f"{source.id}.png", top=1 + number % 3, mode=mode)
    how = {"preset": "region-constrained", "respacing": "6", "mask": "given", "region_folder": str(tmp_path)}
    tasks = list(wanted(SOURCES, GROUPS, 1, 1, same_noise=True))
    models = Models(ToyDenoiser(), ToyClassifier())
    masks = masks_in(tmp_path, SIDE)
    found = list(counterfactuals(tasks, pixels_of, models, Method.model_validate(how), Compute(batch=4), masks))
    for task, one in zip(tasks, found, strict=True):
        (image,) = one.images.values()
        changed = (image.pixels != pixels_of(task.image)).any(2)
        rows = 1 + SOURCES.index(task.image) % 3
        assert changed[:rows].any()
        assert not changed[rows:].any()


def test_a_mask_that_is_absent_of_another_size_or_empty_is_named(tmp_path: Path) -> None:
    masks, image = masks_in(tmp_path, SIDE), SOURCES[0]
    path = tmp_path / f"{image.id}.png"
    with pytest.raises(InputError, match=f"{image.id}.png: no mask for this image"):
        masks(image)
    drawn(path, (SIDE, 2 * SIDE))
    with pytest.raises(InputError, match="the mask is 4×8, but its image is 4×4"):
        masks(image)
    drawn(path, top=0)
    with pytest.raises(InputError, match="nothing in the mask is white"):
        masks(image)


@pytest.mark.slow
@pytest.mark.parametrize("mask", ["none", "given"])
def test_results_depend_on_the_files_of_the_masks(cfeval: Run, tmp_path: Path, mask: str) -> None:
    images, out = tmp_path / "images.jsonl", tmp_path / "made.jsonl"
    words = ["--label", "red circle", "--count", 1, "--size", 32, "--seed", 3]
    assert cfeval("vce", "images", "--image-set", '{"plugin": "world"}', *words, "--out", images)[0] == 0
    [image] = read_jsonl(images, SourceImage)
    masks = tmp_path / "masks"
    masks.mkdir()
    drawn(masks / f"{image.id}.png", (32, 32), top=16)
    given = {"preset": "region-constrained", "mask": "given", "region_folder": str(masks)}
    method = (given if mask == "given" else {"preset": "unguided"}) | {"respacing": "4"}
    networks = ["--denoiser", '{"plugin": "world"}', "--classifier", '{"plugin": "world"}']
    networks += ["--robust", '{"plugin": "world", "kind": "robust"}'] if mask == "given" else []
    groups = '[{"source": "red circle", "target": "red square"}]'
    words = ["--images", images, *networks, "--method", json.dumps(method), "--groups", groups, "--seed", 3]
    assert cfeval("vce", "counterfactuals", *words, "--out", out)[0] == 0
    [step] = read(f"{out}{ENDING}")
    assert any(name.endswith("masks/") for name in step["inputs"]) == (mask == "given")


@pytest.mark.slow
def test_one_photo_with_a_mask(cfeval: Run, tmp_path: Path) -> None:
    photo, mask, out = tmp_path / "photo.png", tmp_path / "mask.png", tmp_path / "out"
    PIL.Image.fromarray(draw_cells(["red circle"], random.Random(5))[0]).save(photo)
    drawn(mask, (32, 32), top=16)
    method = '{"preset": "region-constrained", "respacing": "10", "scales": [1.0]}'
    words = ["--classifier", "world:robust", "--target", "red square", "--denoiser", "world", "--method", method]
    status, _, err = cfeval("vce", "try", photo, *words, "--mask", mask, "--out", out)
    assert (status, err) == (0, "")
    with PIL.Image.open(photo) as before, PIL.Image.open(out / "counterfactual.png") as after:
        changed = (np.asarray(before.convert("RGB")) != np.asarray(after)).any(2)
    assert changed[:16].any()
    assert not changed[16:].any()
    drawn(mask, (16, 32))
    status, _, err = cfeval("vce", "try", photo, *words, "--mask", mask, "--out", out)
    assert (status, "the mask is 16×32, but the photo is 32×32" in err) == (2, True)
    given = json.dumps({"preset": "region-constrained", "mask": "given", "region_folder": "x"})
    status, _, err = cfeval("vce", "try", photo, *words[:6], "--method", given, "--out", out)
    assert (status, "name it by --mask" in err) == (2, True)
