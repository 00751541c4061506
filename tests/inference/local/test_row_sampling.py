"""The next token of a row, against the library's own filters and against the probabilities themselves."""

import pytest
import torch
from scipy import stats
from torch import Tensor
from transformers import RepetitionPenaltyLogitsProcessor, TopPLogitsWarper

from cfeval.inference.local.chat_model import RepetitionPenalty, RowSampler, nucleus

NO_IDS = torch.zeros(1, 0, dtype=torch.long)


def scores(rows: int = 1, vocabulary: int = 12, seed: int = 0) -> Tensor:
    return 2 * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))


def drawn(row: Tensor, seeds: range, temperature: float = 1.0, top_p: float = 1.0) -> list[int]:
    """The first token of one row under each seed."""
    sampler = RowSampler(list(seeds), 1, temperature, top_p)
    chosen: list[int] = sampler(NO_IDS, row.expand(len(seeds), -1)).argmax(dim=-1).tolist()
    return chosen


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_tokens_come_as_often_as_they_are_probable(temperature: float) -> None:
    row = scores()
    counts = torch.bincount(torch.tensor(drawn(row, range(4000), temperature)), minlength=row.shape[1])
    expected = 4000 * torch.softmax(row[0].double() / temperature, dim=-1)
    enough = expected >= 5
    observed, wanted = counts[enough].double(), expected[enough]
    assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 0.001


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.9, 0.999])
def test_the_nucleus_is_the_librarys(top_p: float) -> None:
    rows = scores(50, 40)
    ours = nucleus(torch.softmax(rows.double(), dim=-1), top_p) > 0
    theirs = TopPLogitsWarper(top_p)(NO_IDS, rows.double()).isfinite()  # type: ignore[no-untyped-call]
    assert torch.equal(ours, theirs)
    row = rows[:1]
    assert set(drawn(row, range(2000), top_p=top_p)) <= set(theirs[0].nonzero()[:, 0].tolist())


def test_a_row_draws_the_same_in_any_company() -> None:
    rows, seeds = scores(6, 300), [5, 9, 5, 2, 7, 1]
    together = RowSampler(seeds, 3, 1.0, 0.9)
    alone = [RowSampler([seed], 3, 1.0, 0.9) for seed in seeds]
    for _ in range(3):
        chosen = together(NO_IDS, rows).argmax(dim=-1)
        singles = [one(NO_IDS, rows[n : n + 1]).argmax(dim=-1)[0] for n, one in enumerate(alone)]
        assert chosen.tolist() == [int(token) for token in singles]


def test_a_repeated_token_is_penalised_as_by_the_library_and_padding_is_not() -> None:
    rows, ids = scores(2, 12), torch.tensor([[3, 4, 5, 6], [8, 8, 9, 10]])
    theirs = RepetitionPenaltyLogitsProcessor(1.3)
    whole = RepetitionPenalty(1.3, torch.ones(2, 3))
    assert torch.equal(whole(ids, rows), theirs(ids, rows))
    padded = RepetitionPenalty(1.3, torch.tensor([[0, 0, 1], [1, 1, 1]]))(ids, rows)
    assert torch.equal(padded[:1], theirs(ids[:1, 2:], rows[:1]))
    assert torch.equal(padded[1:], theirs(ids[1:], rows[1:]))
