"""Items as the unit: chains, missing edits, bounds, images as clusters."""

from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.edct.records import Score
from cfeval.edct.tables.conditions import bench_rows
from cfeval.edct.tables.scores import counts, extremes, missing, values
from cfeval.stats.intervals import Interval, estimate, mean_of
from tests.edct.tables.study import GROUNDED, HOW, chain, condition, made_of, rows_of, score

BENCH = condition(protocol="edct-bench-2026")
EDITS = st.lists(st.sampled_from([0, 1, Status.REFUSED, Status.NO_IMAGE]), min_size=1, max_size=3)
STUDIES = st.lists(EDITS, min_size=1, max_size=8).map(
    lambda of: [row for number, edits in enumerate(of) for row in chain(BENCH, f"i{number}", *edits)]
)


def test_the_mean_is_over_an_items_edits_first_and_then_over_items() -> None:
    given_ = [*chain(BENCH, "a", 1, 0), *chain(BENCH, "b", 1)]
    assert [value.value for value in values(rows_of(given_), "ccs")] == [0.5, 1]
    assert mean_of(values(rows_of(given_), "ccs")) == 0.75


def test_an_item_of_which_one_edit_failed_counts_with_the_other_and_its_bounds_are_wide() -> None:
    given_ = [*chain(BENCH, "a", 1, Status.EDIT_INVALID), *chain(BENCH, "b", 0, 1)]
    assert mean_of(values(rows_of(given_), "ccs")) == 0.75
    assert extremes(rows_of(given_), "ccs") == (0.5, 0.75)
    assert counts(rows_of(given_)) == {"n": 2, "n_scored": 2, "missing": "edit_invalid 1"}


def test_a_row_of_the_2026_protocol_tells_items_edits_and_grades() -> None:
    given_ = [
        *chain(BENCH, "a", 1, 0, ccs_graded=0.75),
        *chain(BENCH, "b", 1, Status.REFUSED),
        *chain(BENCH, "c", Status.NO_IMAGE, Status.NO_IMAGE),
    ]
    (row,) = bench_rows([BENCH], made_of(given_))
    assert (row.n, row.n_scored, row.n_edits, row.n_edits_scored) == (3, 2, 6, 3)
    assert (row.ac, row.ef, row.ccs) == (0.75, 1, 0.75)
    assert (row.ccs_graded, row.n_graded) == (0.75, 1)
    assert (row.ccs_min, row.ccs_max) == (0.3333, 0.8333)
    assert row.missing == "no_image 2, refused 1"


def test_reasons_stand_with_the_commonest_first_and_equal_ones_by_name() -> None:
    given_ = [*chain(GROUNDED, "a", Status.TRUNCATED), *chain(GROUNDED, "b", Status.REFUSED, Status.MODERATED)]
    assert missing(rows_of([*given_, *chain(GROUNDED, "c", Status.TRUNCATED)])) == "truncated 2, moderated 1, refused 1"


def test_two_items_of_one_image_are_less_evidence_than_two_of_two() -> None:
    bits = [1, 1, 0, 0] * 8
    apart = values(rows_of([score(GROUNDED, f"i{n:02d}", bit) for n, bit in enumerate(bits)]), "ccs")
    together = values(
        rows_of([score(GROUNDED, f"i{n:02d}", bit, cluster=f"image{n // 2}") for n, bit in enumerate(bits)]), "ccs"
    )
    for method in ("bootstrap", "wilson"):
        one, other = (estimate(of, Interval(method=method, resamples=500)) for of in (apart, together))
        assert None not in (one.low, one.high, other.low, other.high)
        assert other.value == one.value
        assert other.high - other.low > 1.2 * (one.high - one.low)  # type: ignore[operator]
        assert other.method == f"clustered {one.method}"


def test_where_nothing_was_scored_there_is_no_figure_and_no_method() -> None:
    found = estimate([], HOW)
    assert (found.value, found.low, found.high, found.method) == (None, None, None, "")


@given(STUDIES)
def test_the_mean_of_what_was_scored_lies_within_the_bounds(study: list[Score]) -> None:
    least, most = extremes(rows_of(study), "ccs")
    told = [value.value for value in values(rows_of(study), "ccs")]
    assert 0 <= least <= most <= 1
    assert not told or least - 1e-9 <= sum(told) / len(told) <= most + 1e-9


@given(STUDIES, st.sampled_from([0, 1]))
def test_bounds_hold_whatever_the_missing_scores_would_have_been(study: list[Score], bit: int) -> None:
    least, most = extremes(rows_of(study), "ccs")
    filled = [row if row.status == Status.OK else score(BENCH, row.id, bit, edit=row.edit) for row in study]
    found = sum(value.value for value in values(rows_of(filled), "ccs")) / len({row.id for row in study})
    assert abs(found - (most if bit else least)) < 1e-9
