"""A small vision-language model: convolutional encoder, visual tokens, causal transformer decoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval.world.networks.vision import NAMES, SceneReader, name_probabilities

MAX_WORDS = 64
"""Longest conversation, words."""


@dataclass(frozen=True)
class Cache:
    """What one layer has computed already of N conversations, (N, heads, …, head width).

    Keys and values of the words so far, with room for more, and of the visual tokens, which never change.
    """

    keys: Tensor
    values: Tensor
    seen_keys: Tensor
    seen_values: Tensor

    def rows(self, chosen: Tensor) -> "Cache":
        """Only these conversations."""
        return Cache(self.keys[chosen], self.values[chosen], self.seen_keys[chosen], self.seen_values[chosen])


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the visual tokens, feed-forward; normalised before each."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.self_in = nn.Linear(width, 3 * width)
        self.self_out = nn.Linear(width, width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.cross_out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, words: Tensor, memory: Tensor) -> Tensor:
        """Words (N·K, T, width) and visual tokens (N, M, width) to words of the same shape."""
        query, key, value = (self._split(part) for part in self.self_in(self.norms[0](words)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        words = words + self.self_out(mixed.transpose(1, 2).flatten(2))
        return self._after_words(words, *self.seen(memory))

    def seen(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of visual tokens (N, M, width), each (N, heads, M, head width)."""
        key, value = (self._split(part) for part in self.key_value(memory).chunk(2, -1))
        return key, value

    def extend(self, words: Tensor, positions: Tensor, cache: Cache, asked: Tensor | None = None) -> Tensor:
        """Further words (N, T, width) at positions (N, T), which the cache learns, to words of the same shape.

        With `asked` (N,), a place in 0 … T − 1 of each conversation, to the words at these places alone, (N, 1, width).
        """
        rows = torch.arange(len(words))
        query, key, value = self.self_in(self.norms[0](words)).chunk(3, -1)
        heads = (*words.shape[:2], self.heads, -1)
        cache.keys[rows[:, None], :, positions] = key.reshape(heads)
        cache.values[rows[:, None], :, positions] = value.reshape(heads)
        if asked is not None:
            words, query, positions = (part[rows, asked][:, None] for part in (words, query, positions))
        length = int(positions.max()) + 1
        before = (torch.arange(length) <= positions[..., None])[:, None]
        keys, values = cache.keys[:, :, :length], cache.values[:, :, :length]
        mixed = functional.scaled_dot_product_attention(self._split(query), keys, values, attn_mask=before)
        words = words + self.self_out(mixed.transpose(1, 2).flatten(2))
        return self._after_words(words, cache.seen_keys, cache.seen_values)

    def _split(self, values: Tensor) -> Tensor:
        count, length, width = values.shape
        return values.view(count, length, self.heads, width // self.heads).transpose(1, 2)

    def _after_words(self, words: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention to the visual tokens, then feed-forward; K conversations about one picture ask as one query."""
        query = self._split(self.query(self.norms[1](words)).reshape(len(key), -1, words.shape[-1]))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        words = words + self.cross_out(mixed.transpose(1, 2).reshape(words.shape))
        out: Tensor = words + self.feed(self.norms[2](words))
        return out


class SmallVLM(nn.Module):
    """Answers questions about a picture and explains the answers; about 0.85 million parameters.

    The visual tokens are 16 patches (the encoder's 8×8 grid, averaged in pairs) and 4 quadrants (the features from
    which the reader head names the objects; with `named`, also the head's probabilities).
    """

    def __init__(
        self, vocabulary_size: int, width: int = 128, layers: int = 2, heads: int = 4, *, named: bool = False
    ) -> None:
        super().__init__()
        self.heads = heads
        self.reader = SceneReader(width, 96)
        self.patch_in = nn.Linear(width, width)
        self.named = named
        self.slot_in = nn.Linear(96 + (NAMES if named else 0), width)
        self.place = nn.Parameter(torch.randn(1, 20, width) * 0.02)
        self.memory_norm = nn.LayerNorm(width)
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.order = nn.Parameter(torch.randn(1, MAX_WORDS, width) * 0.02)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, 2 * width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def look(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures (N, 3, 64, 64) in [0, 1] to encoder features, slots (N, 4, 96) and visual tokens (N, 20, width)."""
        features = self.reader.encoder(images)
        slots = self.reader.slots(features)
        patches = functional.avg_pool2d(features, 2).flatten(2).transpose(1, 2)
        known = torch.cat([slots, name_probabilities(self.reader.read(features, slots))], -1) if self.named else slots
        tokens = torch.cat([self.patch_in(patches), self.slot_in(known)], 1) + self.place
        return features, slots, self.memory_norm(tokens)

    def forward(self, memory: Tensor, words: Tensor) -> Tensor:
        """Logits (N·K, T, vocabulary) of each next word, for K conversations (N·K, T) about each of N pictures."""
        hidden = self.embedding(words) + self.order[:, : words.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, memory)
        return self._logits(hidden)

    def caches(self, memory: Tensor, length: int = MAX_WORDS) -> list[Cache]:
        """Caches for conversations of at most `length` words, one about each picture (N, M, width); no word yet."""
        shape = (len(memory), self.heads, length, memory.shape[-1] // self.heads)
        return [
            Cache(memory.new_zeros(shape), memory.new_zeros(shape), *layer.seen(memory)) for layer in self._layers()
        ]

    def extend(self, words: Tensor, positions: Tensor, caches: Sequence[Cache], asked: Tensor) -> Tensor:
        """Logits (N, vocabulary) of the word after the one at the place `asked` (N,) of each row.

        The caches learn the words (N, T), which stand at `positions` (N, T) of their conversations.
        """
        hidden = self.embedding(words) + self.order[0][positions]
        for layer, cache in zip(self._layers()[:-1], caches, strict=False):
            hidden = layer.extend(hidden, positions, cache)
        return self._logits(self._layers()[-1].extend(hidden, positions, caches[-1], asked))[:, 0]

    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))

    def _logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.norm(hidden) @ self.embedding.weight.t()
        return logits
