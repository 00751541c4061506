"""Asks the small network that counts in synthetic puzzles: an image and a question in, a letter or a number out.

A test solver of known weakness; it stands for no real model. It was trained on original questions only and never saw
a counterfactual one. It passes over words that it does not know, and so it mostly says how many there are where the
question is how many there would be: its accuracy drops from one to the other, as that of the models in the paper does.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import PIL.Image

from cfeval.core.streams import batched
from cfeval.cvqa.records import LETTERS, MARK
from cfeval_testbed.models.layers import Array, Weights, to_floats
from cfeval_testbed.models.puzzles import MOST, SIDE, PuzzleNetwork, Seen, counting_words, encode
from cfeval_testbed.models.vlm import Vocabulary

Pixels = npt.NDArray[np.uint8]
_BATCH = 16
_VALUE = r"\s*([^\s.,]+)"
_OPTIONS = [
    re.compile(r"\s+".join(name + _VALUE for name in names))
    for names in ([rf"\b{letter}:" for letter in LETTERS], [rf"\({letter.lower()}\)" for letter in LETTERS])
]
"""As the published questions write options, and as one of the paper's templates does."""
_NUMBER = re.compile(r"[0-9]{1,9}\Z")


class Asked(NamedTuple):
    """What is read of a question: what stands before its options, and their values, none where it has none."""

    stem: str
    values: tuple[str, ...] = ()


def read_question(text: str) -> Asked:
    """A question without its options and without what a template adds after them."""
    for options in _OPTIONS:
        if found := options.search(text):
            return Asked(text[: found.start()].rstrip().removesuffix(MARK.strip()), found.groups())
    return Asked(text)


def shrunk(pixels: Pixels) -> Pixels:
    """An image (H, W, 3) as the network sees it, (112, 112, 3): each pixel the mean of those that it covers."""
    image = PIL.Image.fromarray(pixels)
    return np.asarray(image.resize((SIDE, SIDE), PIL.Image.Resampling.BOX))


def choose(values: Sequence[str], chances: Array) -> str:
    """The letter of the likeliest value, whatever its place; empty where no value is a number.

    Args:
        values: of A to D.
        chances: log-probabilities of 0 … 40. A larger number is less likely than these, and the less the larger.
    """
    numbers = {letter: int(value) for letter, value in zip(LETTERS, values, strict=True) if _NUMBER.match(value)}

    def rank(letter: str) -> tuple[float, int]:
        number = numbers[letter]
        return (float(chances[number]), 0) if number < len(chances) else (-np.inf, -number)

    return max(numbers, key=rank, default="")


class PuzzleCounter:
    """Answers; a reply depends on its own image and question, not on its batch."""

    def __init__(self, network: PuzzleNetwork | None = None) -> None:
        """`network` is by default the shipped one."""
        self._vocabulary = Vocabulary(counting_words())
        self._seen: dict[bytes, Seen[Array]] = {}
        self._network = network or PuzzleNetwork(Weights.shipped("puzzles"))

    def answer(self, images: Sequence[Pixels], questions: Sequence[str]) -> list[str]:
        """The letter of an option, or the likeliest number where a question has no options that are numbers.

        Args:
            images: uint8 (H, W, 3) of any size.
            questions: free text; unknown words are read as such, and what is too long is cut.
        """
        asked = [read_question(question) for question in questions]
        chances = self._chances(images, asked)
        chosen = [choose(one.values, row) if one.values else "" for one, row in zip(asked, chances, strict=True)]
        return [letter or str(row.argmax()) for letter, row in zip(chosen, chances, strict=True)]

    def numbers(self, images: Sequence[Pixels], questions: Sequence[str]) -> list[int]:
        """The likeliest number, whatever the options; arguments as of `answer`."""
        chances = self._chances(images, [read_question(question) for question in questions])
        return [int(number) for number in chances.argmax(1)]

    def _chances(self, images: Sequence[Pixels], asked: Sequence[Asked]) -> Array:
        """Log-probabilities of 0 … 40, (N, 41)."""
        words = encode(self._vocabulary, [one.stem for one in asked])
        small = {number: shrunk(pixels) for number, pixels in {id(pixels): pixels for pixels in images}.items()}
        keys = [small[id(pixels)].tobytes() for pixels in images]
        rows = [np.zeros((0, MOST + 1))]
        self._look({pixels.tobytes(): pixels for pixels in small.values()})
        for start in range(0, len(images), _BATCH):
            looked = zip(*(self._seen[key] for key in keys[start : start + _BATCH]), strict=True)
            seen = Seen(*(np.stack(parts) for parts in looked))
            read = self._network.read(words[start : start + _BATCH])
            rows.append(self._network.count(seen, read).numbers)
        return np.concatenate(rows)

    def _look(self, images: Mapping[bytes, Pixels]) -> None:
        """Looks at each image once, whatever is asked about it in this call and the next; only these are kept."""
        self._seen = {key: seen for key, seen in self._seen.items() if key in images}
        new = [key for key in images if key not in self._seen]
        for some in batched(new, _BATCH):
            looked = self._network.look(to_floats([images[key] for key in some]))
            self._seen |= {key: Seen(*parts) for key, *parts in zip(some, *looked, strict=True)}
