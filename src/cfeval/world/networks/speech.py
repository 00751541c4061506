"""Samples text from the small VLM, one random stream per request, so that no result depends on its batch."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cfeval.world.networks.vlm import MAX_WORDS, Cache, SmallVLM


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
    said = _Conversations.begun(model, memory, prompts, seeds, longest)
    written: list[list[int]] = [[] for _ in prompts]
    for _ in range(min(longest, MAX_WORDS - max(map(len, prompts)))):
        chosen = choose(said.logits, [stream.random() for stream in said.streams], temperature)
        for place, word in zip(said.places, chosen.tolist(), strict=True):
            written[place] += [word] if word != end else []
        going = (chosen != end).nonzero()[:, 0]
        if not len(going):
            break
        said = said.rows(going).extended(model, chosen[going])
    return written


@dataclass(frozen=True)
class _Conversations:
    """Those that go on: which prompt each is of, its stream, its words so far, logits (N, vocabulary) of the next."""

    places: list[int]
    streams: list[random.Random]
    lengths: Tensor
    logits: Tensor
    caches: list[Cache]

    @classmethod
    def begun(
        cls, model: SmallVLM, memory: Tensor, prompts: Sequence[Sequence[int]], seeds: Sequence[int], longest: int
    ) -> "_Conversations":
        """All prompts read; what pads the shorter ones is overwritten before it is looked at."""
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        width = int(lengths.max())
        words = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts])
        caches = model.caches(memory, min(MAX_WORDS, width + longest))
        logits = model.extend(words, torch.arange(width).expand(len(prompts), width), caches, lengths - 1)
        return cls(list(range(len(prompts))), [random.Random(seed) for seed in seeds], lengths, logits, caches)

    def rows(self, going: Tensor) -> "_Conversations":
        """Only these conversations."""
        if len(going) == len(self.places):
            return self
        places, streams = ([kept[row] for row in going.tolist()] for kept in (self.places, self.streams))
        caches = [cache.rows(going) for cache in self.caches]
        return _Conversations(places, streams, self.lengths[going], self.logits[going], caches)

    def extended(self, model: SmallVLM, chosen: Tensor) -> "_Conversations":
        """Each with one more word (N,)."""
        logits = model.extend(chosen[:, None], self.lengths[:, None], self.caches, torch.zeros_like(chosen))
        return replace(self, lengths=self.lengths + 1, logits=logits)


def choose(logits: Tensor, drawn: Sequence[float], temperature: float) -> Tensor:
    """A word for each row of logits (N, vocabulary), by inversion of the cumulative distribution, (N,).

    `drawn` are numbers in [0, 1), one a row. At temperature 0 it is the likeliest word, the first of equals.
    """
    logits = logits.double()
    likeliest = logits.argmax(1)
    if temperature <= 0:
        return likeliest
    top = logits.amax(1, keepdim=True)
    sums = ((logits - top) / temperature).exp().cumsum(1)
    targets = torch.tensor(drawn, dtype=sums.dtype)[:, None] * sums[:, -1:]
    beyond = sums > targets
    return torch.where(beyond[:, -1], beyond.to(torch.uint8).argmax(1), likeliest)
