"""A small vision-language model: convolutional encoder, visual tokens, causal transformer decoder."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval.world.networks.vision import NAMES, SceneReader, name_probabilities

MAX_WORDS = 64
"""Longest conversation, words."""


@dataclass
class Cache:
    """Keys and values of the words so far, each (N, heads, MAX_WORDS, head width), of one layer."""

    keys: Tensor
    values: Tensor


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

    def forward(
        self, words: Tensor, memory: Tensor, positions: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        """Words (N·K, T, width) and visual tokens (N, M, width) to words of the same shape.

        With a cache, `positions` (N, T) says where each word stands in its conversation.
        """
        words = words + self.self_out(self._attend_to_words(self.norms[0](words), positions, cache))
        words = words + self.cross_out(self._look(self.norms[1](words), memory))
        out: Tensor = words + self.feed(self.norms[2](words))
        return out

    def _split(self, values: Tensor) -> Tensor:
        count, length, width = values.shape
        return values.view(count, length, self.heads, width // self.heads).transpose(1, 2)

    def _attend_to_words(self, words: Tensor, positions: Tensor | None, cache: Cache | None) -> Tensor:
        query, key, value = (self._split(part) for part in self.self_in(words).chunk(3, -1))
        if cache is None or positions is None:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            rows = torch.arange(len(words))[:, None]
            cache.keys[rows, :, positions] = key.transpose(1, 2)
            cache.values[rows, :, positions] = value.transpose(1, 2)
            seen = (torch.arange(cache.keys.shape[2]) <= positions[..., None])[:, None]
            mixed = functional.scaled_dot_product_attention(query, cache.keys, cache.values, attn_mask=seen)
        return mixed.transpose(1, 2).flatten(2)

    def _look(self, words: Tensor, memory: Tensor) -> Tensor:
        """The K conversations about one picture attend to its tokens as one long query."""
        key, value = (self._split(part) for part in self.key_value(memory).chunk(2, -1))
        query = self._split(self.query(words).reshape(len(memory), -1, words.shape[-1]))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return mixed.transpose(1, 2).reshape(words.shape)


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

    def caches(self, count: int, length: int = MAX_WORDS) -> list[Cache]:
        """Empty caches for `count` conversations of at most `length` words."""
        like = self.embedding.weight
        shape = (count, self.heads, length, like.shape[1] // self.heads)
        return [Cache(like.new_zeros(shape), like.new_zeros(shape)) for _ in self.layers]

    def extend(self, memory: Tensor, words: Tensor, positions: Tensor, caches: list[Cache]) -> Tensor:
        """Logits (N, T, vocabulary) after words (N, T) at positions (N, T), which the caches learn."""
        hidden = self.embedding(words) + self.order[0][positions]
        for layer, cache in zip(self.layers, caches, strict=True):
            hidden = layer(hidden, memory, positions, cache)
        return self._logits(hidden)

    def _logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.norm(hidden) @ self.embedding.weight.t()
        return logits
