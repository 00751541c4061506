"""Sampling a text: inversion of the cumulative distribution, and caches that change nothing."""

import math
import random
from collections import Counter

import pytest
import torch
from torch import Tensor

from cfeval.testbed.models.precision import precise
from cfeval.testbed.models.vlm import SmallVLM, choose, complete

END, LONGEST = 3, 9
PROMPTS = [[5, 6, 7], [4], [7, 7, 5, 6, 4, 5], [6, 4]]


def _chosen(logits: list[float], drawn: list[float], temperature: float) -> list[int]:
    rows = torch.tensor(logits, dtype=torch.float64).expand(len(drawn), -1)
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
def model() -> SmallVLM:
    torch.manual_seed(1)
    return precise(SmallVLM(8, width=32))


def _read_anew(model: SmallVLM, memory: Tensor, prompt: list[int], seed: int, temperature: float) -> list[int]:
    """Every word from the whole conversation so far, read by itself."""
    stream, words = random.Random(seed), list(prompt)
    for _ in range(LONGEST):
        with torch.no_grad():
            logits = model(memory, torch.tensor([words]))[:, -1]
        word = int(choose(logits, [stream.random()], temperature))
        if word == END:
            break
        words.append(word)
    return words[len(prompt) :]


@pytest.mark.parametrize("temperature", [0, 0.2, 2])
def test_a_text_is_the_same_without_cache_and_batch(model: SmallVLM, temperature: float) -> None:
    memory = torch.randn(len(PROMPTS), 20, 32, dtype=torch.float64)
    together = complete(model, memory, PROMPTS, range(len(PROMPTS)), temperature, END, LONGEST)
    alone = [_read_anew(model, memory[[n]], prompt, n, temperature) for n, prompt in enumerate(PROMPTS)]
    assert together == alone
    assert len({len(words) for words in together}) > 1 or temperature < 2
