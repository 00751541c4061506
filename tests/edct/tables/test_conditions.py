"""Tables of conditions: figures worked out by hand, what is missing, order, shards, one protocol a table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.conditions import BENCH, TABLE1, TABLE2
from cfeval.edct.tables.faithfulness import CONTROLS_TABLE
from cfeval.edct.tables.scores import Published
from cfeval.stats.intervals import Interval
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score, scores
from tests.slow import examples

QWEN = {"writer": "qwen3-235b", "judge": "qwen3-235b"}
GEMINI = condition(dataset="OK-VQA", vlm="Gemini-2.5-Flash", editor="flux.1-kontext-max", **QWEN)


def published(table: str, metric: str, value: float, **names: str) -> Published:
    return Published(source="s", protocol="edct-2025", table=table, metric=metric, value=value, **names)  # type: ignore[arg-type]


def test_the_figures_of_four_items_are_those_worked_out_by_hand() -> None:
    given_ = [
        score(GROUNDED, "a", 1, 1, correct=1, verified=1),
        score(GROUNDED, "b", 1, 0, correct=1, verified=0),
        score(GROUNDED, "c", 0, 1, correct=0, verified=1),
        failed(GROUNDED, "d", Status.NO_IMAGE),
    ]
    (row,) = TABLE1.rows([GROUNDED], made_of(given_))
    assert (row.n, row.n_scored) == (4, 3)
    assert (row.pcs, row.ncc, row.ccs) == (0.6667, 0.6667, 0.3333)
    assert (row.accuracy, row.edit_verified, row.n_checked) == (0.6667, 0.6667, 3)
    assert (row.ccs_min, row.ccs_max) == (0.25, 0.5)
    assert row.missing == "no_image 1"


def test_a_failure_is_counted_with_its_reason_and_is_never_a_score() -> None:
    given_ = [
        *scores(GROUNDED, 2, 0),
        *(failed(GROUNDED, f"x{i}", Status.REFUSED) for i in range(2)),
        *(failed(GROUNDED, f"y{i}", Status.EDIT_INVALID) for i in range(3)),
        failed(GROUNDED, "z", Status.MODERATED),
    ]
    (row,) = TABLE1.rows([GROUNDED], made_of(given_))
    assert row.ccs == row.pcs == row.ncc == 1
    assert row.missing == "edit_invalid 3, refused 2, moderated 1"


def test_a_condition_without_any_scored_item_has_empty_figures_and_the_widest_bounds() -> None:
    (row,) = TABLE1.rows([GROUNDED], made_of([failed(GROUNDED, "a", Status.TRANSPORT_ERROR)]))
    assert row.ccs is row.ccs_lo is row.ccs_hi is row.pcs is row.accuracy is None
    assert (row.n, row.n_scored, row.ccs_min, row.ccs_max) == (1, 0, 0, 1)


def test_an_item_with_two_edits_is_one_item_whose_edits_are_averaged() -> None:
    given_ = [
        score(GROUNDED, "a", correct=1),
        score(GROUNDED, "a", 0, edit=2, correct=1),
        score(GROUNDED, "b", correct=0),
    ]
    (row,) = TABLE1.rows([GROUNDED], made_of(given_))
    assert (row.n, row.n_scored, row.accuracy, row.ccs) == (2, 2, 0.5, 0.75)


def test_accuracy_is_the_mean_of_shares_where_people_disagreed() -> None:
    given_ = [score(GROUNDED, "a", correct=0.3), score(GROUNDED, "b", correct=1), score(GROUNDED, "c")]
    (row,) = TABLE1.rows([GROUNDED], made_of(given_))
    assert row.accuracy == 0.65


def test_a_wilson_interval_is_named_in_the_row() -> None:
    (row,) = TABLE1.rows([GROUNDED], made_of(scores(GROUNDED, 8, 2), Interval(method="wilson")))
    assert (row.ccs_lo, row.ccs_hi, row.ci) == (0.4902, 0.9433, "Wilson 95 %")


def test_an_item_given_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="two score rows for item 'a', edit 1 of world/grounded"):
        TABLE1.rows([GROUNDED], made_of([score(GROUNDED, "a"), score(GROUNDED, "a", 0)]))


def test_a_condition_without_scores_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match="no scores of the condition world/prior/"):
        TABLE1.rows([condition(vlm="prior")], made_of(scores(GROUNDED, 1, 0)))


def test_a_published_figure_stands_only_beside_its_own_cell() -> None:
    lines = [
        published("table1", "ccs", 0.674, dataset="okvqa", vlm="gemini-2.5-flash"),
        published("table2", "ccs", 0.555, dataset="okvqa", vlm="gemini-2.5-flash", judge="qwen3-235b"),
        published("table2", "ccs", 0.1, dataset="okvqa", vlm="gemini-2.5-flash", judge="gemini-2.5-pro"),
    ]
    other = GEMINI.model_copy(update={"dataset": "own"})
    given_ = [*scores(GEMINI, 1, 1), *scores(other, 1, 1), *scores(GROUNDED, 1, 1)]
    conditions = [GEMINI, other, GROUNDED]
    assert [row.paper_ccs for row in TABLE1.rows(conditions, made_of(given_, published=lines))] == [
        0.674,
        None,
        None,
    ]
    assert [row.paper_ccs for row in TABLE2.rows(conditions, made_of(given_, published=lines))] == [
        0.555,
        None,
        None,
    ]


def test_figures_of_another_protocol_never_stand_in_the_column() -> None:
    line = published("table1", "ccs", 0.6).model_copy(update={"protocol": "edct-bench-2026"})
    assert TABLE1.rows([GEMINI], made_of(scores(GEMINI, 1, 1), published=[line]))[0].paper_ccs is None


@pytest.mark.parametrize(
    ("table", "protocol"),
    [
        (TABLE1, "edct-bench-2026"),
        (TABLE2, "null-edit"),
        (BENCH, "edct-2025"),
        (CONTROLS_TABLE, "edct-bench-2026"),
    ],
    ids=["table1", "table2", "bench", "controls"],
)
def test_a_condition_of_another_protocol_is_an_error_and_never_stands_in_the_column(table: Any, protocol: str) -> None:
    other = condition(protocol=protocol)
    with pytest.raises(
        InputError, match=f"the condition world/grounded/grammar/{protocol}/.* belongs in another table"
    ):
        table.rows([other], made_of(scores(other, 1, 1)))


def test_every_way_in_which_intervals_were_computed_is_named_under_the_table() -> None:
    prior = condition(vlm="prior")
    of = [*scores(GROUNDED, 2, 2), *scores(prior, 0, 4)]
    rows = TABLE1.rows([GROUNDED, prior], made_of(of, Interval(method="bootstrap", resamples=200)))
    assert rows[0].ci == "percentile bootstrap 95 %; Wilson bound 95 %"
    assert TABLE1.render(rows[1:]).notes[1].startswith("Intervals: Wilson bound 95 %. CCS range")
    assert TABLE1.render(rows).notes[1].startswith("Intervals: percentile bootstrap 95 %; Wilson bound 95 %. CCS")


def test_test_targets_are_marked_and_the_note_says_what_they_are() -> None:
    given_ = [*scores(GROUNDED, 1, 1), *scores(GEMINI, 1, 1)]
    found = TABLE1.rows([GROUNDED, GEMINI], made_of(given_, test_targets={"grounded"}))
    assert [row.test_world for row in found] == [1, 0]
    sheet = TABLE1.render(found)
    assert [row[1] for row in sheet.body] == ["grounded †", "Gemini-2.5-Flash"]
    assert any("stands for no real model" in note for note in sheet.notes)
    assert not any("†" in note for note in TABLE1.render(found[1:]).notes)


CONDITIONS = [condition(vlm=vlm, judge=judge) for vlm in ("grounded", "prior") for judge in ("grammar", "lexical")]
MANY = [row for i, one in enumerate(CONDITIONS) for row in [*scores(one, 3 + i, 2), failed(one, "z", Status.REFUSED)]]


@given(st.permutations(MANY), st.permutations(CONDITIONS))
@examples(25)
def test_rows_follow_the_conditions_and_not_the_order_of_the_scores(mixed: list[Score], order: list[Condition]) -> None:
    found = TABLE1.rows(order, made_of(mixed))
    by_name = {(row.vlm, row.judge): row for row in TABLE1.rows(CONDITIONS, made_of(MANY))}
    assert found == [by_name[one.vlm, one.judge] for one in order]


def test_where_nobody_looked_readers_see_the_bounds_of_citation_rate_and_strict_ccs() -> None:
    told = [score(GROUNDED, "a", 1, 1), score(GROUNDED, "b", 0, 1), score(GROUNDED, "c", 1, 1)]
    rows = TABLE1.rows([GROUNDED], made_of([*told, failed(GROUNDED, "d", Status.REFUSED)]))
    sheet = TABLE1.render(rows)
    cells = dict(zip(sheet.headings, sheet.body[0], strict=True))
    assert cells["Citation rate"] == "not known, 0.0000 to 1.0000"
    assert cells["Strict CCS"] == "not known, 0.0000 to 0.7500"
