"""Chooses the next token of every row of a batch on its own: a row's tokens follow from its scores and its seed."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor


class RowSampler(LogitsProcessor):
    """Leaves each row a single token, so that taking the likeliest takes it.

    Each row has a generator of its own, seeded by its request, and takes one uniform number from it a token; the token
    is where the cumulative distribution passes that number. Nothing of a row depends on the other rows.
    """

    def __init__(self, seeds: Sequence[int], longest: int, temperature: float, top_p: float) -> None:
        """`longest` is the most tokens that will be drawn."""
        drawn = [
            torch.rand(longest, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) for seed in seeds
        ]
        self._uniform = iter(torch.stack(drawn, dim=1))
        self._temperature = temperature
        self._top_p = top_p

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocabulary) with all but the drawn token of each row at minus infinity."""
        del input_ids
        precise = (scores.cpu() if scores.device.type == "mps" else scores).double()  # mps has no numbers of 64 bits
        probabilities = nucleus(torch.softmax(precise / self._temperature, dim=-1), self._top_p)
        chosen = draw(probabilities, next(self._uniform).to(precise.device)).to(scores.device)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen, 0.0)


class RepetitionPenalty(LogitsProcessor):
    """Makes tokens that a row already holds less likely (CTRL, Section 4.1); padding is not part of a row."""

    def __init__(self, penalty: float, attention_mask: Tensor) -> None:
        """`attention_mask` (rows, prompt length) is 0 where a prompt is padded."""
        self._penalty = penalty
        self._padded = attention_mask == 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocabulary); positive ones are divided by the penalty, negative ones multiplied."""
        prompt = self._padded.shape[1]
        last = input_ids[:, prompt - 1 : prompt].expand(-1, prompt)
        own = torch.cat([torch.where(self._padded, last, input_ids[:, :prompt]), input_ids[:, prompt:]], dim=1)
        had = scores.gather(1, own)
        return scores.scatter(1, own, torch.where(had < 0, had * self._penalty, had / self._penalty))


def nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Probabilities (rows, vocabulary), those outside the smallest set that holds `top_p` of a row set to 0."""
    if top_p >= 1:
        return probabilities
    ranked = probabilities.sort(dim=-1, descending=True).values
    kept = ranked.cumsum(dim=-1) - ranked < top_p
    threshold = ranked.where(kept, torch.inf).amin(dim=-1, keepdim=True)
    return probabilities.where(probabilities >= threshold, 0.0)


def draw(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """One column a row, (rows, 1), from weights (rows, vocabulary) and a number in [0, 1) a row."""
    cumulative = probabilities.cumsum(dim=-1)
    return torch.searchsorted(cumulative / cumulative[:, -1:], uniform[:, None], right=True)
