"""A judge's errors and the share corrected for them: by hand, and against statsmodels where the judge is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from cfeval.stats.intervals import Interval
from cfeval.stats.misclassification import JudgeError, corrected_phi, judge_error, rogan_gladen, youden
from cfeval.stats.proportions import Share, share, wilson

JUDGED = [1.0] * 45 + [0.0] * 5 + [1.0] * 6 + [0.0] * 24
TRUTH = [1.0] * 50 + [0.0] * 30


def known(sensitivity: float, specificity: float, items: float = 1e12) -> JudgeError:
    return JudgeError(Share(sensitivity, 0, items), Share(specificity, 0, items))


def test_sensitivity_and_specificity_by_hand() -> None:
    assert judge_error(JUDGED, TRUTH) == JudgeError(share([1] * 45 + [0] * 5), share([1] * 24 + [0] * 6))


def test_items_of_one_image_count_as_little_as_they_should_on_each_side() -> None:
    error = judge_error(JUDGED * 20, TRUTH * 20, [str(index) for index in range(800)] * 2)
    assert error.sensitivity is not None
    assert error.specificity is not None
    assert (error.sensitivity.n, error.specificity.n) == (1000, 600)
    assert error.sensitivity.size == pytest.approx(500, rel=0.05)
    assert error.specificity.size == pytest.approx(300, rel=0.05)


def test_a_side_without_items_is_unknown_and_so_is_the_corrected_share() -> None:
    error = judge_error([1, 0], [1, 1])
    assert error.specificity is None
    assert error.sensitivity is not None
    assert wilson(error.sensitivity, 0.95).value == 0.5
    found = rogan_gladen(share([1, 0]), error, 0.95)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "deserves a zero" in found.note


def test_what_is_not_0_or_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0 or 1, but got 0.5"):
        judge_error([0.5], [1])
    with pytest.raises(ValueError, match="shorter"):
        judge_error([1, 0], [1])


def test_the_corrected_share_by_hand() -> None:
    """(.5 + .8 − 1) / (.9 + .8 − 1) = 3 / 7."""
    found = rogan_gladen(share([1, 0] * 60), judge_error(JUDGED, TRUTH), 0.95)
    assert found.value == pytest.approx(3 / 7)
    assert (found.n, found.method, found.note) == (120, "Lang-Reiczigel 95 %", "")


def test_the_interval_of_lang_and_reiczigel_worked_out_by_hand() -> None:
    """46 of 96 are ones; the judge was right on 89 of 98 that deserve a one, and on 39 of 48 that deserve a zero.

    With z = 2 (Lang and Reiczigel 2014, Section 2.3), every step a short decimal:

        p  = (46 + z²/2) / (96 + z²) = 48/100 = .48     Se = (89 + 1) / (98 + 2) = .9, of 100
        Sp = (39 + 1) / (48 + 2) = .8, of 50            J = .9 + .8 − 1 = .7
        π  = (.48 + .8 − 1) / .7 = .4
        shift = 2 z² (π Se (1 − Se) / 100 − (1 − π) Sp (1 − Sp) / 50) = 8 (.00036 − .00192) = −.01248
        variance · J² = .48 · .52 / 100 + π² · .09 / 100 + (1 − π)² · .16 / 50 = .002496 + .000144 + .001152 = .003792
        limits = .4 − .01248 ± 2 √.003792 / .7 = .38752 ± .1759406 = .2115794 and .5634606
    """
    judge = JudgeError(Share(89 / 98, 98, 98), Share(39 / 48, 48, 48))
    found = rogan_gladen(Share(46 / 96, 96, 96), judge, level=0.9544997361)
    assert (found.low, found.high) == pytest.approx((0.2115794, 0.5634606), abs=1e-6)


def test_more_ones_than_zeros_among_what_is_known_shift_the_interval_the_other_way() -> None:
    """The mirror image: ones and zeros, sensitivity and specificity change places, and so do the limits."""
    judge = JudgeError(Share(39 / 48, 48, 48), Share(89 / 98, 98, 98))
    found = rogan_gladen(Share(50 / 96, 96, 96), judge, level=0.9544997361)
    assert (found.low, found.high) == pytest.approx((1 - 0.5634606, 1 - 0.2115794), abs=1e-6)


def lang_reiczigel(ones: int, n: int, hits: int, n1: int, spared: int, n0: int, level: float) -> tuple[float, float]:
    """The paper's formulas from counts, as its authors' script has them, cut off at 0 and 1."""
    z = stats.norm.ppf((1 + level) / 2)
    p, se, sp = (ones + z**2 / 2) / (n + z**2), (hits + 1) / (n1 + 2), (spared + 1) / (n0 + 2)
    true = (p + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / (n1 + 2), sp * (1 - sp) / (n0 + 2)
    error = np.sqrt(p * (1 - p) / (n + z**2) + of_se * true**2 + of_sp * (1 - true) ** 2) / abs(se + sp - 1)
    shift = 2 * z**2 * (true * of_se - (1 - true) * of_sp)
    low, high = np.clip([true + shift - z * error, true + shift + z * error], 0, 1)
    return float(low), float(high)


@given(
    counts=st.tuples(*[st.tuples(st.integers(5, 200), st.floats(0, 1))] * 3), level=st.sampled_from([0.8, 0.95, 0.99])
)
def test_it_is_the_interval_of_the_paper_for_any_counts(counts: tuple[tuple[int, float], ...], level: float) -> None:
    """At the ends of the scale with Wilson's of as many zeros, or ones, beside it."""
    (n, a), (n1, b), (n0, c) = counts
    ones, hits, spared = round(n * a), round(n1 * (1 - b / 3)), round(n0 * (1 - c / 3))
    judge = JudgeError(Share(hits / n1, n1, n1), Share(spared / n0, n0, n0))
    found = rogan_gladen(Share(ones / n, n, n), judge, level)
    if found.value is None:
        return
    low, high = lang_reiczigel(ones, n, hits, n1, spared, n0, level)
    if found.value in (0, 1):
        end = proportion_confint(n * found.value, n, 1 - level, method="wilson")
        low, high = min(low, end[0]), max(high, end[1])
    expected = (min(low, found.value), max(high, found.value))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_with_a_judge_who_never_errs_it_is_the_interval_of_agresti_and_coull() -> None:
    low, high = proportion_confint(37, 120, alpha=0.1, method="agresti_coull")
    found = rogan_gladen(share([1] * 37 + [0] * 83), known(1, 1), 0.9)
    assert found.value == pytest.approx(37 / 120)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_with_large_samples_it_is_the_interval_of_the_delta_method() -> None:
    observed, sensitivity, specificity, items = 0.4, 0.9, 0.75, 40_000
    value = (observed + specificity - 1) / 0.65
    variance = observed * 0.6 + value**2 * sensitivity * 0.1 + (1 - value) ** 2 * specificity * 0.25
    half = 1.96 * np.sqrt(variance / items) / 0.65
    found = rogan_gladen(Share(observed, items, items), known(sensitivity, specificity, items), 0.95)
    assert (found.low, found.high) == pytest.approx((value - half, value + half), abs=2e-4)


def test_less_knowledge_of_the_judge_makes_the_interval_wider() -> None:
    widths = []
    for items in (1e9, 1000, 200, 50):
        found = rogan_gladen(Share(0.6, 400, 400), known(0.9, 0.85, items), 0.95)
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths)
    assert widths[-1] > 1.5 * widths[0]


@pytest.mark.parametrize("specificity", [0.3, 0.2])
def test_a_judge_no_better_than_chance_corrects_nothing(specificity: float) -> None:
    found = rogan_gladen(share([1, 0]), known(0.7, specificity), 0.95)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "not shown to be better than chance" in found.note


def test_a_judge_who_may_be_no_better_than_chance_corrects_nothing_and_the_note_says_how_bad_it_may_be() -> None:
    found = rogan_gladen(share([1, 0] * 50), known(0.7, 0.5, 20), 0.95)
    assert (found.value, found.low, found.high) == (None, None, None)
    low = youden(Share(0.7, 20, 20), Share(0.5, 20, 20), 0.95).low
    assert found.note.endswith(f"sensitivity + specificity − 1 is 0.20, its lower limit −{-(low or 0):.2f}")
    assert rogan_gladen(share([1, 0] * 50), known(0.7, 0.5, 400), 0.95).value is not None


@pytest.mark.parametrize(("hits", "passes"), [(45, 24), (50, 30), (10, 0), (0, 30)])
def test_youdens_interval_is_newcombes_of_a_difference(hits: int, passes: int) -> None:
    found = youden(share([1] * hits + [0] * (50 - hits)), share([1] * passes + [0] * (30 - passes)), 0.95)
    low, high = confint_proportions_2indep(hits, 50, 30 - passes, 30, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.low or 0) < (found.high or 0)


def test_a_corrected_share_at_the_end_of_the_scale_has_an_interval_with_a_width() -> None:
    """No ones at all by a judge whose false alarms were 15 of 100: cut at 0 on both sides there was none."""
    for ones, at in ((0, 0.0), (100, 1.0)):
        observed = Share(ones / 100, 100, 100.0)
        found = rogan_gladen(observed, JudgeError(Share(0.85, 100, 100.0), Share(0.85, 100, 100.0)), 0.95)
        assert found.value == at
        assert found.low is not None
        assert found.high is not None
        alone = wilson(observed, 0.95)
        assert found.low <= alone.low < alone.high <= found.high  # type: ignore[operator]


def test_a_share_that_the_judges_errors_cannot_explain_is_cut_off_with_a_note() -> None:
    found = rogan_gladen(share([1] * 2 + [0] * 98), known(0.9, 0.8, 100), 0.95)
    assert (found.value, found.low) == (0, 0)
    assert "cut off from -0.2571" in found.note
    assert rogan_gladen(share([1] * 98 + [0] * 2), known(0.8, 0.9, 100), 0.95).high == 1


def test_the_limits_of_phi_leave_half_of_what_the_level_leaves_on_either_side() -> None:
    """Of a large sample they are a normal distribution's: 1.96 standard errors at 95 %, .994 at 68 %."""
    rng = np.random.default_rng(5)
    rows = [(str(number), float(x), float(rng.random() < 0.3 + 0.4 * x)) for number, x in enumerate([0, 1] * 300)]
    known = [(str(number), float(t), float(rng.random() < 0.1 + 0.8 * t)) for number, t in enumerate([0, 1] * 300)]
    widths = []
    for level in (0.68, 0.95):
        found = corrected_phi(rows, known, Interval(method="bootstrap", level=level, resamples=4000, seed=1))[1]
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[1] / widths[0] == pytest.approx(1.96 / 0.994, rel=0.05)
