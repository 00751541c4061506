"""Comparisons of targets: paired on common items, adjusted over the table."""

import random
from itertools import combinations

import pytest

from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.comparisons import COMPARISONS, ComparisonRow
from cfeval.edct.tables.scores import (
    MOST_TARGETS,
    Metric,
    Row,
    TableData,
    extremes,
    missing,
    n_items,
    strict_ccs,
    values,
)
from cfeval.stats.intervals import bootstrap
from tests.edct.tables.study import GROUNDED, chain, condition, failed, made_of, score

A, B, C = (condition(vlm=vlm) for vlm in "abc")


def said(of: Condition, bits: str, **fields: object) -> list[Score]:
    return [
        failed(of, f"i{n:02d}", Status.REFUSED, **fields) if bit == "-" else score(of, f"i{n:02d}", int(bit), **fields)
        for n, bit in enumerate(bits)
    ]


def rows(given: list[Score], *conditions: Condition) -> list[ComparisonRow]:
    return COMPARISONS.rows(conditions, made_of(given, test_targets={"a"}))


def test_only_items_that_both_have_a_score_for_are_compared() -> None:
    (row,) = rows([*said(A, "1111-0"), *said(B, "0101-")], A, B)
    assert (row.vlm, row.other, row.n, row.n_scored, row.images) == ("a", "b", 5, 4, 4)
    assert (row.ccs, row.other_ccs, row.difference) == (1, 0.5, 0.5)
    assert (row.difference_min, row.difference_max) == (0.2, 0.6)
    assert row.missing == "refused 2"


def test_mcnemars_p_is_that_of_the_binomial_and_holm_adjusts_it_over_the_table() -> None:
    found = rows([*said(A, "1" * 12), *said(B, "0" * 5 + "1" * 7), *said(C, "0" * 7 + "1" * 5)], A, B, C)
    assert [(row.vlm, row.other) for row in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [row.p_mcnemar for row in found] == [0.0625, 0.0156, 0.5]  # 2 / 2⁵, 2 / 2⁷, 2 / 2²
    assert [row.p_holm for row in found] == [0.125, 0.0469, 0.5]  # · 2, · 3, · 1


def test_the_detectable_difference_grows_with_the_comparisons_that_have_items_in_common() -> None:
    given = [*said(A, "1110" * 60), *said(B, "1010" * 60)]
    (alone,) = rows(given, A, B)
    among = rows([*given, *said(C, "1011" * 60)], A, B, C)[0]
    assert alone.detectable is not None
    assert among.detectable is not None
    assert among.detectable > alone.detectable
    assert rows([*given, score(C, "elsewhere")], A, B, C)[0].detectable == alone.detectable


def test_two_targets_without_an_item_in_common_have_a_row_without_figures() -> None:
    (row,) = rows([score(A, "x"), score(B, "y")], A, B)
    assert (row.n, row.n_scored, row.images, row.difference, row.p_holm) == (0, 0, 0, None, None)
    assert row.difference_min is None


def test_chains_are_compared_by_their_means_and_have_no_mcnemar() -> None:
    one, other = (condition(vlm=vlm, protocol="edct-bench-2026") for vlm in "ab")
    given = [row for n in range(6) for row in [*chain(one, f"i{n}", 1, 0), *chain(other, f"i{n}", int(n < 2), 0)]]
    (row,) = rows(given, one, other)
    assert (row.bench_ccs, row.bench_other_ccs, row.difference) == (0.5, 0.1667, 0.3333)
    assert row.p_mcnemar is None
    assert row.p_holm == row.p_bootstrap
    assert row.ccs is row.other_ccs is None


def test_targets_are_compared_within_one_setting_only() -> None:
    others = [A.model_copy(update=names) for names in ({"judge": "lexical"}, {"protocol": "edct-bench-2026"})]
    assert rows([row for one in (A, *others) for row in said(one, "10")], A, *others) == []


def test_items_of_one_image_are_drawn_together() -> None:
    bits = "11110000" * 2, "00110011" * 2
    apart = rows([*said(A, bits[0]), *said(B, bits[1])], A, B)[0]
    pairs = [
        row.model_copy(update={"cluster": f"image{int(row.id[1:]) // 2}"})
        for row in [*said(A, bits[0]), *said(B, bits[1])]
    ]
    (together,) = rows(pairs, A, B)
    assert (together.n_scored, together.images) == (16, 8)
    assert together.difference == apart.difference
    assert (together.difference_hi - together.difference_lo) > (apart.difference_hi - apart.difference_lo)  # type: ignore[operator]


def test_only_the_target_that_is_a_test_model_is_marked() -> None:
    sheet = COMPARISONS.render(rows([*said(A, "10"), *said(B, "01")], A, B))
    assert sheet.body[0][:3] == ("edct-2025", "a †", "b")
    assert any("†" in note for note in sheet.notes)
    assert "2026: CCS" not in sheet.headings


def test_a_p_value_that_rounds_to_0_is_not_shown_as_0() -> None:
    sheet = COMPARISONS.render(rows([*said(A, "1" * 20), *said(GROUNDED, "0" * 20)], A, GROUNDED))
    assert sheet.body[0][sheet.headings.index("p, McNemar")] == "< 0.0001"


def test_ccs_is_compared_beside_strict_ccs_and_citation_rate_of_the_same_items() -> None:
    """CCS alone makes b the better one: it leaves out the items whose explanation cites what is absent."""
    absent = [failed(B, f"i{n:02d}", Status.CITATION_ABSENT, present=0) for n in (2, 3)]
    (row,) = rows([*said(A, "1110", present=1), *said(B, "11", present=1), *absent], A, B)
    assert (row.ccs, row.other_ccs) == (1, 1)
    assert (row.strict_ccs, row.other_strict_ccs) == (0.75, 0.5)
    assert (row.citation_rate, row.other_citation_rate) == (1, 0.5)
    (row,) = rows([*said(A, "1110"), *said(B, "11"), *absent], A, B)
    assert (row.strict_ccs, row.other_citation_rate) == (None, None), "nobody looked at those that were edited"


def some_study(seed: int) -> tuple[list[Condition], TableData]:
    """Targets that were asked about different items, with edits that failed, several items an image."""
    rng = random.Random(seed)
    protocol, edits = rng.choice([("edct-2025", 1), ("edct-bench-2026", 2), ("edct-bench-2026", 3)])
    targets, given = [condition(vlm=vlm, protocol=protocol) for vlm in "abcd"], list[Score]()
    for target in targets:
        share, asked = rng.random(), rng.choice([0.4, 0.9, 1])
        for item in (item for item in range(30) if rng.random() < asked):
            fields = {"cluster": f"image{item // (1 + seed // 2 % 2)}"}
            for edit in range(1, edits + 1):
                status = rng.choice([Status.OK] * 6 + [Status.REFUSED, Status.CITATION_ABSENT])
                more = {**fields, "edit": edit, "present": rng.choice([0, 1, 1])}
                if status == Status.OK:
                    given.append(score(target, f"i{item:02d}", int(rng.random() < share), **more))
                else:
                    given.append(failed(target, f"i{item:02d}", status, **more))
    return targets, made_of(given)


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_every_row_of_many_targets_has_the_figures_of_its_two_alone(seed: int) -> None:
    """Worked out one pair at a time, from the rows of scores alone."""
    targets, study = some_study(seed)
    found = COMPARISONS.rows(targets, study)
    assert [(row.vlm, row.other) for row in found] == list(combinations("abcd", 2))
    scores = {target.vlm: study.of(target) for target in targets}
    for row in found:
        ids = {one.id for one in scores[row.vlm]} & {one.id for one in scores[row.other]}
        mine, theirs = ([one for one in scores[name] if one.id in ids] for name in (row.vlm, row.other))

        def both(metric: Metric, mine: list[Row] = mine, theirs: list[Row] = theirs) -> list[tuple[float, float]]:
            second = {value.item: value.value for value in values(theirs, metric)}
            return [(value.value, second[value.item]) for value in values(mine, metric) if value.item in second]

        clusters = [
            value.cluster for value in values(mine, "ccs") if value.item in {v.item for v in values(theirs, "ccs")}
        ]
        assert (row.n, row.n_scored, row.images) == (n_items(mine), len(both("ccs")), len(set(clusters)))
        assert row.missing == missing([*mine, *theirs])
        expected = bootstrap([a - b for a, b in both("ccs")], 0.95, 200, 0, clusters, bounds=(-1, 1))
        about = pytest.approx((expected.value, expected.low, expected.high), abs=6e-5)
        assert (row.difference, row.difference_lo, row.difference_hi) == about
        (least, most), (others_least, others_most) = extremes(mine, "ccs"), extremes(theirs, "ccs")
        bounds = pytest.approx((least - others_most, most - others_least), abs=6e-5)
        assert (row.difference_min, row.difference_max) == bounds
        for name, metric in {"strict_ccs": strict_ccs, "citation_rate": "present"}.items():
            told = getattr(row, name), getattr(row, f"other_{name}")
            assert told == pytest.approx([sum(side) / len(side) for side in zip(*both(metric), strict=True)], abs=6e-5)


def many(number: int) -> list[Score]:
    return [one for target in range(number) for one in said(condition(vlm=f"t{target:02d}"), f"11{target % 2}0")]


def pairs_of(given: list[Score], **settings: object) -> list[tuple[str, str]]:
    targets = list(dict.fromkeys(condition(vlm=one.vlm) for one in given))
    return [(row.vlm, row.other) for row in COMPARISONS.rows(targets, made_of(given, **settings))]


@pytest.mark.parametrize("number", [2, MOST_TARGETS, MOST_TARGETS + 1, 30])
def test_rows_grow_with_the_targets_and_not_with_their_square(number: int) -> None:
    names = [f"t{target:02d}" for target in range(number)]
    each_two = list(combinations(names, 2))
    by_default = each_two if number <= MOST_TARGETS else [("t00", name) for name in names[1:]]
    assert pairs_of(many(number)) == by_default
    assert pairs_of(many(number), all_pairs=True) == each_two
    others = [("t01", name) for name in names if name != "t01"]
    assert pairs_of(many(number), compared_with="t01") == others


def test_a_setting_without_the_reference_has_no_row() -> None:
    assert pairs_of(many(3), compared_with="elsewhere") == []


def test_the_table_says_that_not_every_two_targets_are_compared() -> None:
    given = many(MOST_TARGETS + 1)
    targets = list(dict.fromkeys(condition(vlm=one.vlm) for one in given))
    few = COMPARISONS.render(COMPARISONS.rows(targets, made_of(given)))
    assert any("each with t00; edct.all_pairs" in note for note in few.notes)
    every = COMPARISONS.render(COMPARISONS.rows(targets, made_of(given, all_pairs=True)))
    assert not any("all_pairs" in note for note in every.notes)
