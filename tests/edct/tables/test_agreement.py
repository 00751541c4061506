"""Agreement of judges: pairs and all together, what is missing, figures worked out by hand."""

from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.reliability import AGREEMENT, AgreementRow
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score

LEXICAL, READER = condition(judge="lexical"), condition(judge="reader")


def said(of: Condition, bits: str) -> list[Score]:
    """A judge's CCS of one item after the other; `-` where it gave none."""
    return [
        failed(of, f"i{n:02d}", Status.UNPARSABLE) if bit == "-" else score(of, f"i{n:02d}", int(bit))
        for n, bit in enumerate(bits)
    ]


def rows(*given: tuple[Condition, str]) -> list[AgreementRow]:
    conditions = [one for one, _ in given]
    return AGREEMENT.rows(conditions, made_of([row for one, bits in given for row in said(one, bits)]))


def of_ccs(found: list[AgreementRow]) -> dict[str, AgreementRow]:
    return {row.judges: row for row in found if row.score == "ccs"}


def test_two_judges_have_cohens_kappa_and_krippendorffs_alpha_as_worked_out_by_hand() -> None:
    row = of_ccs(rows((GROUNDED, "1111100000"), (LEXICAL, "1111011000")))["grammar, lexical"]
    assert (row.n, row.n_scored, row.agreement) == (10, 10, 0.7)
    assert row.kappa == 0.4  # agreement by chance: .5 · .6 + .5 · .4
    assert row.alpha == 0.4242  # 1 − 19 · 3 / (11 · 9)
    assert (row.agreement_lo, row.agreement_hi) == (0.3968, 0.8922)
    assert row.ci == "Wilson 95 %; percentile bootstrap 95 %"


def test_of_three_judges_there_is_a_row_for_all_and_one_for_each_pair() -> None:
    found = of_ccs(rows((GROUNDED, "1100"), (LEXICAL, "1010"), (READER, "1100")))
    assert list(found) == ["grammar, lexical, reader", "grammar, lexical", "grammar, reader", "lexical, reader"]
    assert [row.agreement for row in found.values()] == [0.5, 0.5, 1, 0.5]
    assert found["grammar, lexical, reader"].kappa == 0.3333  # Fleiss: 1 − (1 − 2/3) / (1/2)


def test_a_missing_verdict_is_missing_and_no_disagreement() -> None:
    row = of_ccs(rows((GROUNDED, "1100-"), (LEXICAL, "110-0")))["grammar, lexical"]
    assert (row.n, row.n_scored, row.agreement, row.missing) == (5, 3, 1, "unparsable 2")
    assert (row.agreement_min, row.agreement_max) == (0.6, 1)


def test_alpha_also_uses_the_edits_that_only_two_of_three_scored() -> None:
    found = of_ccs(rows((GROUNDED, "1100"), (LEXICAL, "1100"), (READER, "11--")))
    row = found["grammar, lexical, reader"]
    assert (row.n_scored, row.n_alpha, row.alpha) == (2, 4, 1)
    assert (row.agreement_min, row.agreement_max) == (0.5, 1)


def test_where_two_of_three_differ_a_missing_verdict_cannot_make_them_agree() -> None:
    row = of_ccs(rows((GROUNDED, "11"), (LEXICAL, "10"), (READER, "1-")))["grammar, lexical, reader"]
    assert (row.agreement_min, row.agreement_max) == (0.5, 0.5)


def test_each_protocol_has_its_scores_and_a_control_has_no_ccs() -> None:
    given = [
        (condition(protocol=protocol, judge=judge), "1001")
        for protocol in ("edct-2025", "edct-bench-2026", "null-edit")
        for judge in ("grammar", "lexical")
    ]
    assert [(row.protocol, row.score) for row in rows(*given)] == [
        *(("edct-2025", name) for name in ("pcs", "ncc", "ccs")),
        *(("edct-bench-2026", name) for name in ("ac", "ef", "ccs")),
        *(("null-edit", name) for name in ("answer_moved", "explanation_moved")),
    ]


def test_conditions_with_the_same_judges_are_one_sample_in_whatever_order_they_name_them() -> None:
    other = condition(vlm="prior")
    found = of_ccs(
        rows((GROUNDED, "11"), (LEXICAL, "11"), (condition(vlm="prior", judge="lexical"), "11"), (other, "00"))
    )
    assert list(found) == ["grammar, lexical"]
    assert (found["grammar, lexical"].n, found["grammar, lexical"].agreement) == (4, 0.5)


def test_where_nobodys_verdicts_vary_there_is_agreement_and_no_kappa() -> None:
    row = of_ccs(rows((GROUNDED, "111"), (LEXICAL, "111")))["grammar, lexical"]
    assert (row.agreement, row.kappa, row.alpha) == (1, None, None)
    assert AGREEMENT.render([row]).body[0][-3:-1] == ("", "")


def test_conditions_of_a_single_judge_make_no_row() -> None:
    assert rows((GROUNDED, "10"), (condition(vlm="prior", judge="lexical"), "10")) == []
