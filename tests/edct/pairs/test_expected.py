"""What params.yaml expects of phi is what the rules of the test models give on the pairs that the calibration draws."""

import pytest

from tests.edct.pairs.rules import PARAMS, expected_phi, told

WITHOUT = ("prior", "memorising", "blind-listing")
"""Their answers never move with the second image, so that they have no phi."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMS["expected"])
def test_the_expected_phi_of_a_test_model_is_that_of_its_rule(name: str) -> None:
    assert PARAMS["expected"][name].get("phi") == expected_phi(told(name, PARAMS["items"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT)
def test_a_test_model_whose_answer_never_moves_has_no_phi(name: str) -> None:
    found = told(name, 24)
    assert {one.moved for one in found} == {0}
    assert expected_phi(found) is None
    assert "phi" not in PARAMS["expected"][name]
