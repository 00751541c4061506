"""Where variance comes from."""

from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.reliability import VARIANCE, VarianceRow
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score

LEXICAL, AGAIN = condition(judge="lexical"), condition(vlm="again")


def said(of: Condition, bits: str) -> list[Score]:
    return [score(of, f"i{n:02d}", int(bit)) for n, bit in enumerate(bits)]


def sources(given: list[Score], *conditions: Condition, **settings: object) -> dict[str, VarianceRow]:
    return {row.source: row for row in VARIANCE.rows(conditions, made_of(given, **settings))}


def test_where_judges_always_agree_all_variance_is_the_items() -> None:
    found = sources([*said(GROUNDED, "1100"), *said(LEXICAL, "1100")], GROUNDED, LEXICAL)
    assert (found["item"].share, found["judge"].share) == (1, 0)
    assert found["item"].variance == 0.3333  # of 1, 1, 0, 0
    assert (found["writer"].variance, found["writer"].note) == (None, "a single level")


def test_where_one_judge_passes_all_and_the_other_none_all_variance_is_the_judges() -> None:
    found = sources([*said(GROUNDED, "1111"), *said(LEXICAL, "0000")], GROUNDED, LEXICAL)
    assert (found["judge"].variance, found["judge"].share, found["judge"].levels) == (0.5, 1, 2)  # of 1, 0


def test_a_target_asked_again_is_the_same_target_and_what_differs_is_resampling() -> None:
    given = [*said(GROUNDED, "1100"), *said(AGAIN, "0011")]
    found = sources(given, GROUNDED, AGAIN, repeats={"again": "grounded"})
    assert {row.target for row in found.values()} == {"grounded"}
    assert (found["re-sampling"].share, found["item"].share) == (1, 0)
    apart = VARIANCE.rows([GROUNDED, AGAIN], made_of(given))
    assert {row.target for row in apart} == {"grounded", "again"}
    assert all("no cell of the design was repeated" in row.note for row in apart if row.source == "re-sampling")


def test_what_is_missing_is_counted_and_counts_for_nothing() -> None:
    given = [*said(GROUNDED, "1100"), *said(LEXICAL, "110"), failed(LEXICAL, "i03", Status.MODERATED)]
    found = sources(given, GROUNDED, LEXICAL)
    assert {(row.n, row.n_scored, row.missing) for row in found.values()} == {(8, 7, "moderated 1")}
    assert found["item"].share == 1


def test_protocols_and_data_sets_are_split_apart() -> None:
    conditions = [condition(protocol="edct-bench-2026"), GROUNDED, condition(dataset="elsewhere")]
    found = VARIANCE.rows(conditions, made_of([row for one in conditions for row in said(one, "1010")]))
    assert list(dict.fromkeys((row.protocol, row.dataset) for row in found)) == [
        ("edct-bench-2026", "world"),
        ("edct-2025", "world"),
        ("edct-2025", "elsewhere"),
    ]
    assert VARIANCE.render(found).headings[:2] == ("Dataset", "Protocol")


def test_a_design_without_any_score_makes_no_row() -> None:
    found = VARIANCE.rows([GROUNDED], made_of([failed(GROUNDED, "a", Status.REFUSED)]))
    assert found == []
    assert "none has a score" in VARIANCE.render(found).notes[0]
