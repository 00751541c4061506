"""Samples text from the small VLM, one random stream per request, so that no result depends on its batch."""

import math
import random
from collections.abc import Sequence

import torch
from torch import Tensor

from cfeval.world.networks.vlm import MAX_WORDS, SmallVLM


@torch.no_grad()
def complete(
    model: SmallVLM,
    memory: Tensor,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    temperature: float,
    end: int,
    longest: int,
) -> list[list[int]]:
    """Continues each prompt until `end` or `longest` words.

    Args:
        model: in evaluation mode; double precision makes the text independent of the machine.
        memory: visual tokens (N, M, width), one picture per prompt.
        prompts: N lists of word numbers.
        seeds: N seeds; a request draws one uniform number per word, from its own stream.
        temperature: 0 takes the likeliest word.
        end: the number of the word that ends a turn, not returned.
        longest: most words to write.
    """
    streams = [random.Random(seed) for seed in seeds]
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    width = int(lengths.max())
    words = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts])
    positions = torch.arange(width).expand(len(prompts), width)
    caches = model.caches(len(prompts), min(MAX_WORDS, width + longest))
    logits = model.extend(memory, words, positions, caches)[torch.arange(len(prompts)), lengths - 1]
    written: list[list[int]] = [[] for _ in prompts]
    running = [True] * len(prompts)
    for _ in range(min(longest, MAX_WORDS - width)):
        chosen = [choose(row, stream, temperature) for row, stream in zip(logits.tolist(), streams, strict=True)]
        for row, word in enumerate(chosen):
            running[row] = running[row] and word != end
            if running[row]:
                written[row].append(word)
        if not any(running):
            break
        logits = model.extend(memory, torch.tensor(chosen)[:, None], lengths[:, None], caches)[:, 0]
        lengths = lengths + 1
    return written


def choose(logits: Sequence[float], stream: random.Random, temperature: float) -> int:
    """A word by inversion of the cumulative distribution; the likeliest (the first of equals) at temperature 0."""
    top = max(logits)
    if temperature <= 0:
        return logits.index(top)
    weights = [math.exp((value - top) / temperature) for value in logits]
    target = stream.random() * math.fsum(weights)
    for word, weight in enumerate(weights):
        target -= weight
        if target < 0:
            return word
    return logits.index(top)
