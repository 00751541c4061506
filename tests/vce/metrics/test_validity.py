"""Accuracies and agreements, counted by hand."""

import pytest

from cfeval.vce.metrics.validity import (
    committee_majority,
    committee_mean,
    flip_rate,
    oracle_score,
    oracle_target_accuracy,
    original_accuracy,
    target_accuracy,
)

TARGETS = ["leopard", "leopard", "tiger", "leopard"]
SOURCES = ["cheetah"] * 4
PREDICTED = ["leopard", "cheetah", "tiger", "tiger"]
ORACLES = {
    "one": ["leopard", "leopard", "tiger", "tiger"],
    "two": ["leopard", "cheetah", "cheetah", "leopard"],
    "three": ["tiger", "leopard", "cheetah", "tiger"],
}


def test_each_accuracy_is_a_share_of_matches() -> None:
    assert target_accuracy(PREDICTED, TARGETS) == 2 / 4
    assert original_accuracy(PREDICTED, SOURCES) == 1 / 4
    assert oracle_target_accuracy(ORACLES["one"], TARGETS) == 3 / 4
    assert oracle_score(PREDICTED, ORACLES["one"]) == 3 / 4


def test_a_flip_to_any_other_class_counts() -> None:
    assert flip_rate(["cheetah", "cheetah", "tiger", "lynx"], PREDICTED) == 2 / 4
    assert flip_rate(PREDICTED, PREDICTED) == 0


def test_two_oracles_that_agree_by_chance_of_class_need_not_see_the_target() -> None:
    assert oracle_score(["cheetah"], ["cheetah"]) == 1
    assert oracle_target_accuracy(["cheetah"], ["leopard"]) == 0


def test_the_committees_mean_is_that_of_its_members() -> None:
    members = [oracle_target_accuracy(said, TARGETS) for said in ORACLES.values()]
    assert committee_mean(ORACLES, TARGETS) == pytest.approx(sum(members) / 3)
    assert committee_mean({"one": ORACLES["one"]}, TARGETS) == 3 / 4


def test_the_committees_majority_is_more_than_half() -> None:
    assert committee_majority(ORACLES, TARGETS) == 2 / 4  # leopard 2 of 3, leopard 2, tiger 1, leopard 1
    tied = {name: ORACLES[name] for name in ("one", "two")}
    assert committee_majority(tied, TARGETS) == 1 / 4  # a tie is no majority


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        target_accuracy(PREDICTED, TARGETS[:3])
