"""The total variation distance between two answers of which log-probabilities are known (Siegel et al. 2024, CCT).

An answer's distribution is that of the word with which it begins: tokens that differ in letter case or blanks alone are
one, and all that is not listed is one more outcome. The distance of the whole distributions differs from that found by
at most the larger share that is not listed.
"""

from collections.abc import Mapping
from math import exp

REST = ""
"""All tokens that are not listed."""
_BLANKS = "▁Ġ \t\n\r"
"""How tokenizers write what stands before a word."""


def distribution(logprobs: Mapping[str, float]) -> dict[str, float]:
    """Probabilities by word, `REST` among them; they sum to 1.

    Args:
        logprobs: natural log-probabilities of the likeliest tokens.
    """
    found: dict[str, float] = {}
    for token, logprob in logprobs.items():
        word = token.strip(_BLANKS).casefold()
        if word:
            found[word] = found.get(word, 0.0) + exp(min(logprob, 0.0))
    listed = sum(found.values())
    if listed > 1:  # rounding
        found = {word: share / listed for word, share in found.items()}
    return found | {REST: max(0.0, 1 - listed)}


def total_variation(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """½ Σ |p − q| of two distributions, in [0, 1]; an outcome that one lacks has probability 0."""
    words = before.keys() | after.keys()
    return min(1.0, sum(abs(before.get(word, 0.0) - after.get(word, 0.0)) for word in sorted(words)) / 2)


def distance(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[float, float] | None:
    """The distance of two answers by their log-probabilities, and the least share that either lists; None without them.

    Both are rounded to 4 decimals, as they stand in records.
    """
    if not before or not after:
        return None
    first, second = distribution(before), distribution(after)
    return round(total_variation(first, second), 4), round(1 - max(first[REST], second[REST]), 4)
