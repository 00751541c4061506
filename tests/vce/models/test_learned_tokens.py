"""Tokens that a tiny Stable Diffusion learns for what a classifier sees, and what it does with them."""

import json
import math
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.sampling import derive_seed
from cfeval.vce.models.learned_tokens import (
    LearnedTokens,
    Training,
    learn_tokens,
    read_tokens,
    squared_error,
    write_tokens,
)
from cfeval.vce.records import VceCounterfactual
from tests.conftest import Run
from tests.tiny.denoisers import latent_pipeline, text_pipeline
from tests.vce.sampler.toys import red_images

NAMES = ("ant", "bee", "cat")
IMAGES = list(red_images(6, 16))
SEEN = ["bee", "ant", "bee", "bee", "ant", "ant"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text") / "model"
    text_pipeline(folder)
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    (tmp_path / "model").symlink_to(written)
    return tmp_path / "model"


def spec(folder: Path, **options: Any) -> dict[str, Any]:
    names = str(folder.parent / "names.txt")
    return {"plugin": "diffusers", "model": str(folder), "device": "cpu", "classes": names, **options}


def built(folder: Path, **options: Any) -> Any:
    return registry.build("denoisers", spec(folder, **options))


def learned(folder: Path, training: Training, **options: Any) -> LearnedTokens:
    return learn_tokens(built(folder), IMAGES, SEEN, ["real", "scene"], 2, training=training, **options)


def test_learning_is_adam_on_the_new_rows_alone(folder: Path) -> None:
    """One phase over one image, against Adam written out (TIME's code: decay in the gradient, ε 1e-9)."""
    training = Training(steps=4, batch=1, rate=0.01, decay=0.1, seed=5)
    model = built(folder)
    before = model.unet.encoder.get_input_embeddings().weight.clone()
    made = learn_tokens(model, IMAGES[:1], ["bee"], ["real"], 1, training=training)
    after = model.unet.encoder.get_input_embeddings().weight
    assert torch.equal(after[: len(before)], before), "the embeddings that were there stay"

    other = built(folder)
    tokenizer, encoder = other.unet.tokenizer, other.unet.encoder
    start = {word: before[tokenizer(word, add_special_tokens=False).input_ids].mean(0) for word in ("real", "bee")}
    tokenizer.add_tokens(["<context-1>", "<class-0-1>"])
    encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    weight = encoder.get_input_embeddings().weight
    weight.requires_grad_(True)
    row = len(before) + 1
    with torch.no_grad():
        weight[row - 1], weight[row] = made.context[0], start["bee"]
    mean = square = torch.zeros_like(start["bee"])
    for step in range(4):
        generator = torch.Generator().manual_seed(derive_seed(5, "tokens", "bee", step))
        loss = squared_error(other, IMAGES[0], "A <context-1> photo with a <class-0-1>", generator)
        gradient = torch.autograd.grad(loss, weight)[0][row] + 0.1 * weight.detach()[row]
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        corrected = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        with torch.no_grad():
            weight[row] -= 0.01 * corrected[0] / (corrected[1].sqrt() + 1e-9)
    assert torch.allclose(made.classes["bee"][0], weight[row], atol=1e-5)
    assert not torch.allclose(made.classes["bee"][0], start["bee"], atol=1e-3)


def test_the_error_is_that_of_the_noise_under_the_text(folder: Path) -> None:
    model = built(folder)
    generator = torch.Generator().manual_seed(3)
    error = squared_error(model, IMAGES[0], "a bee", generator)
    generator = torch.Generator().manual_seed(3)
    spread = model.autoencoder.encode(IMAGES[:1][0][None]).latent_dist
    latent = 0.5 * (spread.mean + spread.std * torch.randn(1, 4, 8, 8, generator=generator))
    noise = torch.randn(1, 4, 8, 8, generator=generator)
    time = int(torch.randint(1000, (1,), generator=generator))
    bar = float(model.alphas_cumprod[time])
    tokens = model.unet.tokenizer("a bee", padding="max_length", max_length=77, return_tensors="pt").input_ids
    states = model.unet.encoder(tokens).last_hidden_state
    predicted = model.unet.unet(math.sqrt(bar) * latent + math.sqrt(1 - bar) * noise, time, states).sample
    assert float(error) == pytest.approx(float((predicted - noise).pow(2).sum()), rel=1e-5)


def test_tokens_come_back_from_their_file_and_stand_in_the_prompts(folder: Path) -> None:
    made = learned(folder, Training(steps=1, batch=2, rate=0.1), joint="that shows")
    path = folder.parent / "tokens.safetensors"
    write_tokens(path, made)
    again = read_tokens(path)
    assert torch.equal(again.context, made.context)
    assert list(again.classes) == ["ant", "bee"]
    assert all(torch.equal(again.classes[name], made.classes[name]) for name in again.classes)
    assert made.prompt("bee") == "A <context-1> <context-2> photo that shows <class-1-1> <class-1-2>"
    assert made.prompt("cat") == "A <context-1> <context-2> photo that shows cat"
    model = built(folder, tokens=str(path))
    noisy, steps = torch.randn(1, 4, 8, 8), torch.tensor([500])
    with torch.no_grad():
        expected = model.unet.unet(noisy, steps, model.unet.read(made.prompt("ant"))).sample
        assert torch.allclose(model.predict(noisy, steps, torch.tensor([0])).noise, expected, atol=1e-5)
        assert not torch.allclose(built(folder).predict(noisy, steps, torch.tensor([0])).noise, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("text", "not a file of learned tokens"),
        ("class", "tokens for class 'dog', which `classes` does not have"),
        ("width", "were learned for a text encoder of width 5, and this one has 32"),
        ("plain", "wants no text; leave `tokens` out"),
    ],
)
def test_tokens_that_do_not_fit_are_one_line(folder: Path, wrong: str, line: str) -> None:
    path = folder.parent / "tokens.safetensors"
    width = 5 if wrong == "width" else 32
    write_tokens(
        path, LearnedTokens(torch.zeros(1, width), {"dog" if wrong == "class" else "ant": torch.zeros(1, width)})
    )
    if wrong == "text":
        path.write_text("a word")
    if wrong == "plain":
        latent_pipeline(folder.parent / "plain")
    where = folder.parent / ("plain" if wrong == "plain" else "model")
    with pytest.raises(CfevalError, match=line):
        registry.build("denoisers", spec(where, tokens=str(path), **({"classes": ""} if wrong == "plain" else {})))


@pytest.mark.slow
def test_from_images_and_a_classifier_to_tokens_to_counterfactuals(cfeval: Run, folder: Path) -> None:
    """The verbs as a user calls them: TIME asks the classifier for outputs alone."""
    here = folder.parent
    for name, color in (("ant", (220, 30, 30)), ("bee", (30, 220, 30))):
        (here / "photos" / name).mkdir(parents=True)
        for number in range(2):
            PIL.Image.new("RGB", (16, 16), tuple(c - 9 * number for c in color)).save(
                here / "photos" / name / f"{number}.png"
            )
    (here / "colors.py").write_text(
        "import torch\n\nclass Colors(torch.nn.Module):\n    def forward(self, images):\n"
        "        return 9 * images.mean((2, 3)).round()\n\ndef make():\n    return Colors()\n"
    )
    photos = {"plugin": "folder", "path": str(here / "photos")}
    names = str(here / "names.txt")
    colors = {"plugin": "python", "factory": "colors:make", "folder": str(here), "classes": names, "device": "cpu"}
    networks = ("--denoiser", json.dumps(spec(folder)), "--classifier", json.dumps(colors))
    learn = ("--image-set", json.dumps(photos), "--count", 2, "--steps", 2, "--batch", 2, "--context", "plain color")
    path = here / "tokens.safetensors"
    status, out, err = cfeval("vce", "tokens", *networks, *learn, "--out", path)
    assert status == 0, err
    assert out == f"{path}: tokens for ant (2 images), bee (2 images)\n"
    assert err.splitlines()[-3:] == [f"learning tokens for {phase}" for phase in ("the context", "'ant'", "'bee'")]

    images, made = here / "images.jsonl", here / "made.jsonl"
    status, _, err = cfeval(
        *("vce", "images", "--image-set", json.dumps(photos), "--label", "ant", "--count", 2, "--size", 16),
        *("--seed", 1, "--out", images),
    )
    assert status == 0, err
    method = {"preset": "time", "respacing": "ddim10", "starts": [0.3, 0.5], "scales": [4, 4]}
    status, _, err = cfeval(
        *("vce", "counterfactuals", "--images", images, "--denoiser", json.dumps(spec(folder, tokens=str(path)))),
        *("--classifier", json.dumps(colors), "--method", json.dumps(method), "--seed", 1, "--out", made),
        *("--groups", json.dumps([{"source": "ant", "target": "bee"}])),
    )
    assert status == 0, err
    records = list(read_jsonl(made, VceCounterfactual))
    assert [(record.status, record.attempts) for record in records] == [("ok", 2)] * 2, "random weights flip nothing"
    assert all((made.with_suffix("") / f"{record.id}.png").is_file() for record in records)
