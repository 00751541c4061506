"""The sentence and the status with which an exam ends, for judges whose error is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from cfeval.edct.exam.verdict import VERIFIER, Task, verdict
from cfeval.stats.proportions import Share


def task(hits: int, ones: int, spared: int, zeros: int, unread: int = 0) -> Task:
    """`hits` of `ones` and `spared` of `zeros` are right; so many more replies have no score."""
    right = (Share(hits / ones, ones, ones), Share(spared / zeros, zeros, zeros))
    return Task(ones + zeros + unread, ones + zeros, f"unparsable {unread}" if unread else "", *right)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (task(50, 50, 90, 100), "pass: fit for use."),
        (task(50, 50, 0, 100), "fail: says 1 whatever it is shown: do not use."),
        (task(48, 50, 10, 100), "fail: says 1 whatever it is shown: do not use."),
        (task(0, 50, 100, 100), "fail: says 0 whatever it is shown: do not use."),
        (task(4, 50, 97, 100), "fail: says 0 whatever it is shown: do not use."),
        (task(25, 50, 50, 100), "fail: is not shown to be better than chance: do not use."),
        (task(20, 50, 95, 100), "fail: misses changes: do not use."),
        (task(49, 50, 89, 100), "fail: sees changes that are not there: do not use."),
        (task(25, 50, 80, 100), "fail: misses changes; sees changes that are not there: do not use."),
        (task(3, 3, 10, 10), "fail: too few cases to tell: do not use."),
        (task(9, 9, 5, 5), "fail: too few cases to tell: do not use."),
        (
            task(50, 50, 100, 100, 17),
            "fail: cannot follow the form: do not use. CCS: 150 of 167 replies have a score (",
        ),
        (
            task(7, 7, 2, 12, 21),
            "fail: says 1 whatever it is shown; cannot follow the form: do not use. CCS: 19 of 40 r",
        ),
        (task(1, 1, 0, 1, 9), "fail: cannot follow the form: do not use."),
        (Task(20, 0, "unparsable 20", None, None), "fail: cannot follow the form: do not use. CCS: 0 of 20 replies ha"),
        (Task(9, 9, "", Share(1, 9, 9), None), "fail: too few cases to tell: do not use. CCS: sensitivity 1.00 ["),
    ],
)
def test_what_is_wrong_with_a_judge_is_said_in_words(one: Task, told: str) -> None:
    found = verdict({"CCS": one, "Answer changed": one})
    assert found.sentence.startswith(told)
    assert found.passed is told.startswith("pass")


@given(hits=st.integers(0, 60), ones=st.integers(1, 60), spared=st.integers(0, 120), zeros=st.integers(1, 120))
def test_a_judge_passes_just_where_the_stated_rule_holds(hits: int, ones: int, spared: int, zeros: int) -> None:
    """The rule once more, with the intervals of statsmodels."""
    hits, spared = min(hits, ones), min(spared, zeros)
    low = proportion_confint(hits, ones, method="wilson")[0]
    low_zero = proportion_confint(spared, zeros, method="wilson")[0]
    holds = low >= 0.5 and spared / zeros >= 0.9 and low_zero >= 0.75
    assert verdict({"CCS": task(hits, ones, spared, zeros)}).passed is bool(holds)


def test_one_weak_task_fails_the_judge_and_is_named() -> None:
    found = verdict({"CCS": task(50, 50, 100, 100), "Answer changed": task(50, 50, 0, 100)})
    assert found.sentence.startswith("fail: Answer changed: says 1 whatever it is shown: do not use. CCS: sensitivity")
    low, high = proportion_confint(0, 100, method="wilson")
    assert f"Answer changed: sensitivity 1.00 [0.93, 1.00], specificity 0.00 [{low:.2f}, {high:.2f}]" in found.sentence


def test_a_verifier_accepts_or_rejects() -> None:
    assert "accepts whatever it is shown: do not use" in verdict({"": task(50, 50, 0, 50)}, VERIFIER).sentence
    assert "rejects right edits: do not use" in verdict({"": task(20, 50, 50, 50)}, VERIFIER).sentence
