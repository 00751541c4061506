"""The total variation distance between two answers of which log-probabilities are known (Siegel et al. 2024, CCT).

An answer's distribution is that of the word with which it begins: tokens that differ in letter case, blanks or a mark
behind them are one, and all that is not listed is one more outcome. The distance of the whole distributions differs
from that found by at most the larger share that is not listed.

There is a distance only where the first word is the answer (one word or number, an option's letter, yes or no) and is
one token. Of "The cup is red" the first word tells nothing, and `th` of "three" and of "thirteen" are the same token:
what answers those probabilities belong to cannot be known.
"""

import re
from collections.abc import Mapping
from math import exp
from typing import Literal, NamedTuple

from cfeval.edct.pairs.records import NoDistance, PairBaseline

REST = ""
"""All tokens that are not listed."""
_BLANKS = "▁Ġ \t\n\r"
"""How tokenizers write what stands before a word."""
_MARKS = ".,;:!?)"
"""What one token may hold behind a word."""
_ROUNDING = 0.01
"""By so much probabilities may sum to more than 1."""
_ANSWER = re.compile(
    r"\s*(?:(?P<word>[^\W_]+(?:[.,'’-][^\W_]+)*)\W*$"
    r"|(?P<option>[a-z])[.):]\s"
    r"|(?P<polar>yes|no)(?:[.,;:!]|\s*\n|\s+[-–—]\s))",
    re.IGNORECASE,
)


class Distance(NamedTuple):
    """How far apart two answers are, or why that is not known; figures are rounded as they stand in records."""

    total_variation: float | None = None
    listed: float | None = None
    """The least probability that the listed tokens of either answer have together."""
    no_distance: NoDistance | Literal[""] = ""


def distance(before: PairBaseline, after: PairBaseline) -> Distance:
    """The distance of the answers to both images of a pair, to 4 decimals."""
    first, second = _distribution_of(before), _distribution_of(after)
    if isinstance(first, str):
        return Distance(no_distance=first)
    if isinstance(second, str):
        return Distance(no_distance=second)
    return Distance(round(total_variation(first, second), 4), round(1 - max(first[REST], second[REST]), 4))


def _distribution_of(said: PairBaseline) -> dict[str, float] | NoDistance:
    if not said.logprobs:
        return "no_logprobs"
    word = decisive_word(said.answer)
    if not word:
        return "many_words"
    found = distribution(said.logprobs)
    if found is None:
        return "not_probabilities"
    return found if _word(said.first_token) == word and word in found else "part_of_word"


def decisive_word(answer: str) -> str:
    """The word with which an answer begins if it is the answer, in lower case; else nothing.

    It is where nothing but marks follows, and where it is yes, no or an option's letter with a mark behind it.
    """
    found = _ANSWER.match(answer)
    return (found["word"] or found["option"] or found["polar"]).casefold() if found else ""


def distribution(logprobs: Mapping[str, float]) -> dict[str, float] | None:
    """Probabilities by word, `REST` among them; they sum to 1. None where what is listed sums to more.

    Args:
        logprobs: natural log-probabilities of the likeliest tokens.
    """
    found: dict[str, float] = {}
    for token, logprob in logprobs.items():
        if word := _word(token):
            found[word] = found.get(word, 0.0) + exp(min(logprob, 1.0))
    listed = sum(found.values())
    if not listed <= 1 + _ROUNDING:  # no number included
        return None
    if listed > 1:
        found = {word: share / listed for word, share in found.items()}
    return found | {REST: max(0.0, 1 - listed)}


def _word(token: str) -> str:
    return token.strip(_BLANKS).rstrip(_MARKS).casefold()


def total_variation(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """½ Σ |p − q| of two distributions, in [0, 1]; an outcome that one lacks has probability 0."""
    words = before.keys() | after.keys()
    return min(1.0, sum(abs(before.get(word, 0.0) - after.get(word, 0.0)) for word in sorted(words)) / 2)
