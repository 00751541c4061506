"""The networks in numpy compute on the shipped weights what the torch modules that are trained compute."""

from typing import TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cfeval.core.errors import InputError
from cfeval_testbed.items import generate_items
from cfeval_testbed.models import editor, locator, puzzles, vision, vlm
from cfeval_testbed.models.layers import Array, Weights
from cfeval_testbed.records import Referent
from cfeval_testbed.render import render_many
from cfeval_testbed.training import reader
from cfeval_testbed.training.common import shipped
from cfeval_testbed.training.networks import editor as torch_editor
from cfeval_testbed.training.networks import locator as torch_locator
from cfeval_testbed.training.networks import puzzles as torch_puzzles
from cfeval_testbed.training.networks import vlm as torch_vlm

Network = TypeVar("Network", bound=nn.Module)
COUNTED = ".num_batches_tracked"
"""What batch normalisation counts in training; it is not shipped."""


def trained(network: Network, name: str) -> Network:
    """The module with the shipped weights, whose names and shapes are its own."""
    weights = shipped(name)
    wanted = {key: value.shape for key, value in network.state_dict().items() if not key.endswith(COUNTED)}
    assert {key: value.shape for key, value in weights.items()} == wanted
    network.load_state_dict(weights, strict=False)
    return network.double().eval().requires_grad_(False)


def apart(made: Array, wanted: Tensor) -> float:
    """The largest difference, as a share of the largest value."""
    assert made.shape == tuple(wanted.shape)
    assert made.dtype == np.float64
    return float(np.abs(made - wanted.numpy()).max() / wanted.abs().max())


def channels_last(values: Tensor) -> Tensor:
    return values.permute(0, 2, 3, 1)


@pytest.fixture(scope="module")
def images() -> Array:
    """Drawn scenes (5, 64, 64, 3) in [0, 1]."""
    return render_many([item.scene for item in generate_items(5, seed=70_001, correlated=False)]) / 255.0


@pytest.fixture(scope="module")
def tensors(images: Array) -> Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2)


def slots_apart(made: vision.SlotLogits[Array], wanted: vision.SlotLogits[Tensor]) -> float:
    names = ("presence", "shape", "color", "size", "background")
    return max(apart(getattr(made, name), getattr(wanted, name)) for name in names)


@pytest.mark.parametrize("variant", ["a", "b"])
def test_readers(variant: reader.Variant, images: Array, tensors: Tensor) -> None:
    made = vision.SceneReader(Weights.shipped(f"reader-{variant}"))(images)
    assert slots_apart(made, trained(reader.build(variant), f"reader-{variant}")(tensors)) < 1e-12


def test_locator(images: Array, tensors: Tensor) -> None:
    referents = [Referent(color="red"), Referent(shape="star", size="large", position="top left")] * len(images)
    phrases = locator.encode_phrases(referents)
    made = locator.Locator(Weights.shipped("locator"))(images, phrases)
    wanted = trained(torch_locator.Locator(), "locator")(tensors, torch.from_numpy(phrases))
    assert apart(made.choice, wanted.choice) < 1e-12
    assert apart(made.foreground, wanted.foreground) < 1e-12
    assert slots_apart(made.slots, wanted.slots) < 1e-12


@pytest.mark.parametrize("name", ["vlm", "easy-vqa"])
def test_vlms(name: str, images: Array, tensors: Tensor) -> None:
    vocabulary = vlm.Vocabulary(vlm.talking_words())
    model, module = vlm.SmallVLM(Weights.shipped(name)), trained(torch_vlm.SmallVLM(len(vocabulary)), name)
    memory = model.look(images)
    assert apart(memory, module.look(tensors)) < 1e-12
    words = np.random.default_rng(1).integers(len(vocabulary), size=(len(images), 11))
    asked = np.array([0, 3, 10, 5, 7])
    made = model.extend(words, np.broadcast_to(np.arange(11), words.shape), model.caches(memory), asked)
    wanted = module(torch.from_numpy(memory), torch.from_numpy(words))[
        torch.arange(len(asked)), torch.from_numpy(asked)
    ]
    assert apart(made, wanted) < 1e-12


@pytest.mark.parametrize("timestep", [999, 124, 0])
def test_editor(timestep: int, images: Array) -> None:
    source = images[:, :32, :32] * 2 - 1
    mask = np.zeros((len(source), 32, 32, 1))
    mask[:, 4:20, 7:30] = 1
    condition = editor.condition_planes(source, mask, mask[:, ::-1], mask * 0.1)
    prompts = editor.encode_prompts(["object large red star", "nothing", "background mint", "nothing", "nothing"])
    noisy = np.stack([editor.standard_normal(seed) for seed in range(len(source))])
    made = editor.EditorNetwork(Weights.shipped("editor"))(noisy, condition, timestep, prompts)
    module = trained(torch_editor.EditorNetwork(), "editor")
    planes = (torch.from_numpy(values).permute(0, 3, 1, 2) for values in (noisy, condition))
    wanted = module(*planes, torch.full((len(source),), timestep), torch.from_numpy(prompts))
    # diffusers embeds timesteps in float32, where a cosine may be off in the last digit.
    assert apart(made, channels_last(wanted)) < 1e-8


@pytest.mark.parametrize("seed", [0, 7, 2**31 + 5, 2**40 + 3])
def test_noise_is_that_of_torch(seed: int) -> None:
    wanted = torch.randn((3, 32, 32), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert np.abs(editor.standard_normal(seed) - wanted.permute(1, 2, 0).numpy()).max() < 1e-14


def test_puzzles() -> None:
    vocabulary = vlm.Vocabulary(puzzles.counting_words())
    words = puzzles.encode(vocabulary, ["How many dots are there in all the circles together?", "¿?"])
    images = np.random.default_rng(2).random((2, 112, 112, 3))
    model = puzzles.PuzzleNetwork(Weights.shipped("puzzles"))
    module = trained(torch_puzzles.PuzzleNetwork(len(vocabulary)), "puzzles")
    seen, looked = model.look(images), module.look(torch.from_numpy(images).permute(0, 3, 1, 2))
    assert apart(seen.features, channels_last(looked.features)) < 1e-12
    assert apart(seen.things, looked.things) < 1e-12
    asked, read = model.read(words), module.read(torch.from_numpy(words))
    assert apart(asked, read) < 1e-12
    counted, wanted = model.count(seen, asked), module.count(looked, read)
    assert apart(counted.things, wanted.things) < 1e-12
    assert apart(counted.numbers, wanted.numbers) < 1e-11


def test_weights_of_another_network_are_refused() -> None:
    with pytest.raises(InputError, match=r"reader-b\.safetensors are of another network: words\.weight is missing"):
        editor.EditorNetwork(Weights.shipped("reader-b"))
