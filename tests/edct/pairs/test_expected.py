"""What params.yaml expects of phi is what the rules of the test models give on the pairs that the calibration draws."""

import pytest

from tests.edct.pairs.rules import PARAMS, expected_phi, told, told_of_easy_vqa

EASY = "easy-vqa"
WITHOUT = ("prior", "memorising", "blind-listing")
"""Their answers never move with the second image, so that they have no phi."""
PHI = {"phi", "no_phi"}
"""Of whom params.yaml says this, the calibration asks about given pairs."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, known in PARAMS["expected"].items() if name != EASY and known.keys() & PHI]
)
def test_the_expected_phi_of_a_test_model_is_that_of_its_rule(name: str) -> None:
    assert PARAMS["expected"][name].get("phi") == expected_phi(told(name, PARAMS["items"]))


@pytest.mark.slow
def test_the_expected_phi_of_easy_vqas_target_is_that_of_its_rule_on_recolored_images() -> None:
    found = told_of_easy_vqa(PARAMS["items"])
    assert {one.kind for one in found} == {"attribute", "background"}
    assert PARAMS["expected"][EASY]["phi"] == expected_phi(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT)
def test_a_test_model_whose_answer_never_moves_has_no_phi(name: str) -> None:
    found = told(name, 24)
    assert {one.moved for one in found} == {0}
    assert expected_phi(found) is None
    assert "phi" not in PARAMS["expected"][name]
    assert "never moves" in PARAMS["expected"][name]["no_phi"]
