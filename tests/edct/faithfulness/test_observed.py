"""The measures of a condition's items: figures worked out by hand on small cases."""

from collections.abc import Callable
from typing import Any

import pytest

from cfeval.edct.faithfulness.observed import (
    Observed,
    Tried,
    causal_effect,
    ccs_where,
    changed,
    completeness,
    effect_alignment,
    effect_contrast,
    f_auroc,
    fit,
    mean_breadth,
    net_effect,
    phi,
    phi_cct,
    rate,
    strict_ccs,
)
from cfeval.stats.estimates import exact

PASSES: dict[str, Any] = {"present": True, "cited": True, "uncited_object": False, "uncited_background": False}


def item(name: str = "i", **fields: Any) -> Observed:
    """An item about an image of its own."""
    return Observed(name, name, **fields)


def items(**columns: str) -> list[Observed]:
    """Items by columns: 1 for true, 0 for false, - for what is not known."""
    bits = {"1": True, "0": False, "-": None}
    rows = zip(*columns.values(), strict=True)
    return [item(f"i{n}", **{k: bits[v] for k, v in zip(columns, row, strict=True)}) for n, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, True),
        ({"null": True, "blank": False}, True),
        ({"present": False}, False),
        ({"cited": False}, False),
        ({"uncited_object": True}, False),
        ({"uncited_background": True}, False),
        ({"uncited_object": None}, True),
        ({"uncited_object": None, "uncited_background": None}, True),
        ({"present": None}, None),
        ({"cited": None}, None),
        ({"cited": None, "present": False}, False),
        ({"uncited_object": None, "lost": frozenset({"uncited_object"})}, None),
        ({"uncited_object": None, "lost": frozenset({"uncited_object"}), "uncited_background": True}, False),
        ({"cited": None, "lost": frozenset({"cited"}), "uncited_object": True}, False),
        ({"lost": frozenset({"null", "blank"})}, True),
    ],
)
def test_fit_asks_for_all_of_it_and_is_open_only_where_what_was_lost_would_decide(
    other: dict[str, Any], expected: bool | None
) -> None:
    assert fit(item(**PASSES | other)) is expected


def test_the_rate_of_fit_rests_on_the_items_that_have_one() -> None:
    of = [item("a", **PASSES), item("b", **PASSES), item("c", **PASSES | {"cited": False}), item("d", present=True)]
    found = rate(of, fit)
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)
    assert found.low is not None and found.high is not None  # noqa: PT018
    assert 0.2 < found.low < 2 / 3 < found.high < 1, "Wilson's interval of 2 of 3"
    assert rate([item()], fit).value is None


def test_items_of_one_image_count_less() -> None:
    apart = [Observed(f"i{n}", f"image{n}", present=n < 20) for n in range(40)]
    together = [Observed(f"i{n}", f"image{n // 4}", present=n < 20) for n in range(40)]
    (one, other) = (rate(of, lambda each: each.present) for of in (apart, together))
    assert one.value == other.value == 0.5
    assert other.high - other.low > one.high - one.low  # type: ignore[operator]


def test_strict_ccs_counts_what_cites_something_absent_as_0() -> None:
    of = items(present="1110", ccs="110-")
    assert [strict_ccs(one) for one in of] == [True, True, False, False]


def test_the_effect_contrast_is_cited_and_there_less_the_greater_of_the_uncited_kinds() -> None:
    of = items(present="1111110", cited="111110-", uncited_object="1000000", uncited_background="110000-")
    found = effect_contrast(of)
    assert found.value == pytest.approx(5 / 7 - 2 / 6), "of seven items five; the background moves two of six"
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert effect_contrast(items(present="11", cited="11")).value is None


def test_completeness_is_over_edits() -> None:
    assert completeness(items(uncited_object="100-", uncited_background="11--")) == pytest.approx(1 - 3 / 5)
    assert completeness(items(cited="1")) is None


def test_the_net_effect_is_the_citation_rate_times_what_the_cited_edit_moves_beyond_the_floor() -> None:
    of = items(present="11111000", cited="11110---")
    assert net_effect(of, exact(0.0)).value == pytest.approx(5 / 8 * 4 / 5)
    assert net_effect(of, exact(0.2)).value == pytest.approx(5 / 8 * (4 / 5 - 0.2) / 0.8)
    assert net_effect(of, exact(0.2), ceiling=exact(0.9)).value == pytest.approx(5 / 8 * (4 / 5 - 0.2) / 0.7)
    assert net_effect(of, exact(0.0), made=0.9).value == pytest.approx(5 / 8 * (4 / 5) / 0.9)


def tried(cited: tuple[int, int], uncited: tuple[int, int], named: Callable[[bool], bool | None]) -> list[Observed]:
    """An item an edit: how many (changed, stayed) of cited things, and of others."""
    bits = [(True, True)] * cited[0] + [(True, False)] * cited[1] + [(False, True)] * uncited[0]
    bits += [(False, False)] * uncited[1]
    return [item(f"i{n}", edits=(Tried(c, moved, named(moved)),)) for n, (c, moved) in enumerate(bits)]


def test_phi_is_the_correlation_of_cited_and_changed_over_edits() -> None:
    of = tried((3, 1), (1, 3), named=lambda moved: moved)
    assert phi(of) == pytest.approx((4 * 4 - 1 - 7) / 16), "(8 · 3 − 4 · 4) / √(4 · 4 · 4 · 4)"
    assert phi_cct(of) == pytest.approx(1.0), "the explanation names what changed the answer"
    assert causal_effect(of) == 0.5
    assert phi(tried((2, 2), (0, 0), named=lambda moved: True)) is None, "everything is cited"
    assert phi(tried((2, 0), (2, 0), named=lambda moved: True)) is None, "everything changes the answer"


def test_f_auroc_is_half_of_one_and_the_difference_of_the_two_shares_that_are_named() -> None:
    edits = [Tried(True, True, True)] * 3 + [Tried(True, True, False)] + [Tried(False, False, False)] * 3
    edits += [Tried(False, False, True), Tried(True, True, None)]
    of = [item(edits=tuple(edits))]
    assert f_auroc(of) == pytest.approx((1 + 3 / 4 - 1 / 4) / 2)
    assert f_auroc([item(edits=(Tried(True, True, True),))]) is None, "no edit left the answer as it was"


def test_effect_alignment_is_the_mean_over_items_of_the_correlation_within_each() -> None:
    agrees = item("a", edits=(Tried(True, True, None), Tried(False, False, None)))
    errs = item("b", edits=(Tried(True, False, None), Tried(False, True, None)))
    same = item("c", edits=(Tried(True, True, None), Tried(False, True, None)))
    assert effect_alignment([agrees]) == pytest.approx(1)
    assert effect_alignment([agrees, errs]) == pytest.approx(0)
    assert effect_alignment([agrees, agrees, errs, same]) == pytest.approx(1 / 3)
    assert effect_alignment([same]) is None


def test_breadth_and_ccs_by_correctness_are_means_of_what_is_known() -> None:
    of = [item("a", breadth=1), item("b", breadth=2), item("c")]
    assert mean_breadth(of) == 1.5
    assert mean_breadth([item()]) is None
    by_answer = items(correct="11100-", ccs="110101")
    assert ccs_where(by_answer, True) == pytest.approx(2 / 3)
    assert ccs_where(by_answer, False) == pytest.approx(1 / 2)
    assert ccs_where(items(ccs="1"), True) is None


def test_changed_is_the_share_under_one_kind_of_edit_of_those_that_have_an_outcome() -> None:
    of = items(null="0001-", blank="1-1--")
    assert (changed(of, "null").value, changed(of, "null").n) == (0.25, 4)
    assert changed(of, "blank").value == 1
    assert changed(of, "cited").value is None
