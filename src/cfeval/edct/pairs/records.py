"""The records of `pairs-2026` and where they lie: does the explanation name what moved the answer, the change given?

The counterfactual test of explanations (Atanasova et al. 2023; correlational form: Siegel et al. 2024, 2025). The image
pairs are given, so there is neither an instruction writer nor an editor; the change was chosen without a look at the
explanation. That is another estimand than that of CCS: no table has both.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from cfeval.core.errors import InputError
from cfeval.core.record import SHARD
from cfeval.core.records import Binary, ItemId, Record, Sha256, StageResult, Status
from cfeval.core.shards import shard_files
from cfeval.datasets.pair import ChangeKind, WhichImage
from cfeval.edct.records import Baseline


class PairCondition(Record):
    """One way through the protocol; its parts are names from params.yaml."""

    pair_set: str
    """The set of pairs."""
    vlm: str
    """The target."""
    pair_judge: str
    """Who says whether an explanation names the changed thing."""


# Why two answers have no distance: a reply has no log-probabilities; an answer is more than its first word, or begins
# with a mark; its first token is not that word, or has no log-probability; what is listed sums to more than 1.
NoDistance = Literal["no_logprobs", "many_words", "part_of_word", "not_probabilities"]


class PairBaseline(Baseline):
    """The conversation about an image of a pair, with what is known of the answer's probabilities."""

    first_token: str = ""
    """The token with which the answer begins, where log-probabilities are known."""
    logprobs: dict[str, float] = Field(default_factory=dict)
    """The likeliest tokens in the place of the answer's first one, with natural log-probabilities; may be empty."""


class PairVerdict(StageResult):
    """What was found about a pair. Answer and explanation are judged apart: neither reading knows of the other."""

    id: ItemId
    cluster: str
    """Pairs about the same original image share it: the image's SHA-256, abridged."""
    kind: ChangeKind = ""
    natural: bool = False
    first: WhichImage = "before"
    """Which image came first: the original one (`before`), or the changed one."""
    moved: Binary | None = None
    """1: the answers to both images differ in substance."""
    named_before: Binary | None = None
    """1: the explanation of the answer to the original image names the changed thing, as it is in either image."""
    named_after: Binary | None = None
    """The same of the explanation of the answer to the changed image."""
    sham_before: Binary | None = None
    """Sham: whether the explanation of the answer to the original image names what was changed in another pair."""
    sham_after: Binary | None = None
    """The same of the explanation of the answer to the changed image."""
    noise: Binary | None = None
    """1: the answer moved although the image that came first was only encoded again."""
    correct_before: Binary | None = None
    """1: the right answer to the original image is in the answer."""
    correct_after: Binary | None = None
    """The same of the changed image."""
    biased: Binary | None = None
    """1: the answer to the changed image is the one that the set calls biased."""
    total_variation: float | None = Field(default=None, ge=0, le=1)
    """Distance of both answers' distributions (`cfeval.edct.pairs.stages`); None without log-probabilities."""
    listed: float | None = Field(default=None, ge=0, le=1)
    """The least probability that the listed tokens of either answer have together."""
    no_distance: NoDistance | Literal[""] = ""
    """Why there is no distance, where both answers were given."""
    words: int | None = Field(default=None, ge=0)
    """Words of both explanations together."""
    outside: float | None = None
    """See `cfeval.datasets.pair.Pair.outside`."""
    completion: str = ""
    """All replies of the judge as they came."""
    calls: tuple[Sha256, ...] = ()

    @property
    def named(self) -> Binary | None:
        """1: either explanation names the changed thing."""
        return _either(self.named_before, self.named_after)

    @property
    def sham(self) -> Binary | None:
        """1: either explanation names what was changed in another pair; nothing of it was changed here."""
        return _either(self.sham_before, self.sham_after)


def _either(first: Binary | None, other: Binary | None) -> Binary | None:
    if first is None or other is None:
        return None
    return 1 if first or other else 0


NAMES = tuple(PairCondition.model_fields)
_SHARD = re.compile(SHARD)


def item_files(results: Path, pair_set: str, shards: int) -> list[Path]:
    """The items of a set of pairs, one file a shard."""
    return shard_files(results / "pair_items" / f"{pair_set}.jsonl", shards)


def baseline_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """What a target said of them, one file a shard."""
    return shard_files(results / "pair_baselines" / condition.pair_set / f"{condition.vlm}.jsonl", shards)


def verdict_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The verdicts, one file a shard."""
    names = (condition.pair_set, condition.vlm, f"{condition.pair_judge}.jsonl")
    return shard_files(results.joinpath("pair_verdicts", *names), shards)


def pair_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The files whose records name calls: conversations and verdicts."""
    return [*baseline_files(results, condition, shards), *verdict_files(results, condition, shards)]


def pair_conditions_in(results: Path) -> dict[PairCondition, int]:
    """Every condition of given pairs that has verdicts, by name, and into how many shards its files are cut.

    Raises:
        InputError: a condition has both whole files and shards.
    """
    judges_of: dict[PairCondition, set[str]] = {}
    for file in sorted((results / "pair_verdicts").rglob("*.jsonl")):
        parts = file.relative_to(results / "pair_verdicts").with_suffix("").parts
        if len(parts) == len(NAMES) or (len(parts) == len(NAMES) + 1 and _SHARD.fullmatch(parts[-1])):
            condition = PairCondition(**dict(zip(NAMES, parts, strict=False)))
            judges_of.setdefault(condition, set()).add(parts[-1] if len(parts) > len(NAMES) else "")
    for condition, shards in judges_of.items():
        if "" in shards and len(shards) > 1:
            names = "/".join(condition.model_dump().values())
            raise InputError(f"{names}: both whole files and shards; remove those of the older run")
    return {
        pair_condition: 1 if shards == {""} else max(map(int, shards)) + 1
        for pair_condition, shards in judges_of.items()
    }


@dataclass(frozen=True)
class NamingRequest:
    """An explanation, and a thing as it is in both images of a pair (empty: it is not there).

    `before` is the image that comes first, which is the changed one of every second pair, drawn by a hash. The judge is
    not told which image the explanation is about, what the answer was, or whether it moved.
    """

    item: str
    explanation: str
    before: str
    after: str
    seed: int


@dataclass(frozen=True)
class AnswersRequest:
    """Answers and explanations of two conversations, in the order of the images: is the second answer another one?"""

    item: str
    answer: str
    explanation: str
    new_answer: str
    new_explanation: str
    seed: int


@dataclass(frozen=True)
class Ruling:
    """Yes (1) or no (0), or why there is neither. `completion` is the reply as it came; `calls` the stored calls."""

    value: Binary | None = None
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class PairJudge(Protocol):
    """A judge of given pairs. A ruling depends on its own request only."""

    async def names(self, request: NamingRequest) -> Ruling:
        """Whether the explanation names the changed thing, as it is before or after the change."""
        ...

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Whether the second answer is another one; asked only where the texts alone do not decide."""
        ...
