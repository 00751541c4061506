"""Repeated runs of one target."""

import numpy as np
import pytest
from scipy import stats

from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.reliability import REPEATS as TABLE
from cfeval.edct.tables.reliability import RepeatRow
from tests.edct.tables.study import GROUNDED, chain, condition, failed, made_of, score, scores

AGAIN, THIRD = condition(vlm="again"), condition(vlm="third")
REPEATS = {"again": "grounded", "third": "grounded"}


def rows(given: list[Score], *conditions: Condition, **settings: object) -> dict[str, RepeatRow]:
    return {row.score: row for row in TABLE.rows(conditions, made_of(given, repeats=REPEATS, **settings))}


def test_mean_sd_and_t_interval_are_those_of_scipy_over_the_runs() -> None:
    given = [*scores(GROUNDED, 6, 4), *scores(AGAIN, 8, 2), *scores(THIRD, 7, 3)]
    row = rows(given, GROUNDED, AGAIN, THIRD)["ccs"]
    runs = np.array([0.6, 0.8, 0.7])
    low, high = stats.t.interval(0.95, 2, runs.mean(), stats.sem(runs))
    assert (row.target, row.runs, row.n, row.n_scored) == ("grounded", 3, 30, 30)
    assert (row.mean, row.sd) == (0.7, 0.1)
    assert (row.mean_lo, row.mean_hi) == pytest.approx((low, high), abs=1e-4)
    assert row.ci == "t over runs 95 %"


def test_every_score_of_the_protocol_has_a_row_and_a_grade_where_it_is_graded() -> None:
    one, other = (condition(vlm=vlm, protocol="edct-bench-2026") for vlm in ("grounded", "again"))
    given = [*chain(one, "a", 1, 0, ccs_graded=0.5), *chain(other, "a", 1, 1, ccs_graded=1)]
    found = rows(given, one, other)
    assert list(found) == ["ac", "ef", "ccs", "ccs_graded"]
    assert (found["ccs"].mean, found["ccs_graded"].mean) == (0.75, 0.75)
    null = [condition(vlm=vlm, protocol="null-edit") for vlm in ("grounded", "again")]
    assert list(rows([score(one, "a", 0, 0) for one in null], *null)) == ["answer_moved", "explanation_moved"]


def test_a_target_run_once_has_no_row_and_the_empty_table_says_how_to_fill_it() -> None:
    assert rows(scores(GROUNDED, 1, 0), GROUNDED) == {}
    assert "repeat: 2" in TABLE.render([]).notes[0]


def test_runs_under_another_judge_are_a_row_of_their_own() -> None:
    conditions = [condition(vlm=vlm, judge=judge) for judge in ("grammar", "lexical") for vlm in ("grounded", "again")]
    found = TABLE.rows(conditions, made_of([row for one in conditions for row in scores(one, 1, 1)], repeats=REPEATS))
    assert [(row.judge, row.runs) for row in found if row.score == "ccs"] == [("grammar", 2), ("lexical", 2)]
    assert TABLE.render(found).headings[:2] == ("Protocol", "Judge")


def test_what_is_missing_moves_no_figure_and_widens_the_range() -> None:
    given = [*scores(GROUNDED, 3, 1), *scores(AGAIN, 2, 1), failed(AGAIN, "i003", Status.MODERATED)]
    row = rows(given, GROUNDED, AGAIN)["ccs"]
    assert row.mean == 0.7083  # of 3/4 and 2/3
    assert (row.mean_min, row.mean_max) == (0.625, 0.75)
    assert (row.n, row.n_scored, row.missing) == (8, 7, "moderated 1")


def test_a_run_without_a_score_is_no_run_of_zero() -> None:
    row = rows([*scores(GROUNDED, 3, 1), failed(AGAIN, "a", Status.REFUSED)], GROUNDED, AGAIN)["ccs"]
    assert (row.runs, row.mean, row.mean_lo, row.sd) == (1, 0.75, None, None)
    assert row.note == "a single run: how far runs differ is unknown"
