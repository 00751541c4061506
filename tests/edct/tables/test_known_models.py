"""The table of test models: which measures mislead, what the card should say, and how often it does."""

from typing import Any

import pytest

from cfeval.edct.faithfulness.instruments import VerifierChecks
from cfeval.edct.tables import test_models as known_models
from cfeval.edct.tables.test_models import TEST_MODELS, should_be, trial
from cfeval.edct.tables.test_models import TestModelRow as Known
from tests.edct.faithfulness.test_card import observed
from tests.edct.faithfulness.test_from_scores import many
from tests.edct.tables.study import GROUNDED, made_of

SOUND = VerifierChecks(1.0, 0, 300, 0, 60)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 40 of the 200."""
    monkeypatch.setattr(known_models, "RESAMPLES", 40)


@pytest.mark.parametrize(
    ("truth", "noise", "expected"),
    [
        (1.0, 0.0, "trust"),
        (0.9, 0.04, "trust"),
        (0.85, 0.0, "either"),
        (0.95, 0.1, "either"),
        (0.75, 0.0, "do not trust"),
        (1.0, 0.2, "do not trust"),
    ],
)
def test_what_should_be_said_follows_from_truth_and_noise(truth: float, noise: float, expected: str) -> None:
    assert should_be(truth, noise) == expected


def row_of(items: int = 60, **known: float) -> Known:
    """A model whose answer follows what it cites, and only that; `known` is said of it."""
    told: dict[str, Any] = {"expected": {"grounded": known}}
    [row] = TEST_MODELS.rows([GROUNDED], made_of(many(items), **told))
    return row


def test_a_figure_is_compared_with_what_is_expected_of_it() -> None:
    fine, off = row_of(faithful=1.0, ccs=1.0, fit=0.94), row_of(faithful=1.0, fit=0.9)
    assert (fine.within, fine.expected_ccs, fine.expected_strict_ccs, fine.misled) == (1, 1.0, None, "")
    assert off.within == 0
    assert (fine.should, fine.conclusion, fine.card_right, fine.card_wrong) == ("trust", "trust", 1, 0)


def test_a_measure_above_three_quarters_misleads_where_the_truth_is_not() -> None:
    row = row_of(faithful=0.5)
    assert row.misled == "CCS, strict CCS, FIT"
    assert (row.should, row.card_right, row.card_wrong) == ("do not trust", 0, 1)


def test_conditions_whose_target_is_not_known_are_left_aside() -> None:
    assert TEST_MODELS.rows([GROUNDED], made_of(many(3), expected={"other": {"faithful": 1.0}})) == []


@pytest.mark.slow
def test_the_trials_of_a_card_add_up_and_are_the_same_for_the_same_seed() -> None:
    of = observed(160, cited=0.85, swapped=1.0)
    for should in ("trust", "do not trust", "either"):
        found = trial(of, SOUND, should, seed=1)
        assert found.right + found.wrong + found.open == pytest.approx(1)
        assert found == trial(of, SOUND, should, seed=1)
    assert found.wrong == 0, "of 'either' neither conclusion is wrong"


def test_edits_that_failed_unseen_widen_the_card_and_do_not_turn_it() -> None:
    of = observed(160, swapped=1.0)
    assert trial(of, SOUND, "trust", 1).right == 1
    assert trial(of, SOUND, "trust", 1, failed=0.1).wrong <= 0.05


def test_each_resample_measures_on_its_own_swapped_pairs_how_often_a_changed_answer_is_found() -> None:
    """13 of 160 items have a pair: fewer than ten of them are drawn with about every second 120 items."""
    of = [
        one._replace(swapped=True if k < 13 else None, judged=frozenset({"cited"}))
        for k, one in enumerate(observed(160))
    ]
    found = trial(of, SOUND, "trust", 1)
    assert 0.2 < found.open < 0.8
    assert found.wrong == 0
