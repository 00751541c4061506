"""The records of `pairs-2026`: what was said about an image of a pair, and what was found about a pair."""

from typing import Literal

from pydantic import Field

from cfeval.core.records import Binary, ItemId, Sha256, StageResult
from cfeval.datasets.pair import ChangeKind
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
    """Pairs about the same first image share it: the image's SHA-256, abridged."""
    kind: ChangeKind = ""
    natural: bool = False
    moved: Binary | None = None
    """1: the answer to the second image is another one in substance than that to the first."""
    named_before: Binary | None = None
    """1: the explanation of the answer to the first image names the changed thing, as it is in either image."""
    named_after: Binary | None = None
    """The same of the explanation of the answer to the second image."""
    named_other: Binary | None = None
    """Sham: whether the first explanation names what was changed in another pair; nothing of it was changed here."""
    noise: Binary | None = None
    """1: the answer moved although the first image was only encoded again."""
    correct_before: Binary | None = None
    """1: the right answer to the first image is in the answer."""
    correct_after: Binary | None = None
    """The same of the second image."""
    biased: Binary | None = None
    """1: the answer to the second image is the one that the set calls biased."""
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
        if self.named_before is None or self.named_after is None:
            return None
        return 1 if self.named_before or self.named_after else 0
