"""Published questions beside a fresh draw of them: independent samples, whose figures follow by hand."""

from math import sqrt

import pytest

from cfeval.cvqa.tables.comparisons import CONTAMINATION, ContaminationRow
from cfeval.cvqa.tables.replies import SetFacts
from tests.cvqa.tables.scores import condition, material, pair_scores

FRESH = {"real": SetFacts(), "new": SetFacts(fresh_of="real")}


def rows(published: tuple[list[int], list[int]], fresh: tuple[list[int], list[int]]) -> dict[str, ContaminationRow]:
    scores = {condition("m", "real"): pair_scores(*published), condition("m", "new"): pair_scores(*fresh)}
    found = CONTAMINATION.rows(material(scores, sets=FRESH))
    return {row.measure: row for row in found if row.reader == "robust"}


def test_a_model_that_knows_the_published_questions_is_told_by_the_difference() -> None:
    found = rows(([1] * 90 + [0] * 10, [1] * 80 + [0] * 20), ([1] * 50 + [0] * 50, [1] * 40 + [0] * 60))
    row = found["original"]
    assert (row.set, row.fresh, row.n, row.n_fresh) == ("real", "new", 100, 100)
    assert (row.published, row.on_fresh, row.difference) == (0.9, 0.5, 0.4)
    error = sqrt(0.9 * 0.1 / 100 + 0.5 * 0.5 / 100)  # of two independent means
    assert row.difference_lo == pytest.approx(0.4 - 1.96 * error, abs=0.03)
    assert row.difference_hi == pytest.approx(0.4 + 1.96 * error, abs=0.03)
    assert row.p is not None
    assert row.p < 0.05
    assert found["counterfactual"].difference == 0.4
    change = found["counterfactual - original"]
    assert (change.published, change.on_fresh, change.difference) == (-0.1, -0.1, 0.0)


def test_a_model_that_knows_neither_shows_no_difference() -> None:
    same = [1, 0] * 50
    found = rows((same, same), (same, same))
    assert found["original"].difference == 0
    assert found["original"].difference_lo is not None
    assert found["original"].difference_lo < 0 < (found["original"].difference_hi or 0)


def test_without_a_fresh_draw_or_without_its_solver_there_is_no_row() -> None:
    pairs = pair_scores([1, 0], [0, 1])
    alone = {condition("m", "real"): pairs, condition("other", "new"): pairs}
    assert CONTAMINATION.rows(material(alone, sets=FRESH)) == []
    assert CONTAMINATION.rows(material({condition("m", "real"): pairs, condition("m", "new"): pairs})) == []
    assert "fresh draw" in CONTAMINATION.render([]).notes[0]
