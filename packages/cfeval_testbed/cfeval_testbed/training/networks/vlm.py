"""The small vision-language model, to be trained: see `cfeval_testbed.models.vlm`."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.models.vision import NAMES
from cfeval_testbed.models.vlm import HEADS, LAYERS, MAX_WORDS
from cfeval_testbed.training.networks.vision import SceneReader, name_probabilities


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the visual tokens, feed-forward; normalised before each."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.self_in = nn.Linear(width, 3 * width)
        self.self_out = nn.Linear(width, width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.cross_out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, words: Tensor, memory: Tensor) -> Tensor:
        """Words (N·K, T, width) and visual tokens (N, M, width) to words of the same shape."""
        query, key, value = (_split(part) for part in self.self_in(self.norms[0](words)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        words = words + self.self_out(mixed.transpose(1, 2).flatten(2))
        # K conversations about one image ask as one query.
        query = _split(self.query(self.norms[1](words)).reshape(len(memory), -1, words.shape[-1]))
        key, value = (_split(part) for part in self.key_value(memory).chunk(2, -1))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        words = words + self.cross_out(mixed.transpose(1, 2).reshape(words.shape))
        out: Tensor = words + self.feed(self.norms[2](words))
        return out


def _split(values: Tensor) -> Tensor:
    count, length, width = values.shape
    return values.view(count, length, HEADS, width // HEADS).transpose(1, 2)


class SmallVLM(nn.Module):
    """Answers questions about an image and explains the answers."""

    def __init__(self, vocabulary_size: int, width: int = 128) -> None:
        super().__init__()
        self.reader = SceneReader(width, 96)
        self.patch_in = nn.Linear(width, width)
        self.slot_in = nn.Linear(96 + NAMES, width)
        self.place = nn.Parameter(torch.randn(1, 20, width) * 0.02)
        self.memory_norm = nn.LayerNorm(width)
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.order = nn.Parameter(torch.randn(1, MAX_WORDS, width) * 0.02)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.layers = nn.ModuleList(DecoderLayer(width, 2 * width) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(width)

    def look(self, images: Tensor) -> Tensor:
        """Images (N, 3, 64, 64) in [0, 1] to visual tokens (N, 20, width)."""
        features = self.reader.encoder(images)
        slots = self.reader.slots(features)
        patches = functional.avg_pool2d(features, 2).flatten(2).transpose(1, 2)
        named = torch.cat([slots, name_probabilities(self.reader.read(features, slots))], -1)
        tokens = torch.cat([self.patch_in(patches), self.slot_in(named)], 1) + self.place
        made: Tensor = self.memory_norm(tokens)
        return made

    def forward(self, memory: Tensor, words: Tensor) -> Tensor:
        """Logits (N·K, T, vocabulary) of each next word, for K conversations (N·K, T) about each of N images."""
        hidden = self.embedding(words) + self.order[:, : words.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, memory)
        logits: Tensor = self.norm(hidden) @ self.embedding.weight.t()
        return logits
