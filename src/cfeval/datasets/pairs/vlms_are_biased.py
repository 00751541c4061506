"""VLMs are Biased (VLMBias): well-known things with one part too many or too few, such as a shoe with four stripes.

- Data: splits `original` (462 rows) and `main` (2,784), among others: animals, logos, flags, chess pieces, game boards,
  optical illusions and patterned grids, each in several sizes.
- Paper: Vo, Nguyen, Taesiri, Dang, Nguyen and Kim, Vision Language Models are Biased (2025, arXiv:2505.23941).
- License: MIT.
- Where: dataset anvo25/vlms-are-biased at Hugging Face: the Parquet files of `original` and `main`, in one folder.
- Fields: `image`, `ID`, `image_path`, `topic`, `sub_topic`, `prompt`, `ground_truth`, `expected_bias`, `with_title`,
  `type_of_question` (Q1 to Q3), `pixel` (384, 768, 1152), `metadata` (JSON as text). The authors' generators write no
  `sub_topic`; it is not needed.
- Known faults: no column links a changed image to its original; only the names of images do, and most topics have none.
  A prompt asks for an answer in curly brackets.

By rule: a row of `main` is paired with the row of `original` of the same topic and prompt whose image has the name with
which that of the changed image begins, word by word (elephant.png, elephant_4_5_384.png), in the nearest size; rows
without one are left out, and those with the right answer of their original, since nothing says what was changed. Files
that name no split are told apart by whether the right answer is the biased one. The changed thing is the sub-topic, or
the topic, with the number of its parts.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.captions import differ
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, text

Key = tuple[str, ...]
_SPLIT = re.compile(r"(?<![a-z])(original|main)(?![a-z])")
_WORDS = re.compile(r"[^\W_]+")
_NO_NAMES = re.compile(r"0|(?:px)?(?:384|768|1152)|notitle|original")
"""Words of an image's name that do not tell what it shows."""


class Plugin(TablePlugin):
    """Where the folder with the Parquet files of both splits is."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _openers)


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    usual: dict[Key, list[Row]] = {}
    changed: list[tuple[Place, Row]] = []
    for place, row in rows:
        if _is_original(place, row):
            usual.setdefault(_key(place, row), []).append(row)
        else:
            changed.append((place, row))
    found: dict[str, Opener | None] = {}
    for place, row in changed:
        if originals := _alike(row, usual.get(_key(place, row), [])):
            first = min(originals, key=lambda one: abs(_size(one) - _size(row)))
            told = differ(*(text(place, one, "ground_truth") for one in (first, row)))
            add(found, place, text(place, row, "ID"), partial(_pair, place, first, row) if told else None)
    if changed and not found:
        raise InputError(
            f"{changed[0][0].text}: no row has an original; put the files of `original` and `main` together"
        )
    return found


def _is_original(place: Place, row: Row) -> bool:
    """Which split a row is of: by the name of its file, else by whether its right answer is the biased one."""
    if split := _SPLIT.search(place.source):
        return split[1] == "original"
    return text(place, row, "ground_truth") == text(place, row, "expected_bias")


def _key(place: Place, row: Row) -> Key:
    return tuple(text(place, row, column) for column in ("topic", "prompt"))


def _alike(row: Row, originals: list[Row]) -> list[Row]:
    """Those of the originals whose image's name begins that of a changed image, with as many words as any."""
    name = _name(row)
    starts = [(len(words), one) for one in originals if (words := _name(one)) and name[: len(words)] == words]
    longest = max((count for count, _ in starts), default=0)
    return [one for count, one in starts if count == longest]


def _name(row: Row) -> list[str]:
    """The words of an image's name that tell what it shows."""
    words = _WORDS.findall(Path(str(row.get("image_path") or "")).stem.lower())
    while words and _NO_NAMES.fullmatch(words[-1]):
        words.pop()
    return words


def _size(row: Row) -> int:
    return int(row.get("pixel") or 0)


def _pair(place: Place, first: Row, second: Row, item: str) -> RawPair:
    named = str(second.get("sub_topic") or "").strip() or text(place, second, "topic")
    right, other = text(place, first, "ground_truth"), text(place, second, "ground_truth")
    return RawPair(
        id=item,
        images=(image(place, first, "image"), image(place, second, "image")),
        question=text(place, second, "prompt"),
        before=f"{named}: {right}",
        after=f"{named}: {other}",
        references=(right, other),
        kind="count",
        biased=text(place, second, "expected_bias"),
        verified="the authors (VLMs are Biased)",
    )
