"""VLMs are Biased (VLMBias): well-known things with one part too many or too few, such as a shoe with four stripes.

- Data: splits `original` (462 rows) and `main` (2,784), among others: animals, logos, flags, chess pieces, game boards,
  optical illusions and patterned grids, each in several sizes.
- Paper: Vo, Nguyen, Taesiri, Dang, Nguyen and Kim, Vision Language Models are Biased (2025, arXiv:2505.23941).
- License: MIT.
- Where: data set anvo25/vlms-are-biased at Hugging Face: the Parquet files of `original` and `main`, in one folder.
- Fields: `image`, `ID`, `image_path`, `topic`, `sub_topic`, `prompt`, `ground_truth`, `expected_bias`, `with_title`,
  `type_of_question`, `pixel`, `metadata` (JSON as text).
- Known faults: the table does not link a changed image to its original, and most topics have none; a prompt
  asks for an answer in curly brackets.

By rule: a row of `main` is paired with the row of `original` of the same topic, sub-topic and prompt, in the nearest
size; rows without one are left out. The changed thing is the sub-topic with the number of its parts.
"""

from collections.abc import Iterator
from functools import partial

from cfeval.core.errors import InputError
from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, safe, text

Key = tuple[str, ...]


class Plugin(TablePlugin):
    """Where the folder with the Parquet files of both splits is."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _openers)


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener]:
    """The pairs; which split a row is of follows from whether its right answer is the biased one."""
    usual: dict[Key, list[Row]] = {}
    changed: list[tuple[Place, Row]] = []
    for place, row in rows:
        if text(place, row, "ground_truth") == text(place, row, "expected_bias"):
            usual.setdefault(_key(place, row), []).append(row)
        else:
            changed.append((place, row))
    found: dict[str, Opener] = {}
    for place, row in changed:
        if originals := usual.get(_key(place, row)):
            first = min(originals, key=lambda one: abs(_size(one) - _size(row)))
            add(found, place, safe(text(place, row, "ID")), partial(_pair, place, first, row))
    if changed and not found:
        raise InputError(
            f"{changed[0][0].text}: no row has an original; put the files of `original` and `main` together"
        )
    return found


def _key(place: Place, row: Row) -> Key:
    return tuple(text(place, row, column) for column in ("topic", "sub_topic", "prompt"))


def _size(row: Row) -> int:
    return int(row.get("pixel") or 0)


def _pair(place: Place, first: Row, second: Row, item: str) -> RawPair:
    named = text(place, second, "sub_topic")
    right, other = text(place, first, "ground_truth"), text(place, second, "ground_truth")
    return RawPair(
        id=item,
        pictures=(image(place, first, "image"), image(place, second, "image")),
        question=text(place, second, "prompt"),
        before=f"{named}: {right}",
        after=f"{named}: {other}",
        references=(right, other),
        kind="count",
        biased=text(place, second, "expected_bias"),
        verified="the authors (VLMs are Biased)",
    )
