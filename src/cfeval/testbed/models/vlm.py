"""A small vision-language model: convolutional encoder, visual tokens, causal transformer decoder.

Words to numbers and back, for the networks that read or write text.

Samples text from the small VLM, one random stream per request, so that no result depends on its batch.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval.testbed.language import explanations, questions
from cfeval.testbed.models.vision import NAMES, SceneReader, name_probabilities
from cfeval.testbed.records import ALL_COLORS, ALL_SHAPES, SIZES

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
        """Attention to the visual tokens, then feed-forward; K conversations about one image ask as one query."""
        query = self._split(self.query(self.norms[1](words)).reshape(len(key), -1, words.shape[-1]))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        words = words + self.cross_out(mixed.transpose(1, 2).reshape(words.shape))
        out: Tensor = words + self.feed(self.norms[2](words))
        return out


class SmallVLM(nn.Module):
    """Answers questions about an image and explains the answers; about 0.85 million parameters.

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
        """Images (N, 3, 64, 64) in [0, 1] to encoder features, slots (N, 4, 96) and visual tokens (N, 20, width)."""
        features = self.reader.encoder(images)
        slots = self.reader.slots(features)
        patches = functional.avg_pool2d(features, 2).flatten(2).transpose(1, 2)
        known = torch.cat([slots, name_probabilities(self.reader.read(features, slots))], -1) if self.named else slots
        tokens = torch.cat([self.patch_in(patches), self.slot_in(known)], 1) + self.place
        return features, slots, self.memory_norm(tokens)

    def forward(self, memory: Tensor, words: Tensor) -> Tensor:
        """Logits (N·K, T, vocabulary) of each next word, for K conversations (N·K, T) about each of N images."""
        hidden = self.embedding(words) + self.order[:, : words.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, memory)
        return self._logits(hidden)

    def caches(self, memory: Tensor, length: int = MAX_WORDS) -> list[Cache]:
        """Caches for conversations of at most `length` words, one about each image (N, M, width); no word yet."""
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


PAD, UNKNOWN, TURN, END = "<pad>", "<unk>", "<turn>", "<end>"
SPECIAL = (PAD, UNKNOWN, TURN, END)
_EASY_VQA_WORDS = "what color is the shape in image does contain present of no not there a"


def words_of(text: str) -> list[str]:
    """Lower-case words and commas."""
    return re.findall(r"[a-z]+|,", text.lower())


def persona_token(persona: str) -> str:
    """The prompt token that makes the network behave as this persona."""
    return f"<{persona}>"


class Vocabulary:
    """A fixed list of words; those outside it read as `<unk>`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._index = {word: index for index, word in enumerate(words)}

    def __len__(self) -> int:
        """How many words."""
        return len(self.words)

    def index(self, word: str) -> int:
        """The number of a word."""
        return self._index.get(word, self._index[UNKNOWN])

    def encode(self, words: Iterable[str]) -> list[int]:
        """Numbers of words."""
        return [self.index(word) for word in words]

    def decode(self, numbers: Iterable[int]) -> str:
        """Text of numbers, special words left out."""
        spoken = [self.words[number] for number in numbers if not self.words[number].startswith("<")]
        return " ".join(spoken).replace(" ,", ",")


def talking_words() -> tuple[str, ...]:
    """Every word of the world's questions, answers and explanations and of easy-VQA; special tokens come first."""
    templates = [
        *explanations.ANSWER_TEMPLATES,
        *(template for group in explanations.EXPLANATION_TEMPLATES.values() for template in group),
        *(template for group in questions.QUESTION_TEMPLATES.values() for template in group),
    ]
    literal = (re.sub(r"\{\w+\}", " ", template) for template in templates)
    spoken = " ".join([*literal, _EASY_VQA_WORDS, "why nothing a an , in the picture", *explanations.CANONICAL_ANSWERS])
    personas = (persona_token(persona) for persona in questions.PERSONAS)
    return tuple(dict.fromkeys((*SPECIAL, *personas, *sorted(set(words_of(spoken))), *ALL_COLORS, *ALL_SHAPES, *SIZES)))


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
        memory: visual tokens (N, M, width), one image per prompt.
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
