"""Sampling a text: inversion of the cumulative distribution, and caches that change nothing."""

import math
import random
from collections import Counter

import numpy as np
import pytest
import torch

from cfeval_testbed.models.layers import Array
from cfeval_testbed.models.vlm import SmallVLM, choose, complete
from cfeval_testbed.training.common import for_inference
from cfeval_testbed.training.networks import vlm as networks

END, LONGEST = 3, 9
PROMPTS = [[5, 6, 7], [4], [7, 7, 5, 6, 4, 5], [6, 4]]


def _chosen(logits: list[float], drawn: list[float], temperature: float) -> list[int]:
    rows = np.tile(np.array(logits), (len(drawn), 1))
    found: list[int] = choose(rows, drawn, temperature).tolist()
    return found


def test_temperature_zero_takes_the_first_of_the_likeliest() -> None:
    assert _chosen([0.0, 3.0, 3.0], [0.9], 0) == [1]


def test_words_come_as_often_as_their_probability_says() -> None:
    stream = random.Random(1)
    drawn = [stream.random() for _ in range(4000)]
    counts = Counter(_chosen([math.log(0.7), math.log(0.2), math.log(0.1)], drawn, 1.0))
    assert abs(counts[0] / 4000 - 0.7) < 0.03
    assert abs(counts[2] / 4000 - 0.1) < 0.02


def test_the_smallest_and_the_largest_draw_are_words() -> None:
    assert _chosen([0.0, 0.0], [0.0, math.nextafter(1.0, 0.0)], 1.0) == [0, 1]


def test_a_low_temperature_sharpens_the_choice() -> None:
    stream = random.Random(2)
    assert set(_chosen([1.0, 0.0], [stream.random() for _ in range(200)], 0.05)) == {0}


@pytest.fixture(scope="module")
def module() -> networks.SmallVLM:
    torch.manual_seed(1)
    return networks.SmallVLM(8, width=32).double().eval().requires_grad_(False)


def _read_anew(module: networks.SmallVLM, memory: Array, prompt: list[int], seed: int, temperature: float) -> list[int]:
    """Every word from the whole conversation so far, read by itself, with torch."""
    stream, words = random.Random(seed), list(prompt)
    for _ in range(LONGEST):
        logits = module(torch.from_numpy(memory), torch.tensor([words]))[:, -1].numpy()
        word = int(choose(logits, [stream.random()], temperature)[0])
        if word == END:
            break
        words.append(word)
    return words[len(prompt) :]


@pytest.mark.parametrize("temperature", [0, 0.2, 2])
def test_a_text_is_the_same_without_cache_and_batch(module: networks.SmallVLM, temperature: float) -> None:
    model = SmallVLM(for_inference(module.state_dict()))
    memory = np.random.default_rng(1).normal(size=(len(PROMPTS), 20, 32))
    together = complete(model, memory, PROMPTS, range(len(PROMPTS)), temperature, END, LONGEST)
    alone = [_read_anew(module, memory[[n]], prompt, n, temperature) for n, prompt in enumerate(PROMPTS)]
    assert together == alone
    assert len({len(words) for words in together}) > 1 or temperature < 2
