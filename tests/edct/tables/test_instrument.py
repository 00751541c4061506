"""The instrument's table: the judge's error, discrimination, errors of the figures."""

from collections.abc import Sequence

from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.calibration import INSTRUMENT, InstrumentRow
from tests.edct.tables.study import GROUNDED, chain, condition, failed, made_of, score, scores

KNOWN = {"grounded": 0.0, "mixed-50": 0.5, "shortcut": 1.0, "prior": 1.0}
MIXED, SHORTCUT, PRIOR = (condition(vlm=vlm) for vlm in ("mixed-50", "shortcut", "prior"))
GIVEN = [*scores(GROUNDED, 9, 1), *scores(SHORTCUT, 2, 8), *scores(MIXED, 6, 4)]


def rows(
    given: list[Score], conditions: Sequence[Condition] = (GROUNDED, SHORTCUT, MIXED), **more: object
) -> list[InstrumentRow]:
    settings = {"known": KNOWN, "judge_error": ["grounded", "shortcut"]} | more
    return INSTRUMENT.rows(conditions, made_of(given, **settings))


def test_sensitivity_and_specificity_are_of_the_faithful_and_the_unfaithful_target() -> None:
    (row,) = rows(GIVEN)
    assert (row.sensitivity, row.n_faithful, row.specificity, row.n_unfaithful) == (0.9, 10, 0.8, 10)
    assert (row.sensitivity_lo, row.sensitivity_hi) == (0.5958, 0.9821)
    assert (row.measured_on, row.n_targets, row.n, row.n_scored) == ("grounded, shortcut", 3, 30, 30)


def test_the_auc_counts_pairs_of_a_faithful_and_an_unfaithful_item_and_half_of_the_ties() -> None:
    (row,) = rows(GIVEN)
    assert row.auc == 0.85  # .9 · .8 + (.9 · .2 + .1 · .8) / 2
    assert row.auc_lo < 0.85 < row.auc_hi  # type: ignore[operator]
    assert row.ci == "Wilson 95 %; clustered DeLong (logit) 95 %"  # every target has the same items
    assert row.auc_graded is None


def test_where_the_judge_corrects_nothing_the_row_says_why() -> None:
    (row,) = rows([*scores(GROUNDED, 2, 1), *scores(SHORTCUT, 1, 2)], (GROUNDED, SHORTCUT))
    assert row.error_corrected is None
    assert "the judge " in (row.note or "")


def test_the_auc_rests_on_every_target_that_is_always_unfaithful() -> None:
    (row,) = rows([*GIVEN, *scores(PRIOR, 10, 0)], (GROUNDED, SHORTCUT, PRIOR))
    assert row.auc == 0.65  # .85 with one half of the unfaithful items, .45 with the other
    assert row.specificity == 0.8


def test_errors_are_distances_from_one_minus_p_and_the_worst_target_is_named() -> None:
    (row,) = rows(GIVEN)
    assert (row.error, row.worst_error, row.worst_target) == (0.1333, 0.2, "shortcut")


def test_what_confabulates_passes_under_the_2026_protocol_and_the_row_says_so() -> None:
    conditions = tuple(condition(vlm=vlm, protocol="edct-bench-2026") for vlm in ("grounded", "shortcut", "prior"))
    given = [*scores(conditions[0], 10, 0), *scores(conditions[1], 0, 10), *scores(conditions[2], 10, 0)]
    (row,) = rows(given, conditions)
    assert (row.worst_target, row.worst_error, row.auc) == ("prior", 1, 0.75)


def test_an_item_of_several_edits_is_taken_for_faithful_where_all_of_them_held() -> None:
    bench = [condition(vlm=vlm, protocol="edct-bench-2026") for vlm in ("grounded", "shortcut")]
    given = [*chain(bench[0], "a", 1, 1), *chain(bench[0], "b", 1, 0), *chain(bench[1], "a", 1, 0)]
    (row,) = rows(given, tuple(bench))
    assert (row.sensitivity, row.specificity) == (0.5, 1)


def test_grades_tell_apart_what_bits_do_not() -> None:
    bench = [condition(vlm=vlm, protocol="edct-bench-2026") for vlm in ("grounded", "shortcut")]
    given = [score(bench[0], item, ccs_graded=1) for item in "ab"] + [score(bench[1], i, ccs_graded=0.5) for i in "ab"]
    (row,) = rows(given, tuple(bench))
    assert (row.auc, row.auc_graded) == (0.5, 1)


def test_each_setting_has_a_row_and_a_judge_that_scored_nothing_has_no_figures() -> None:
    blind = [one.model_copy(update={"judge": "blind"}) for one in (GROUNDED, SHORTCUT)]
    given = [*GIVEN, *(failed(one, "a", Status.UNPARSABLE) for one in blind)]
    first, second = rows(given, (GROUNDED, SHORTCUT, *blind))
    assert (first.judge, second.judge) == ("grammar", "blind")
    assert second.sensitivity is second.auc is second.error is second.error_half is second.error_corrected is None
    assert (second.n, second.n_scored, second.missing) == (2, 0, "unparsable 2")
    sheet = INSTRUMENT.render([first, second])
    assert {len(line) for line in sheet.body} == {len(sheet.headings)}


def test_targets_of_which_nothing_is_known_are_left_aside() -> None:
    assert rows(GIVEN, (condition(vlm="real"),)) == []
