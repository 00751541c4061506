"""Local models: items per second, batched and one at a time

The transformers plugin with a Qwen2.5-VL of 26 million random weights (as many layers, heads and widths as
bench/sizes.py says) on one thread: sixteen items, an image and a question each of its own length, 16 tokens of
reply; then two turns, as the main study asks: the answer, and with image and answer the reason. Seconds are CPU
seconds, the least of two runs in turn. A reply may not depend on its batch: the last column counts those that do.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from tests.answers import answers

from bench import checkpoints
from bench.sizes import QWEN_SMALL, ChatSize
from bench.table import Table
from bench.timing import in_turn
from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest

BATCHES, ITEMS, TOKENS, REPEATS = (1, 2, 4, 8, 16), 16, 16, 2
WORDS = ("color", "shape", "circle", "background", "picture", "left", "right", "large", "small", "many")

Replies = list[tuple[str, ...]]


def tables() -> list[Table]:
    """The one table."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoints.chat(QWEN_SMALL, Path(folder))
        return [measured(path, QWEN_SMALL, BATCHES, ITEMS, TOKENS)]


def measured(path: Path, size: ChatSize, batches: Sequence[int], items: int, tokens: int) -> Table:
    """The table of a checkpoint: a row for each number of turns and batch."""
    images = [_image(number, size.pixels) for number in range(items)]
    options = {"plugin": "transformers", "model": str(path), "device": "cpu", "dtype": "float32"}
    models = [registry.build("chat", {**options, "batch": batch, "max_tokens": tokens}) for batch in batches]
    rows = []
    for turns, name in ((1, "one turn"), (2, "two turns")):
        said = [_hold(model, images, turns) for model in models]
        works = [lambda model=model, turns=turns: _hold(model, images, turns) for model in models]
        speeds = [items / seconds for seconds in in_turn(works, REPEATS)]
        for batch, speed, replies in zip(batches, speeds, said, strict=True):
            other = sum(one != alone for one, alone in zip(replies, said[0], strict=True))
            cells = [name, str(batch), f"{speed:.3g}", f"{speed / speeds[0]:.2f}", f"{other} of {items}"]
            rows.append(cells)
    columns = ("turns", "batch", "items/s", "times one at a time", "replies that differ from batch 1")
    return Table("The transformers plugin on a processor", columns, rows, [_versions()])


def _hold(model: ChatModel, images: Sequence[Image], turns: int) -> Replies:
    """The replies to every item."""
    return answers(lambda one: _converse(model, *one, turns), list(enumerate(images)))


async def _converse(model: ChatModel, number: int, image: Image, turns: int) -> tuple[str, ...]:
    """A question about the image; then, in the same conversation, why."""
    about = " ".join(WORDS[(number + n) % len(WORDS)] for n in range(2 + number % 5))
    conversation = (ChatMessage("user", f"Which {about} do you see?", image),)
    replies = []
    for turn in range(turns):
        reply = await model.generate(ChatRequest(str(number), conversation, seed=number))
        replies.append(reply.text)
        conversation += (ChatMessage("assistant", reply.text), ChatMessage("user", f"Why? Tell me once more: {turn}."))
    return tuple(replies)


def _image(number: int, side: int) -> Image:
    """Patches of random colors."""
    coarse = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    scale = -(-side // 4)
    return Image.from_pixels(coarse.repeat(scale, 0).repeat(scale, 1)[:side, :side])


def _versions() -> str:
    return f"torch {version('torch')}, transformers {version('transformers')}; float32."
