"""Trains the network that counts in synthetic puzzles: drawn images, original questions, no counterfactual one.

Besides the numbers it is shown where the things are, and which of them a question is about: that is quicker than to
find out from numbers alone.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from cfeval.core.sampling import derive_seed
from cfeval.cvqa.records import LETTERS, SIDES
from cfeval.cvqa.synthetic.drawing import draw_puzzle
from cfeval.cvqa.synthetic.puzzles import ORIGINAL, counterfactual_of, make_puzzle, original_of
from cfeval.cvqa.synthetic.records import PUZZLE_TYPES, REGIONS, Dot, FlowerScene, Icon, Puzzle, PuzzleType
from cfeval_testbed.models.puzzles import CELLS, PuzzleNetwork, counting_words, encode
from cfeval_testbed.models.vlm import Vocabulary
from cfeval_testbed.puzzles.counter import Pixels, PuzzleCounter, shrunk
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    follow,
    for_inference,
    half_precision,
    parameter_count,
    seed_everything,
    share,
    to_tensor,
)
from cfeval_testbed.training.networks import puzzles as networks

FLOWERS, DOTS = 7000, 2000
"""Images to train on; each is also shown mirrored, those of flowers turned as well."""
_OUTSIDE, _INSIDE = ORIGINAL["abs_counting_1"], ORIGINAL["abs_counting_2"]
_BATCH = {"flowers": 24, "dots": 8}
_QUESTIONS = 3
"""About every image in a batch."""
_STRANGE = 12
"""Unknown words put into a question at most."""
_STRANGE_WORD = "unknown"
_KEEP = 0.995
HELD_OUT = 200
"""Puzzles of every type to measure on."""


class Question(NamedTuple):
    """An original question without options, the groups of things that it is about, and its answer."""

    text: str
    groups: tuple[int, ...]
    number: int


class Shown(NamedTuple):
    """An image (112, 112, 3), maps of up to four groups of things (4, 28, 28), and what can be asked."""

    pixels: Pixels
    maps: Tensor
    questions: tuple[Question, ...]


class Batch(NamedTuple):
    """Images with maps of all things, and questions with the maps of what they are about, three for each."""

    images: Tensor
    things: Tensor
    texts: list[str]
    about: Tensor
    numbers: Tensor


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on drawn puzzles, and measures on puzzles that it has not seen, of every type and on both sides."""
    rng = seed_everything(seed)
    pools = {"flowers": draw_pool(seed, "abs_counting_1", FLOWERS), "dots": draw_pool(seed, "abs_counting_4", DOTS)}
    vocabulary = Vocabulary(counting_words())
    network = networks.PuzzleNetwork(len(vocabulary)).to(memory_format=torch.channels_last)
    average = {name: value.clone() for name, value in network.state_dict().items()}
    descent, history = Descent(network.parameters(), 2e-3, steps), History(100)
    for step in range(1, steps + 1):
        batch = draw_batch([one for name, count in _BATCH.items() for one in rng.sample(pools[name], count)], rng)
        loss = loss_of(network, batch, vocabulary, rng)
        descent.step(loss)
        follow(average, network.state_dict(), min(_KEEP, step / (step + 10)))
        history.add(step, loss.item())
    network.load_state_dict(average)
    weights = half_precision(network)
    figures: Figures = {"parameters": parameter_count(network), "steps": steps, "seed": seed, "history": history.rows}
    counter = PuzzleCounter(PuzzleNetwork(for_inference(weights)))
    return weights, figures | {"held_out": measure(counter, derive_seed(seed, "held out"))}


def draw_pool(seed: int, kind: PuzzleType, count: int) -> list[Shown]:
    """Images to train on; those of all types about flowers look alike, as do those about dots."""
    return [shown(make_puzzle(derive_seed(seed, "train"), number, kind)) for number in range(1, count + 1)]


def shown(puzzle: Puzzle) -> Shown:
    """A puzzle's image, with all original questions that can be asked about it."""
    pixels = shrunk(np.asarray(draw_puzzle(puzzle)))
    if isinstance(puzzle.scene, FlowerScene):
        groups: list[Sequence[Icon | Dot]] = [puzzle.scene.flowers[region] for region in REGIONS]
        return Shown(pixels, _maps(groups, puzzle.size), _about_flowers(puzzle.scene))
    circles = [circle.dots for circle in puzzle.scene.circles]
    groups = [[dot for dots in row for dot in dots] for row in (circles[:3], circles[3:])]
    return Shown(pixels, _maps(groups, puzzle.size), _about_dots([len(dots) for dots in circles]))


def _about_flowers(scene: FlowerScene) -> tuple[Question, ...]:
    asked = []
    for place, polygon in enumerate(scene.polygons, start=1):
        for template, word in ((_OUTSIDE, f"out{place}"), (_INSIDE, f"in{place}")):
            groups = tuple(number for number, region in enumerate(REGIONS) if word in region.split("_"))
            number = sum(len(scene.flowers[REGIONS[group]]) for group in groups)
            asked.append(Question(template.format(first=polygon.color), groups, number))
    return tuple(asked)


def _about_dots(counts: Sequence[int]) -> tuple[Question, ...]:
    return (
        Question(ORIGINAL["abs_counting_4"], (0, 1), sum(counts)),
        Question(ORIGINAL["abs_counting_5"], (0,), sum(counts[:3])),
        Question(ORIGINAL["abs_counting_6"], (0, 1), max(counts)),
    )


def _maps(groups: Sequence[Sequence[Icon | Dot]], size: int) -> Tensor:
    """How many things of a group are in every cell; one between cells is shared among the four nearest."""
    maps = torch.zeros(4, CELLS, CELLS)
    for one, things in zip(maps, groups, strict=False):
        for thing in things:
            across, down = (min(max(value * CELLS / size - 0.5, 0), CELLS - 1.001) for value in (thing.x, thing.y))
            x, y = int(across), int(down)
            right, below = across - x, down - y
            one[y : y + 2, x : x + 2] += torch.tensor([[1 - below], [below]]) * torch.tensor([1 - right, right])
    return maps


def draw_batch(some: Sequence[Shown], rng: random.Random) -> Batch:
    """Images, mirrored and turned at random, with three questions about each."""
    turned = [_turned(one, rng) for one in some]
    chosen = [rng.sample(one.questions, _QUESTIONS) for one in some]
    pairs = [(maps, question) for (_, maps), asked in zip(turned, chosen, strict=True) for question in asked]
    return Batch(
        to_tensor(np.stack([pixels for pixels, _ in turned])),
        torch.stack([maps.sum(0) for _, maps in turned]),
        [question.text for _, question in pairs],
        torch.stack([maps[list(question.groups)].sum(0) for maps, question in pairs]),
        torch.tensor([question.number for _, question in pairs]),
    )


def _turned(one: Shown, rng: random.Random) -> tuple[Pixels, Tensor]:
    """Mirrored left to right or not; flowers, unlike rows of circles, also upside down and along the diagonal."""
    pixels, maps = one.pixels, one.maps
    ways = rng.randrange(8) if len(one.questions) > _QUESTIONS else rng.randrange(2)
    if ways & 1:
        pixels, maps = pixels[:, ::-1], maps.flip(2)
    if ways & 2:
        pixels, maps = pixels[::-1], maps.flip(1)
    if ways & 4:
        pixels, maps = pixels.transpose(1, 0, 2), maps.transpose(1, 2)
    return pixels, maps


def loss_of(network: networks.PuzzleNetwork, batch: Batch, vocabulary: Vocabulary, rng: random.Random) -> Tensor:
    """Cross entropy of the numbers, and squared errors of the maps."""
    seen = network.look(batch.images.contiguous(memory_format=torch.channels_last))
    texts = [_among_strange_words(text, rng) for text in batch.texts]
    repeated = type(seen)(*(part.repeat_interleave(_QUESTIONS, 0) for part in seen))
    counted = network.count(repeated, network.read(torch.from_numpy(encode(vocabulary, texts))))
    loss = functional.nll_loss(counted.numbers, batch.numbers)
    loss = loss + (seen.things - batch.things).square().sum((1, 2)).mean()
    return loss + (counted.things - batch.about).square().sum((1, 2)).mean()


def _among_strange_words(text: str, rng: random.Random) -> str:
    """Half of the questions as they are, the others with words in between that the network does not know."""
    words = text.split()
    if rng.random() < 0.5:
        for _ in range(rng.randint(1, _STRANGE)):
            words.insert(rng.randint(0, len(words)), _STRANGE_WORD)
    return " ".join(words)


def measure(counter: PuzzleCounter, seed: int, count: int = HELD_OUT) -> Figures:
    """Shares of right letters by type and side, and how often a counterfactual question gets the original's answer.

    `stays` is taken over the counterfactual questions that have the original's answer among their options.
    """
    hits = {
        kind: _hits(counter, [make_puzzle(seed, number, kind) for number in range(1, count + 1)])
        for kind in PUZZLE_TYPES
    }
    overall = {side: share(hit for one in hits.values() for hit in one[side]) for side in SIDES}
    types = {kind: {name: share(some) for name, some in one.items()} for kind, one in hits.items()}
    return {"puzzles": count * len(PUZZLE_TYPES), "types": types} | overall


def _hits(counter: PuzzleCounter, puzzles: Sequence[Puzzle]) -> dict[str, list[bool]]:
    images = [np.asarray(draw_puzzle(puzzle)) for puzzle in puzzles]
    hits: dict[str, list[bool]] = {"stays": []}
    for side, ask in zip(SIDES, (original_of, counterfactual_of), strict=True):
        asked = [ask(puzzle) for puzzle in puzzles]
        said = counter.answer(images, [one.question for one in asked])
        hits[side] = [letter == one.answer for letter, one in zip(said, asked, strict=True)]
    for puzzle, letter in zip(puzzles, said, strict=True):
        if puzzle.original in puzzle.counterfactual_options:
            hits["stays"].append(LETTERS[puzzle.counterfactual_options.index(puzzle.original)] == letter)
    return hits
