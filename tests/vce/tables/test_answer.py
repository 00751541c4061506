"""The answer: its counts add up, its sentence says them, and a study says only what it knows."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import VceCondition, VceScore
from cfeval.vce.tables.answer import ANSWER, AnswerRow, headline, sentences
from cfeval.vce.tables.group_scores import group_material

ROLES = Roles(base="base", no_cone="no-cone", unguided="unguided", random=("rand",))
COUNTS = ("valid", "alone", "taken", "not_valid", "misread", "no_result")
KINDS = {
    "valid": {"predicted": "fox", "oracles": {"vit": "fox"}},
    "alone": {"predicted": "fox", "oracles": {"vit": "cat"}},
    "taken": {"predicted": "fox"},
    "not_valid": {"predicted": "cat", "oracles": {"vit": "cat"}},
    "misread": {"predicted": "fox", "before": "owl", "p_source": 0.1, "oracles": {"vit": "fox"}},
    "no_result": {"status": "no_image", "stage": "counterfactuals", "reason": "diverged"},
}


def condition(classifier: str = "mine", method: str = "base") -> VceCondition:
    return VceCondition(image_set="photos", denoiser="ddpm", classifier=classifier, method=method)


def scores(counts: Mapping[str, int], pair: str = "ideal") -> list[VceScore]:
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    names = {"source": "cat", "target": "fox", "pair": pair}
    return [
        VceScore.model_validate({"id": f"{n}", "source_image": f"i{n}", **names, **KINDS[kind]})
        for n, kind in enumerate(kinds)
    ]


def rows(study: Mapping[VceCondition, Mapping[str, int]], built_in: tuple[str, ...] = ()) -> list[AnswerRow]:
    made = {one: scores(counts) for one, counts in study.items()}
    return ANSWER.rows(group_material([], made, roles=ROLES, built_in=built_in))


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(COUNTS), st.integers(1, 7), min_size=1))
def test_the_counts_are_those_of_the_scores_and_stand_in_the_sentence(counts: dict[str, int]) -> None:
    [row] = rows({condition(): counts})
    assert {name: getattr(row, name) for name in COUNTS} == {name: counts.get(name, 0) for name in COUNTS}
    assert sum(getattr(row, name) for name in COUNTS) == row.n
    [first, *others] = sentences([row])
    assert first.startswith(f"Of {row.n} counterfactuals for mine, ")
    for name, word in (("valid", "valid (the"), ("alone", "seen by the classifier alone"), ("misread", "expla")):
        if counts.get(name):
            assert f"{counts[name]} {'is ' if counts[name] == 1 else 'are '}{word}" in first or word == "expla"
    assert ("have no result" in first or "has no result" in first) == ("no_result" in counts)
    assert any("No oracle was asked" in text for text in others) == ("taken" in counts)
    judged = row.n - row.no_result
    if row.share is not None:
        assert row.share == round(row.valid / judged, 4)
        assert (row.share_lo or 0) <= row.share <= (row.share_hi or 1)
    else:
        assert "taken" in counts or not judged


def test_further_targets_are_left_out() -> None:
    made = {condition(): [*scores({"valid": 2}), *scores({"not_valid": 5}, "other")]}
    [row] = ANSWER.rows(group_material([], made, roles=ROLES))
    assert (row.n, row.valid, row.not_valid) == (2, 2, 0)


def test_the_answer_is_of_the_base_method_and_of_ones_own_classifiers_before_those_of_the_test_bed() -> None:
    study = {
        condition("shortcut"): {"alone": 9},
        condition("rand"): {"not_valid": 9},
        condition(): {"valid": 3, "alone": 1},
        condition(method="no-cone"): {"alone": 4},
        condition(method="unguided"): {"valid": 1, "not_valid": 3},
    }
    found = rows(study, built_in=("shortcut", "rand"))
    assert found[0].classifier == "mine"
    assert [row.classifier for row in headline(found)] == ["mine"]
    first, noise = sentences(found)
    assert first == (
        "Of 4 counterfactuals for mine by base, 3 are valid (the classifier and most oracles see the target class), "
        "1 is seen by the classifier alone (adversarial) and 0 are not valid."
    )
    assert noise == "Noise alone, without guidance, already shows the target class to mine in 1 of 4."
    only = rows({one: counts for one, counts in study.items() if one.classifier != "mine"}, ("shortcut", "rand"))
    assert [row.classifier for row in headline(only)] == ["shortcut"], "a random one only where there is no other"


def test_without_a_base_the_first_method_that_guides_is_taken() -> None:
    study = {condition(method="unguided"): {"not_valid": 1}, condition(method="mine"): {"valid": 1}}
    assert [row.method for row in headline(rows(study))] == ["mine"]


def test_the_table_has_no_column_in_which_nothing_was_counted() -> None:
    text = markdown(ANSWER.render(rows({condition(): {"taken": 2, "not_valid": 1}})))
    assert "| Method | Classifier | Asked | No oracle asked | Not valid |" in text
    assert "Misread" not in text
    assert sentences([]) == []
    assert "Empty: no scores of counterfactuals" in markdown(ANSWER.render([]))
