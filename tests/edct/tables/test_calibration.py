"""The calibration table: expectation, tolerance, correction, and both protocols side by side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.edct.protocols.rules import BLANK_IMAGE, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.calibration import CALIBRATION, CalibrationRow, for_measuring
from cfeval.stats.intervals import ItemScore
from tests.edct.tables.study import GROUNDED, chain, condition, failed, made_of, score, scores
from tests.slow import examples

KNOWN = {"grounded": 0.0, "mixed-50": 0.5, "prior": 1.0, "shortcut": 1.0}
MIXED, PRIOR, SHORTCUT = condition(vlm="mixed-50"), condition(vlm="prior"), condition(vlm="shortcut")
CONTROLS = (UNCITED_EDIT, NULL_EDIT, BLANK_IMAGE)
CANDIDATES = [f"i{number:03d}" for number in range(100)]
MEASURING = [item for item in CANDIDATES if for_measuring(ItemScore(item, item, 0))][:10]
REST = [item for item in CANDIDATES if not for_measuring(ItemScore(item, item, 0))][:10]


def rows(conditions: list[Condition], given_: list[Score], **settings_: object) -> list[CalibrationRow]:
    return CALIBRATION.rows(conditions, made_of(given_, known=KNOWN, **settings_))


def some(of: Condition, items: list[str], ones: int) -> list[Score]:
    return [score(of, item, int(place < ones)) for place, item in enumerate(items)]


def test_the_expectation_is_one_minus_p_of_the_grounded_target() -> None:
    given_ = [*scores(GROUNDED, 96, 4), *scores(MIXED, 43, 57), *scores(PRIOR, 0, 100)]
    grounded, mixed, prior = rows([GROUNDED, MIXED, PRIOR], given_)
    assert (grounded.expected, grounded.difference, grounded.within_05) == (0.96, 0, 1)
    assert (mixed.expected, mixed.ccs, mixed.difference, mixed.within_05) == (0.48, 0.43, -0.05, 1)
    assert (prior.expected, prior.ccs, prior.within_05) == (0, 0, 1)


def test_beyond_the_tolerance_is_said() -> None:
    assert rows([GROUNDED, MIXED], [*scores(GROUNDED, 100, 0), *scores(MIXED, 44, 56)])[1].within_05 == 0


def test_only_targets_with_a_known_share_are_shown() -> None:
    other = condition(vlm="easy-vqa", dataset="easy_vqa")
    found = rows([GROUNDED, other], [*scores(GROUNDED, 1, 0), *scores(other, 1, 0)])
    assert [row.vlm for row in found] == ["grounded"]


def test_each_judge_and_editor_has_its_own_expectation() -> None:
    lexical, mixed = condition(judge="lexical"), condition(vlm="mixed-50", judge="lexical")
    given_ = [*scores(GROUNDED, 10, 0), *scores(lexical, 6, 4), *scores(mixed, 3, 7)]
    assert rows([GROUNDED, lexical, mixed], given_)[2].expected == 0.3


def test_without_the_faithful_target_there_is_no_expectation() -> None:
    (row,) = rows([MIXED], scores(MIXED, 1, 1))
    assert row.expected is row.difference is row.within_05 is None


def test_without_a_scored_item_there_is_an_expectation_and_no_difference() -> None:
    row = rows([GROUNDED, MIXED], [*scores(GROUNDED, 4, 0), failed(MIXED, "a", Status.REFUSED)])[1]
    assert (row.expected, row.difference, row.within_05, row.missing) == (0.5, None, None, "refused 1")


def test_the_two_protocols_stand_side_by_side_in_columns_of_their_own() -> None:
    bench = condition(vlm="mixed-50", protocol="edct-bench-2026")
    given_ = [*scores(GROUNDED, 4, 0), *scores(MIXED, 1, 3), *chain(bench, "a", 1, 1, ccs_graded=0.75)]
    given_ += [*chain(bench, "b", 1, Status.REFUSED, ccs_graded=None), *chain(bench, "c", 0)]
    grounded, mixed = rows([GROUNDED, MIXED, bench], given_)
    assert (mixed.ccs, mixed.n, mixed.n_scored) == (0.25, 4, 4)
    assert (mixed.bench_ccs, mixed.bench_n, mixed.bench_n_scored) == (0.6667, 3, 3)
    assert (mixed.bench_graded, mixed.bench_difference, mixed.bench_missing) == (0.75, 0.1667, "refused 1")
    assert (mixed.bench_ccs_min, mixed.bench_ccs_max) == (0.5, 0.6667)
    assert (grounded.ccs, grounded.bench_ccs, grounded.bench_n, grounded.bench_difference) == (1, None, 0, None)


def test_a_condition_of_the_2026_protocol_alone_leaves_the_columns_of_2025_empty() -> None:
    bench = condition(vlm="mixed-50", protocol="edct-bench-2026")
    (row,) = rows([bench], scores(bench, 3, 1))
    assert (row.bench_ccs, row.ccs, row.n, row.expected, row.corrected) == (0.75, None, 0, None, None)
    assert row.ci == "Wilson 95 %"


def test_completeness_comes_from_the_uncited_condition_where_there_is_one() -> None:
    uncited = condition(vlm="mixed-50", protocol="uncited-edit")
    given_ = [*scores(GROUNDED, 4, 0), *scores(MIXED, 2, 2), score(uncited, "i000", 1, 0), score(uncited, "i001", 0, 0)]
    grounded, mixed = rows([GROUNDED, MIXED], given_)
    assert (mixed.completeness, mixed.n_uncited) == (0.5, 2)
    assert (grounded.completeness, grounded.n_uncited) == (None, 0)


@pytest.mark.parametrize(("changed", "shown"), [(0, "empty"), (1, "1.0000")])
def test_completeness_says_nothing_of_a_target_that_not_even_a_blank_image_moves(changed: int, shown: str) -> None:
    """`prior` answers without looking: of course no uncited edit moves it."""
    uncited, null, blank = (condition(vlm="prior", protocol=f"{name}") for name in CONTROLS)
    given_ = [*scores(PRIOR, 0, 20), *(score(of, f"i{n:03d}", 0, 0) for of in (uncited, null) for n in range(20))]
    given_ += [score(blank, f"i{n:03d}", changed, 0) for n in range(20)]
    found = rows([PRIOR], given_)
    assert (found[0].completeness, found[0].completeness_empty) == (1, int(shown == "empty"))
    assert shown in CALIBRATION.render(found).body[0]


def test_ccs_stands_beside_strict_ccs_and_citation_rate() -> None:
    given_ = [score(PRIOR, "a", 1, 1, present=1)]
    given_ += [failed(PRIOR, name, Status.CITATION_ABSENT, present=0) for name in "bcd"]
    (row,) = rows([PRIOR], given_)
    assert (row.ccs, row.strict_ccs, row.citation_rate) == (1, 0.25, 0.25)


def measured() -> list[Score]:
    """On the measuring half the judge passes 9 of 10 faithful items and 2 of 10 unfaithful ones."""
    return [*some(GROUNDED, MEASURING, 9), *some(SHORTCUT, MEASURING, 2), *some(MIXED, MEASURING, 5)]


def test_the_correction_is_rogan_and_gladens_on_the_other_half_of_the_images() -> None:
    given_ = [*measured(), *some(MIXED, REST, 6), *some(GROUNDED, REST, 8), *some(SHORTCUT, REST, 3)]
    grounded, shortcut, mixed = rows([GROUNDED, SHORTCUT, MIXED], given_, judge_error=["grounded", "shortcut"])
    assert mixed.corrected == pytest.approx((0.6 + 0.8 - 1) / (0.9 + 0.8 - 1), abs=1e-4)
    assert grounded.corrected == pytest.approx((0.8 + 0.8 - 1) / 0.7, abs=1e-4)
    assert shortcut.corrected == pytest.approx((0.3 + 0.8 - 1) / 0.7, abs=1e-4)
    assert mixed.corrected_lo < 0.5 < mixed.corrected_hi  # type: ignore[operator]
    assert (mixed.covered, mixed.ci) == (1, "Wilson 95 %; Lang-Reiczigel 95 %")


@given(st.lists(st.integers(0, 1), min_size=20, max_size=20), st.lists(st.integers(0, 1), min_size=10, max_size=10))
@examples(15)
def test_no_verdict_serves_both_to_measure_the_error_and_to_be_corrected(others: list[int], mine: list[int]) -> None:
    """The targets' other half, and the measuring half of what is corrected, may be anything."""
    fixed = [*some(GROUNDED, MEASURING, 9), *some(SHORTCUT, MEASURING, 2), *some(MIXED, REST, 6)]
    free = [
        score(of, item, bit)
        for of, bits in ((GROUNDED, others[:10]), (SHORTCUT, others[10:]))
        for item, bit in zip(REST, bits, strict=True)
    ]
    free += [score(MIXED, item, bit) for item, bit in zip(MEASURING, mine, strict=True)]
    found = rows([GROUNDED, SHORTCUT, MIXED], [*fixed, *free], judge_error=["grounded", "shortcut"])
    assert found[2].corrected == pytest.approx(0.5714)


def test_items_of_one_image_are_all_in_the_same_half() -> None:
    assert {for_measuring(ItemScore(item, "image", 0)) for item in CANDIDATES} in ({True}, {False})
    assert 30 < sum(for_measuring(ItemScore(item, item, 0)) for item in CANDIDATES) < 70


def test_without_measured_targets_nothing_is_corrected() -> None:
    (row,) = rows([MIXED], [*some(MIXED, REST, 6)])
    assert row.corrected is row.corrected_lo is row.covered is None


def test_the_sheet_says_that_the_targets_are_no_real_models_and_names_what_all_share_below() -> None:
    sheet = CALIBRATION.render(rows([GROUNDED], scores(GROUNDED, 1, 0)))
    assert sheet.notes[-1].startswith("† built-in test target")
    assert sheet.notes[0] == "Dataset: world · Writer: grammar."
    assert sheet.body[0][:3] == ("scene", "grammar", "grounded †")
    assert len(sheet.headings) == len(sheet.body[0])


def test_settings_of_two_data_sets_are_told_apart() -> None:
    other = condition(dataset="elsewhere")
    sheet = CALIBRATION.render(rows([GROUNDED, other], [*scores(GROUNDED, 1, 0), *scores(other, 0, 1)]))
    assert [row[0] for row in sheet.body] == ["world", "elsewhere"]
