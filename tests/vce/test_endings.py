"""How a counterfactual ends: against a plain count, and on hand-made cases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.vce.config import Roles
from cfeval.vce.endings import ENDINGS, Ending, ending, ending_of
from cfeval.vce.records import VceScore

ROLES = Roles(robust=("adv",), random=("rand",), flawed=("bad",), not_oracles=("mute",))
GOOD: dict[str, Any] = {
    **{"id": "a", "source_image": "i", "source": "cat", "target": "fox", "pair": "ideal"},
    **{"before": "cat", "predicted": "fox", "p_target": 0.9, "p_source": 0.1},
}
CLASSES = st.sampled_from(["cat", "fox", "owl"])


def score(**changes: Any) -> VceScore:
    return VceScore.model_validate(GOOD | changes)


@given(
    predicted=CLASSES,
    replies=st.dictionaries(st.sampled_from(["o1", "o2", "o3", "o4"]), CLASSES),
    misread=st.booleans(),
    status=st.sampled_from([Status.OK, Status.NO_IMAGE]),
)
def test_every_counterfactual_ends_in_one_way_by_a_strict_majority(
    predicted: str, replies: dict[str, str], misread: bool, status: Status
) -> None:
    found = ending(status, predicted, "fox", replies, tuple(replies), misread)
    assert found in ENDINGS
    yes, no = list(replies.values()).count("fox"), sum(said != "fox" for said in replies.values())
    assert (found == "missing") == (status != Status.OK)
    if status == Status.OK:
        assert (found == "misread") == misread
    if status == Status.OK and not misread:
        assert (found == "not") == (predicted != "fox")
        assert (found == "valid") == (predicted == "fox" and yes > no)
        assert (found == "taken") == (predicted == "fox" and not replies)


@pytest.mark.parametrize(
    ("changes", "classifier", "expected"),
    [
        ({"oracles": {"vit": "fox"}}, "mine", "valid"),
        ({"oracles": {"vit": "cat"}}, "mine", "alone"),
        ({"oracles": {"vit": "fox", "cnn": "cat"}}, "mine", "alone"),
        ({"oracles": {"vit": "cat", "adv": "fox", "rand": "fox", "bad": "fox", "mute": "fox"}}, "mine", "alone"),
        ({"oracles": {"adv": "fox", "rand": "cat"}}, "mine", "valid"),
        ({"oracles": {"rand": "fox"}}, "mine", "taken"),
        ({"predicted": "owl", "oracles": {"vit": "fox"}}, "mine", "not"),
        ({"before": "fox", "oracles": {"vit": "fox"}}, "mine", "misread"),
        ({"before": "fox", "oracles": {"vit": "cat"}}, "rand", "alone"),
        ({"before": "tabby", "p_source": None, "oracles": {"vit": "fox"}}, "mine", "valid"),
    ],
)
def test_only_independent_oracles_of_a_read_original_count(
    changes: dict[str, Any], classifier: str, expected: Ending
) -> None:
    assert ending_of(score(**changes), classifier, ROLES) == expected


def test_what_has_no_score_is_missing() -> None:
    assert ending_of(None, "mine", ROLES) == "missing"
