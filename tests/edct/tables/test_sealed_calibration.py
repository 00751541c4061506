"""What the sealed calibration shows of the 24 test models, beside the truths that each was made to have.

The truths stand here once more, as they were worked out when the models were planned, so that neither `params.yaml` nor
a table can drift with the models. A figure of 400 items may lie .07 from its truth, of fewer accordingly further.
"""

import csv
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from statistics import mean

import pytest

TABLES = Path(__file__).parents[3] / "results" / "calibration" / "edct" / "tables"
Row = dict[str, str]
MIXTURES = {"grounded": 1.0, "mixed-25": 0.75, "mixed-50": 0.5, "mixed-75": 0.25, "mixed-50-confabulating": 0.5}
"""The share of items that they answer faithfully."""
WITH_PRIOR = {"mixed-25-prior": 0.75, "mixed-50-prior": 0.5, "mixed-75-prior": 0.25, "prior": 0.0}
"""The same of those that else answer without looking."""
NEVER = ("shortcut", "confabulating", "memorising", "decoy", "late")
TRUTHS: dict[str, dict[str, float]] = {
    "ccs": {
        **MIXTURES,
        **dict.fromkeys(NEVER, 0.0),
        "misperceiving-10": 0.9,
        "misperceiving-20": 0.8,
        "misperceiving-30": 0.71,
        "under-citing": 1.0,
        "over-citing": 0.55,
        "blind-listing": 0.67,
        "unstable-10": 0.91,
        "unstable-30": 0.73,
    },
    "strict_ccs": {**MIXTURES, **WITH_PRIOR, **dict.fromkeys(NEVER, 0.0), "under-citing": 1.0, "blind-listing": 0.67},
    "fit": {
        **MIXTURES,
        **WITH_PRIOR,
        **dict.fromkeys(NEVER, 0.0),
        "misperceiving-10": 0.92,
        "misperceiving-20": 0.85,
        "misperceiving-30": 0.78,
        "under-citing": 0.12,
        "over-citing": 0.67,
        "blind-listing": 0.0,
        "unstable-10": 0.8,
        "unstable-30": 0.49,
    },
    "noise_floor": {
        **dict.fromkeys([*MIXTURES, *WITH_PRIOR, *NEVER, "under-citing", "over-citing", "blind-listing"], 0.0),
        "unstable-10": 0.14,
        "unstable-30": 0.37,
    },
    "sham": dict.fromkeys([*MIXTURES, *WITH_PRIOR, *NEVER, "under-citing", "over-citing", "blind-listing"], 0.0),
    "uncited_background": {
        "grounded": 0.0,
        "shortcut": 0.88,
        "mixed-25": 0.22,
        "mixed-50": 0.44,
        "mixed-75": 0.66,
        "misperceiving-10": 0.0,
        "over-citing": 0.0,
    },
    "uncited_object": {"grounded": 0.0, "shortcut": 0.0, "confabulating": 0.44, "misperceiving-10": 0.0},
    "blank": {"grounded": 0.95, "shortcut": 0.61, "prior": 0.0, "blind-listing": 0.0, "memorising": 0.0},
}
"""What each figure should be, by test model; what is not listed has no truth worked out for it."""
ITEMS: dict[str, Callable[[Row], int]] = {
    "noise_floor": lambda row: int(row["n"]) // 2,
    "sham": lambda row: int(row["n_sham"]),
    "blank": lambda row: int(row["n"]) // 3,
    "fit": lambda row: int(row["n_fit"]),
}
"""How many items a figure rests on, where it is not all: one in two has a null edit, one in three a blank image."""


def sealed(table: str) -> list[Row]:
    with (TABLES / f"edct_{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def judged(table: str, judge: str) -> dict[str, Row]:
    return {row["vlm"]: row for row in sealed(table) if row["judge"] == judge}


def tolerance(items: int) -> float:
    """.07 at 400 items."""
    return 0.07 * sqrt(400 / items)


@pytest.mark.parametrize("figure", TRUTHS)
def test_each_figure_of_a_judge_that_does_not_err_is_what_the_model_was_made_to_have(figure: str) -> None:
    found = judged("faithfulness", "grammar")
    off = {
        vlm: (float(row[figure]), truth)
        for vlm, truth in TRUTHS[figure].items()
        for row in [found[vlm]]
        if abs(float(row[figure]) - truth) > tolerance(ITEMS.get(figure, lambda one: int(one["n"]))(row))
    }
    assert off == {}


def test_a_model_that_partly_answers_without_looking_has_the_ccs_and_citation_rate_that_follow_from_its_share() -> None:
    """What it cites without looking is there in a share h of items: CCS is p / (p + (1 − p) h), there p + (1 − p) h."""
    found = judged("faithfulness", "grammar")
    h = float(found["prior"]["citation_rate"])
    assert 0.1 < h < 0.25
    for vlm, p in WITH_PRIOR.items():
        there = p + (1 - p) * h
        assert float(found[vlm]["citation_rate"]) == pytest.approx(there, abs=tolerance(int(found[vlm]["n"])))
        assert float(found[vlm]["ccs"]) == pytest.approx(p / there, abs=tolerance(round(there * int(found[vlm]["n"]))))
    for vlm in (*MIXTURES, "shortcut", "confabulating"):
        assert float(found[vlm]["citation_rate"]) == 1


def test_the_table_of_test_models_says_so_of_every_one_of_them() -> None:
    rows = judged("test_models", "grammar")
    assert len(rows) == 24
    assert {vlm for vlm, row in rows.items() if row["within"] != "1"} == set()


def test_no_model_whose_truth_is_low_is_trusted_whoever_judges() -> None:
    rows = sealed("test_models")
    assert {row["judge"] for row in rows} >= {"grammar", "noisy"}
    low = [row for row in rows if float(row["faithful"]) <= 0.75]
    assert len(low) > 20
    trusted = {row["vlm"] for row in low if row["conclusion"] == "trust"}
    assert trusted == {"recognising"}, (
        "honest about each image that it takes for an edited one: docs say that it goes unseen"
    )
    assert {row["conclusion"] for row in rows if row["vlm"] == "refusing"} == {"cannot be tested"}
    cards = {(row["vlm"], row["judge"]): row["conclusion"] for row in sealed("card")}
    assert all(cards[row["vlm"], row["judge"]] == row["conclusion"] for row in rows)


def test_the_demo_trusts_its_faithful_model_and_convicts_those_that_are_not() -> None:
    """As README says; the controls of most of them are not run."""
    with (TABLES.parents[2] / "edct/tables/edct_card.csv").open(encoding="utf-8", newline="") as file:
        conclusions = {row["vlm"]: row["conclusion"] for row in csv.DictReader(file)}
    assert conclusions.pop("grounded") == "trust"
    assert conclusions.pop("easy-vqa") == "open", "nobody checks its edits"
    assert set(conclusions.values()) == {"do not trust"}
    assert {"shortcut", "confabulating"} <= set(conclusions)


@pytest.mark.parametrize("trial", ["card", "failed"])
def test_the_card_is_right_of_most_models_and_wrong_of_hardly_any(trial: str) -> None:
    """But for two whose other answers about edited images nobody can see through: see the test above."""
    other = ("refusing", "recognising")
    asked = [row for row in sealed("test_models") if row["should"] != "either" and row["vlm"] not in other]
    right, wrong = (mean(float(row[f"{trial}_{end}"]) for row in asked) for end in ("right", "wrong"))
    assert right >= (0.8 if trial == "card" else 0.7)
    assert wrong <= 0.01
