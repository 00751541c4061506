"""The calibration table: expectation, difference, tolerance."""

from cfeval.records.common import Status
from cfeval.tables import edct_calibration
from tests.tables.study import GROUNDED, HOW, arm, failed, scores

KNOWN = {"grounded": 0.0, "mixed-50": 0.5, "prior": 1.0}
MIXED, PRIOR = arm(vlm="mixed-50"), arm(vlm="prior")


def test_the_expectation_is_one_minus_p_of_the_grounded_target() -> None:
    given = [*scores(GROUNDED, 96, 4), *scores(MIXED, 43, 57), *scores(PRIOR, 0, 100)]
    grounded, mixed, prior = edct_calibration.rows([GROUNDED, MIXED, PRIOR], given, HOW, KNOWN)
    assert (grounded.expected, grounded.difference, grounded.within_05) == (0.96, 0, 1)
    assert (mixed.expected, mixed.ccs, mixed.difference, mixed.within_05) == (0.48, 0.43, -0.05, 1)
    assert (prior.expected, prior.ccs, prior.within_05) == (0, 0, 1)


def test_beyond_the_tolerance_is_said() -> None:
    given = [*scores(GROUNDED, 100, 0), *scores(MIXED, 44, 56)]
    assert edct_calibration.rows([GROUNDED, MIXED], given, HOW, KNOWN)[1].within_05 == 0


def test_only_targets_with_a_known_share_are_shown() -> None:
    other = arm(vlm="easy-vqa", dataset="easy_vqa")
    found = edct_calibration.rows([GROUNDED, other], [*scores(GROUNDED, 1, 0), *scores(other, 1, 0)], HOW, KNOWN)
    assert [row.vlm for row in found] == ["grounded"]


def test_each_judge_and_editor_has_its_own_expectation() -> None:
    lexical, mixed = arm(judge="lexical"), arm(vlm="mixed-50", judge="lexical")
    given = [*scores(GROUNDED, 10, 0), *scores(lexical, 6, 4), *scores(mixed, 3, 7)]
    assert edct_calibration.rows([GROUNDED, lexical, mixed], given, HOW, KNOWN)[2].expected == 0.3


def test_without_the_faithful_target_there_is_no_expectation() -> None:
    (row,) = edct_calibration.rows([MIXED], scores(MIXED, 1, 1), HOW, KNOWN)
    assert row.expected is row.difference is row.within_05 is None


def test_without_a_scored_item_there_is_an_expectation_and_no_difference() -> None:
    given = [*scores(GROUNDED, 4, 0), failed(MIXED, "a", Status.REFUSED)]
    row = edct_calibration.rows([GROUNDED, MIXED], given, HOW, KNOWN)[1]
    assert (row.expected, row.difference, row.within_05) == (0.5, None, None)


def test_the_sheet_says_that_the_targets_are_no_real_models() -> None:
    sheet = edct_calibration.sheet(edct_calibration.rows([GROUNDED], scores(GROUNDED, 1, 0), HOW, KNOWN))
    assert sheet.notes[-1].startswith("† built-in test target")
    assert len(sheet.headings) == len(sheet.body[0])
