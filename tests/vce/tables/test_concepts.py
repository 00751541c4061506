"""Concept edits as a table: counts are those of the scores, and verdicts what counts and null edits allow."""

import pytest

from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import VceCondition, VceScore
from cfeval.vce.tables.answer import CONCEPTS, ConceptRow, concept_sentences
from cfeval.vce.tables.group_scores import group_material

ROLES = Roles(null_edits="null", defects={"mine": "sees tags"})
N = 20


def condition(method: str) -> VceCondition:
    return VceCondition(image_set="photos", denoiser="ddpm", classifier="mine", method=method)


def scores(concept: str, followed: int, oracles: int | None, **changed: object) -> list[VceScore]:
    """Edits of one concept: the first ones are followed, and the first ones are seen by the oracles."""
    names = {"source": "cat", "target": "fox", "pair": "ideal", "concept": concept, "before": "cat", "p_source": 0.1}
    return [
        VceScore.model_validate(
            {
                **{"id": f"{concept or 'sampled'}-{n}", "source_image": f"i{n}", **names},
                "predicted": "fox" if n < followed else "cat",
                "oracles": {} if oracles is None else dict.fromkeys(("a", "b"), "fox" if n < oracles else "cat"),
                "distances": {"lpips": 0.25},
                **changed,
            }
        )
        for n in range(N)
    ]


def table(*edits: list[VceScore], null: int = 0) -> list[ConceptRow]:
    made = {
        condition("concepts"): [score for some in edits for score in some],
        condition("null"): scores("nothing", null, 0),
    }
    return CONCEPTS.rows(group_material([], made, roles=ROLES))


@pytest.mark.parametrize(
    ("followed", "oracles", "null", "verdict"),
    [
        (20, 0, 0, "own cause"),
        (20, 20, 0, "shared cause"),
        (19, 19, 0, "shared cause"),
        (0, 0, 0, "not followed"),
        (1, 20, 1, "not followed"),
        (20, 0, 17, "undecided"),
        (10, 0, 10, "not followed"),
        (3, 0, 0, "undecided"),
        (20, 13, 0, "undecided"),
        (20, None, 0, "undecided"),
    ],
)
def test_a_cause_is_followed_beyond_null_edits_and_its_own_where_oracles_do_not(
    followed: int, oracles: int | None, null: int, verdict: str
) -> None:
    row, floor = table(scores("tag", followed, oracles), null=null)
    assert (row.verdict, row.n, row.n_followed, row.n_oracles) == (verdict, N, followed, oracles or 0)
    assert (row.unchanged, row.distance, row.unchanged_distance) == (null / N, 0.25, 0.25)
    assert floor.verdict == "not followed", "nothing was changed: that is the floor itself"


def test_what_has_no_result_or_was_misread_is_counted_and_scores_nothing() -> None:
    lost = scores("tag", 0, 0, status="edit_invalid", stage="counterfactuals", reason="none", predicted=None)
    row, _ = table(lost)
    assert (row.n, row.no_result, row.n_scored, row.followed, row.verdict) == (N, N, 0, None, "undecided")
    row, _ = table(scores("tag", N, 0, before="owl"))
    assert (row.misread, row.n_scored, row.followed, row.verdict) == (N, 0, None, "undecided")


def test_other_methods_and_further_targets_are_no_concept_edits() -> None:
    plain = scores("", 20, 20)
    assert CONCEPTS.rows(group_material([], {condition("base"): plain}, roles=ROLES)) == []
    assert table(scores("tag", 20, 0, pair="other"))[0].method == "null"
    assert "no concept editor" in markdown(CONCEPTS.render([]))


def test_the_sentences_name_a_cause_of_its_own_before_shared_ones() -> None:
    found = table(scores("shape", 20, 20), scores("tag", 20, 1), scores("sky", 0, 0))
    assert list(concept_sentences(found, "photos", "ddpm", "mine")) == [
        "Concept edits: it follows the tag in 20 of 20, the oracles in 1 of 20: a cause of its own.",
        "Concept edits: like the oracles it follows the shape.",
    ]
    assert list(concept_sentences(found, "photos", "ddpm", "another")) == []
    text = markdown(CONCEPTS.render(found))
    assert "| tag | 20 | 20 of 20 | 1 of 20 | 0.000 | 0.250 | 0.250 | own cause |" in text
