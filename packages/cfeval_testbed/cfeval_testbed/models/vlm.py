"""A small vision-language model: convolutional encoder, visual tokens, causal transformer decoder.

Words to numbers and back, for the networks that read or write text.

Samples text from the small VLM, one random stream per request, so that no result depends on its batch.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cfeval_testbed.language import explanations, questions
from cfeval_testbed.models.layers import (
    Array,
    Integers,
    LayerNorm,
    Linear,
    Weights,
    attention,
    gelu,
    join_heads,
    split_heads,
)
from cfeval_testbed.models.vision import SceneReader, name_probabilities
from cfeval_testbed.records import ALL_COLORS, ALL_SHAPES, SIZES

MAX_WORDS = 64
"""Longest conversation, words."""
LAYERS, HEADS = 2, 4


@dataclass(frozen=True)
class Cache:
    """What one layer has computed already of N conversations, (N, heads, …, head width).

    Keys and values of the words so far, with room for more, and of the visual tokens, which never change.
    """

    keys: Array
    values: Array
    seen_keys: Array
    seen_values: Array

    def rows(self, chosen: Integers) -> "Cache":
        """Only these conversations."""
        return Cache(self.keys[chosen], self.values[chosen], self.seen_keys[chosen], self.seen_values[chosen])


class DecoderLayer:
    """Causal self-attention, attention to the visual tokens, feed-forward; normalised before each."""

    def __init__(self, weights: Weights) -> None:
        self._norms = [LayerNorm(weights.part(f"norms.{number}")) for number in range(3)]
        self._self_in, self._self_out = Linear(weights.part("self_in")), Linear(weights.part("self_out"))
        self._query, self._key_value = Linear(weights.part("query")), Linear(weights.part("key_value"))
        self._cross_out = Linear(weights.part("cross_out"))
        self._raise, self._lower = Linear(weights.part("feed.0")), Linear(weights.part("feed.2"))

    def cache(self, memory: Array, length: int) -> Cache:
        """Room for conversations of at most `length` words about visual tokens (N, M, width)."""
        key, value = np.split(self._key_value(memory), 2, -1)
        room = (len(memory), HEADS, length, memory.shape[-1] // HEADS)
        return Cache(np.zeros(room), np.zeros(room), split_heads(key, HEADS), split_heads(value, HEADS))

    def extend(self, words: Array, positions: Integers, cache: Cache, asked: Integers | None = None) -> Array:
        """Further words (N, T, width) at positions (N, T), which the cache learns, to words of the same shape.

        With `asked` (N,), a place in 0 … T − 1 of each conversation, to the words at these places alone, (N, 1, width).
        """
        rows = np.arange(len(words))
        query, key, value = np.split(self._self_in(self._norms[0](words)), 3, -1)
        heads = (*words.shape[:2], HEADS, -1)
        cache.keys[rows[:, None], :, positions] = key.reshape(heads)
        cache.values[rows[:, None], :, positions] = value.reshape(heads)
        if asked is not None:
            words, query = words[rows, asked][:, None], query[rows, asked][:, None]
            positions = positions[rows, asked][:, None]
        length = int(positions.max()) + 1
        before = (np.arange(length) <= positions[..., None])[:, None]
        mixed = attention(split_heads(query, HEADS), cache.keys[:, :, :length], cache.values[:, :, :length], before)
        words = words + self._self_out(join_heads(mixed))
        query = split_heads(self._query(self._norms[1](words)), HEADS)
        words = words + self._cross_out(join_heads(attention(query, cache.seen_keys, cache.seen_values)))
        return words + self._lower(gelu(self._raise(self._norms[2](words))))


class SmallVLM:
    """Answers questions about an image and explains the answers; about 0.85 million parameters.

    The visual tokens are 16 patches (the encoder's 8×8 grid, averaged in pairs) and 4 quadrants (the features from
    which the reader head names the objects, and the head's probabilities).
    """

    def __init__(self, weights: Weights) -> None:
        self._reader = SceneReader(weights.part("reader"))
        self._patch_in, self._slot_in = Linear(weights.part("patch_in")), Linear(weights.part("slot_in"))
        self._place, self._order = weights["place"], weights["order"]
        self._memory_norm, self._norm = LayerNorm(weights.part("memory_norm")), LayerNorm(weights.part("norm"))
        self._embedding = weights["embedding.weight"]
        self._layers = [DecoderLayer(weights.part(f"layers.{number}")) for number in range(LAYERS)]

    def look(self, images: Array) -> Array:
        """Images (N, 64, 64, 3) in [0, 1] to visual tokens (N, 20, width)."""
        features = self._reader.encoder.coarse(self._reader.encoder.fine(images))
        slots = self._reader.slots(features)
        count, height, width, channels = features.shape
        pairs = features.reshape(count, height // 2, 2, width // 2, 2, channels).mean((2, 4))
        named = np.concatenate([slots, name_probabilities(self._reader.read(features, slots))], -1)
        tokens = [self._patch_in(pairs.reshape(count, -1, channels)), self._slot_in(named)]
        return self._memory_norm(np.concatenate(tokens, 1) + self._place)

    def caches(self, memory: Array, length: int = MAX_WORDS) -> list[Cache]:
        """Caches for conversations of at most `length` words, one about each image (N, M, width); no word yet."""
        return [layer.cache(memory, length) for layer in self._layers]

    def extend(self, words: Integers, positions: Integers, caches: Sequence[Cache], asked: Integers) -> Array:
        """Logits (N, vocabulary) of the word after the one at the place `asked` (N,) of each row.

        The caches learn the words (N, T), which stand at `positions` (N, T) of their conversations.
        """
        hidden = self._embedding[words] + self._order[0][positions]
        for layer, cache in zip(self._layers[:-1], caches[:-1], strict=True):
            hidden = layer.extend(hidden, positions, cache)
        hidden = self._layers[-1].extend(hidden, positions, caches[-1], asked)
        return self._norm(hidden[:, 0]) @ self._embedding.T


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


def complete(
    model: SmallVLM,
    memory: Array,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    temperature: float,
    end: int,
    longest: int,
) -> list[list[int]]:
    """Continues each prompt until `end` or `longest` words.

    Args:
        model: the network.
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
        going = np.flatnonzero(chosen != end)
        if not len(going):
            break
        said = said.rows(going).extended(model, chosen[going])
    return written


@dataclass(frozen=True)
class _Conversations:
    """Those that go on: which prompt each is of, its stream, its words so far, logits (N, vocabulary) of the next."""

    places: list[int]
    streams: list[random.Random]
    lengths: Integers
    logits: Array
    caches: list[Cache]

    @classmethod
    def begun(
        cls, model: SmallVLM, memory: Array, prompts: Sequence[Sequence[int]], seeds: Sequence[int], longest: int
    ) -> "_Conversations":
        """All prompts read; what pads the shorter ones is overwritten before it is looked at."""
        lengths = np.array([len(prompt) for prompt in prompts])
        width = int(lengths.max())
        words = np.array([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts])
        positions = np.broadcast_to(np.arange(width), words.shape)
        caches = model.caches(memory, min(MAX_WORDS, width + longest))
        logits = model.extend(words, positions, caches, lengths - 1)
        return cls(list(range(len(prompts))), [random.Random(seed) for seed in seeds], lengths, logits, caches)

    def rows(self, going: Integers) -> "_Conversations":
        """Only these conversations."""
        if len(going) == len(self.places):
            return self
        places, streams = ([kept[row] for row in going.tolist()] for kept in (self.places, self.streams))
        caches = [cache.rows(going) for cache in self.caches]
        return _Conversations(places, streams, self.lengths[going], self.logits[going], caches)

    def extended(self, model: SmallVLM, chosen: Integers) -> "_Conversations":
        """Each with one more word (N,)."""
        logits = model.extend(chosen[:, None], self.lengths[:, None], self.caches, np.zeros_like(chosen))
        return replace(self, lengths=self.lengths + 1, logits=logits)


def choose(logits: Array, drawn: Sequence[float], temperature: float) -> Integers:
    """A word for each row of logits (N, vocabulary), by inversion of the cumulative distribution, (N,).

    `drawn` are numbers in [0, 1), one a row. At temperature 0 it is the likeliest word, the first of equals.
    """
    likeliest: Integers = logits.argmax(1)
    if temperature <= 0:
        return likeliest
    sums = np.exp((logits - logits.max(1, keepdims=True)) / temperature).cumsum(1)
    beyond = sums > np.array(drawn)[:, None] * sums[:, -1:]
    chosen: Integers = np.where(beyond[:, -1], beyond.argmax(1), likeliest)
    return chosen
