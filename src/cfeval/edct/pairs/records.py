"""The records of `pairs-2026`: what was said about an image of a pair, and what was found about a pair."""

from typing import Literal

from pydantic import Field

from cfeval.core.records import Binary, ItemId, Sha256, StageResult
from cfeval.datasets.pair import ChangeKind, WhichImage
from cfeval.edct.records import Baseline

NoDistance = Literal["no_logprobs", "many_words", "part_of_word", "not_probabilities"]
"""Why two answers have no distance: a reply has no log-probabilities; an answer is more than its first word, or
begins with a mark; its first token is not that word, or has no log-probability; what is listed sums to more than 1."""


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
    """Distance of both answers' distributions (`cfeval.edct.pairs.distances`); None without log-probabilities."""
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


def _either(one: Binary | None, other: Binary | None) -> Binary | None:
    if one is None or other is None:
        return None
    return 1 if one or other else 0
