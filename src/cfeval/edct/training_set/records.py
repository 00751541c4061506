"""Where an example of a training set comes from (`cfeval edct training-set`)."""

from typing import Literal

from pydantic import Field

from cfeval.core.records import Binary, ItemId, Record, Sha256
from cfeval.edct.records import Condition


class Origin(Condition):
    """A test that the words of an example were put to: an edit, and how a judge scored what was said around it."""

    edit: int
    concept: str
    positive: str
    negative: str
    edited: Sha256
    """The edited image."""
    seed: int
    """Of the edit."""
    verified: Binary | None
    """Whether the edit was made as told; None where no verifier could tell."""
    numbers: dict[str, float]
    """What the verifier measured."""
    changed_share: float | None
    scores: dict[str, float]
    """The protocol's, by name; `ccs` where it has one."""
    correct: float | None
    """How right the answer about the original is, where that is known."""
    calls: tuple[Sha256, ...]
    """The calls behind instruction, edit, check and verdict: keys of the response cache."""


class Provenance(Record):
    """Where the words of an example come from."""

    item: ItemId
    edit: int
    """0: they are about the original image."""
    image: Sha256
    original: Sha256
    words: Literal["model", "people"]
    """Whose they are."""
    model: str
    """The model, as it names itself."""
    calls: tuple[Sha256, ...]
    """The calls behind the words."""
    tests: tuple[Origin, ...]


class PairProvenance(Record):
    """Where the two replies of a pair come from."""

    chosen: Provenance
    rejected: Provenance


class Written(Record):
    """Words that people wrote for an image (a line of `--answers`)."""

    id: ItemId
    image: str
    """The image's SHA-256, or its first digits, at least eight; `.png` may follow."""
    answer: str = Field(pattern=r"\S")
    explanation: str = ""
    """Empty: the conversation ends with the answer."""
