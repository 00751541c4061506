"""Stable Diffusion as a denoiser: the name of a class is the prompt, read by the checkpoint's own text encoder."""

import json
import shutil
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import load as load_image
from cfeval.core.jsonl import read_jsonl
from cfeval.vce.method import Compute, Method
from cfeval.vce.records import SourceImage, VceCounterfactual
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from tests.conftest import Run
from tests.tiny.denoisers import latent_pipeline, text_pipeline
from tests.vce.sampler.toys import ToyClassifier, red_images

NAMES = ("ant", "bee", "cat")
IMAGES = red_images(3, 16)
CLASSES = Classes([1] * 3, [0] * 3)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any, Any]:
    """Its folder, UNet, tokenizer and text encoder."""
    folder = tmp_path_factory.mktemp("text") / "model"
    return folder, *text_pipeline(folder)


def built(folder: Path, **options: Any) -> Any:
    names = folder.parent / "names.txt"
    names.write_text("\n".join(NAMES))
    spec = {"plugin": "diffusers", "model": str(folder), "device": "cpu", "classes": str(names), **options}
    return registry.build("denoisers", spec)


def test_the_noise_is_what_the_unet_finds_under_each_classs_prompt(checkpoint: tuple[Path, Any, Any, Any]) -> None:
    folder, unet, tokenizer, encoder = checkpoint
    denoiser = built(folder, prompt="a drawing of a {}, in oil")
    assert (denoiser.image_size, denoiser.classes) == (16, 3)
    noisy, steps, labels = torch.randn(3, 4, 8, 8), torch.tensor([3, 500, 900]), torch.tensor([2, 0, 2])
    texts = [f"a drawing of a {NAMES[label]}, in oil" for label in labels]
    with torch.no_grad():
        told = tokenizer(texts, padding="max_length", max_length=77, truncation=True, return_tensors="pt")
        expected = unet(noisy, steps, encoder_hidden_states=encoder(told.input_ids).last_hidden_state).sample
        found = denoiser.predict(noisy, steps, labels).noise
        other = denoiser.predict(noisy, steps, labels.flip(0) * 0).noise
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, other, atol=1e-3)


def test_counterfactuals_follow_prompt_and_classifier(checkpoint: tuple[Path, Any, Any, Any]) -> None:
    denoiser, classifier = built(checkpoint[0]), ToyClassifier(gain=40.0)

    def made(**how: Any) -> torch.Tensor:
        method = Method.model_validate({"preset": "dbvce", "projection": "none", "respacing": "6", **how})
        return counterfactuals(IMAGES, range(3), method, Models(denoiser, classifier), CLASSES, Compute(batch=2)).images

    def target(images: torch.Tensor) -> torch.Tensor:
        return classifier.logits(images).softmax(1)[:, 1]

    alone, guided = made(preset="unguided"), made(scales=(6.0,))
    assert guided.shape == IMAGES.shape
    assert bool((target(guided) > target(alone)).all())
    assert not torch.equal(guided, made(scales=(6.0,), projection="consensus", angle=60))


def test_ldce_asks_under_the_empty_prompt_and_follows_the_classifier(checkpoint: tuple[Path, Any, Any, Any]) -> None:
    folder, unet, tokenizer, encoder = checkpoint
    denoiser = built(folder)
    noisy, steps = torch.randn(2, 4, 8, 8), torch.tensor([3, 900])
    with torch.no_grad():
        told = tokenizer(["", ""], padding="max_length", max_length=77, truncation=True, return_tensors="pt")
        expected = unet(noisy, steps, encoder_hidden_states=encoder(told.input_ids).last_hidden_state).sample
        found = denoiser.predict(noisy, steps, torch.full((2,), denoiser.no_class)).noise
    assert torch.allclose(found, expected, atol=1e-5)
    classifier = ToyClassifier(gain=40.0)
    method = Method(preset="ldce", respacing="ddim5", start=0.6)
    made = counterfactuals(IMAGES, range(3), method, Models(denoiser, classifier), CLASSES, Compute(batch=2))
    assert bool(made.finite.all())
    assert made.images.shape == IMAGES.shape


def test_a_prediction_under_a_text_is_that_under_its_label_and_gradients_reach_the_text(
    checkpoint: tuple[Path, Any, Any, Any],
) -> None:
    denoiser = built(checkpoint[0])
    noisy, steps, labels = torch.randn(2, 4, 8, 8), torch.tensor([3, 900]), torch.tensor([2, denoiser.no_class])
    text = denoiser.text(labels).requires_grad_()
    predicted = denoiser.predict_under(noisy, steps, text).noise
    assert torch.allclose(predicted, denoiser.predict(noisy, steps, labels).noise, atol=1e-5)
    assert torch.autograd.grad(predicted.square().sum(), text)[0].abs().sum() > 0


@pytest.mark.slow
def test_dig_in_from_params_to_counterfactual(
    cfeval: Run, checkpoint: tuple[Path, Any, Any, Any], tmp_path: Path
) -> None:
    """By the test bed's classifier; the tiny model draws no cells, so only that the image moves is seen."""
    world, images, out = {"plugin": "world", "dtype": "float32"}, tmp_path / "images.jsonl", tmp_path / "made.jsonl"
    (tmp_path / "cells" / "red circle").mkdir(parents=True)
    (tmp_path / "cells" / "blue star").mkdir()
    for name, color in (("red circle", "red"), ("blue star", "blue")):
        PIL.Image.new("RGB", (16, 16), color).save(tmp_path / "cells" / name / "0.png")
    status, _, err = cfeval(
        *("vce", "images", "--image-set", json.dumps({"plugin": "folder", "path": str(tmp_path / "cells")})),
        *("--label", "red circle", "--count", 1, "--size", 16, "--seed", 3, "--out", images),
    )
    assert status == 0, err
    names = tmp_path / "cells.txt"
    names.write_text("\n".join(registry.build("classifiers", world).classes))
    denoiser = {"plugin": "diffusers", "model": str(checkpoint[0]), "device": "cpu", "classes": str(names)}
    method = {"preset": "dig-in", "respacing": "ddim4", "prompt_steps": 3}
    status, _, err = cfeval(
        *("vce", "counterfactuals", "--images", images, "--denoiser", json.dumps(denoiser)),
        *("--classifier", json.dumps(world), "--method", json.dumps(method), "--seed", 3, "--out", out),
        *("--groups", json.dumps([{"source": "red circle", "target": "red square"}])),
    )
    assert status == 0, err
    [record] = read_jsonl(out, VceCounterfactual)
    [source] = read_jsonl(images, SourceImage)
    assert record.image is not None
    before = load_image(images.with_suffix(""), source.image).pixels
    assert (load_image(out.with_suffix(""), record.image).pixels != before).any()


def test_what_is_wrong_with_a_text_is_one_line(checkpoint: tuple[Path, Any, Any, Any], tmp_path: Path) -> None:
    latent_pipeline(tmp_path / "plain")
    with pytest.raises(PluginError, match="model 'plain' wants no text; leave `classes` out"):
        built(tmp_path / "plain")
    copied = Path(shutil.copytree(checkpoint[0], tmp_path / "half"))
    (copied / "tokenizer" / "tokenizer_config.json").unlink()
    with pytest.raises(PluginError, match=r"is incomplete: tokenizer/tokenizer_config\.json is missing"):
        built(copied)
    with pytest.raises(ParamsError, match="option 'prompt' of 'diffusers'"):
        built(checkpoint[0], prompt="a photo")
