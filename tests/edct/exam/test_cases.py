"""The cases of the judge exam are enough, distinct and balanced, and can be judged by their texts."""

from collections import Counter

from cfeval.edct.exam.cases import KINDS, exam_cases, judge_request

CASES = exam_cases()


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len(CASES) >= 160
    assert len({case.id for case in CASES}) == len(CASES)
    texts = {(case.question, case.new_answer, case.new_explanation) for case in CASES}
    assert len(texts) == len(CASES)
    assert all(case.id.startswith(case.kind.replace("_", "-")) for case in CASES)


def test_every_kind_has_cases_and_is_explained() -> None:
    counts = Counter(case.kind for case in CASES)
    assert set(KINDS) == set(counts)
    assert min(counts.values()) >= 6


def test_gold_scores_are_balanced() -> None:
    """In all, and in most kinds: no judge passes with one answer for everything."""
    for score in ("pcs", "ncc"):
        share = sum(getattr(case, score) for case in CASES) / len(CASES)
        assert 0.4 < share < 0.6
    by_kind = {kind: [case for case in CASES if case.kind == kind] for kind in KINDS}
    mixed = [kind for kind, cases in by_kind.items() if 0.3 <= sum(case.ccs for case in cases) / len(cases) <= 0.7]
    assert len(mixed) >= len(KINDS) - 7
    assert {(case.pcs, case.ncc) for case in CASES} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_case_of_one_question_shares_all_that_was_said_before_the_edit() -> None:
    before = {(case.question, case.answer, case.explanation, case.positive, case.negative) for case in CASES}
    assert len(before) == len({case.question for case in CASES})


def test_a_judge_is_asked_about_texts_alone() -> None:
    request = judge_request(CASES[0], 3)
    assert (request.protocol, request.image, request.question) == ("edct-2025", None, "")
    assert request.changes[0].positive == CASES[0].positive
    assert request.seed != judge_request(CASES[1], 3).seed
