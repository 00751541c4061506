"""Agreement of people, and of the tool with people: by hand, against statsmodels, and what is missing is never a 0."""

from itertools import product
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, write_csv
from cfeval.core.records import Status
from cfeval.edct.labelling.agreement import known_truth
from cfeval.edct.labelling.records import Label
from cfeval.edct.labelling.table import LabelAgreementRow, render, rows
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.scores import Published
from cfeval.stats.misclassification import judge_error
from tests.conftest import Run
from tests.edct.tables.study import GROUNDED, HOW, condition, failed, score

CHAIN = condition(protocol="edct-bench-2026")
REFERENCE = Path(__file__).parents[3] / "data" / "reference" / "edct-bench-2026.csv"
NO, YES, NA, NONE = "0", "1", "not_assessable", None
PAIRS = [(YES, YES)] * 5 + [(NO, NO)] * 3 + [(YES, NO), (NO, YES), (YES, NA), (NA, NA), (NO, NONE)]
"""What Ann and Bob say of PCS: of 13 edits both assess 10, and agree about 8."""
BOUNDS = {"n", "agreement_min", "agreement_max", "missing"}
JUDGE = [1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1]


def label(rater: str, number: int, of: Condition = GROUNDED, **said: object) -> Label:
    """What a person said of one edit."""
    names = of.model_dump(exclude={"judge"})
    shown = {
        "id": f"i{number:03d}",
        "sheet": "a" * 64,
        "item": number + 1,
        "asks": "edit_valid pcs ncc",
        "weight": 1,
        "cluster": f"g{number}",
    }
    return Label.model_validate({**names, **shown, "rater": rater, "edit_valid": "valid", **said})


@pytest.fixture
def labels() -> list[Label]:
    """NCC is 1 throughout, so that CCS is PCS."""
    said = [(who, n, pair[place]) for n, pair in enumerate(PAIRS) for place, who in enumerate(("Ann", "Bob"))]
    return [label(who, n, pcs=mark, ncc="1") for who, n, mark in said]


@pytest.fixture
def scores() -> list[Score]:
    return [score(GROUNDED, f"i{n:03d}", pcs=said, verified=1) for n, said in enumerate(JUDGE)]


def found(rows_: list[LabelAgreementRow], about: str, comparison: str, **names: str) -> LabelAgreementRow:
    """The one row for a comparison."""
    [one] = [
        row
        for row in rows_
        if (row.about, row.comparison) == (about, comparison) and all(getattr(row, k) == v for k, v in names.items())
    ]
    return one


def test_the_three_comparisons_of_the_paper_by_hand(labels: list[Label], scores: list[Score]) -> None:
    table = rows(labels, scores, HOW)
    people = found(table, "pcs", "human_human")
    assert (people.n, people.n_assessable, people.agreement) == (13, 10, 0.8)
    low, high = proportion_confint(8, 10, method="wilson")
    assert (people.agreement_lo, people.agreement_hi) == (round(low, 4), round(high, 4))
    assert (people.agreement_min, people.agreement_max) == (round(8 / 13, 4), round(11 / 13, 4))
    assert people.missing == "not answered 1, not assessable 2"
    tool = found(table, "pcs", "tool_consensus")
    assert (tool.n, tool.n_assessable, tool.agreement) == (13, 8, 0.75)
    assert tool.missing == "not adjudicated 2, not answered 1, not assessable 2"
    assert (tool.both_1, tool.human_1_tool_0, tool.human_0_tool_1, tool.both_0) == (4, 1, 1, 2)
    assert (tool.sensitivity, tool.specificity) == (0.8, round(2 / 3, 4))
    together = found(table, "pcs", "three_way")
    assert (together.n_assessable, together.agreement) == (10, 0.6)
    assert people.agreement * tool.agreement == pytest.approx(together.agreement)


def test_kappa_is_that_of_statsmodels(labels: list[Label], scores: list[Score]) -> None:
    table = rows(labels, scores, HOW)
    people = found(table, "pcs", "human_human")
    assert people.kappa == pytest.approx(cohens_kappa([[3, 1], [1, 5]]).kappa, abs=1e-4)
    assert people.kappa_lo < people.kappa < people.kappa_hi
    tool = found(table, "pcs", "tool_consensus")
    assert tool.kappa == pytest.approx(cohens_kappa([[2, 1], [1, 4]]).kappa, abs=1e-4)


def test_with_three_people_the_majority_is_the_consensus_and_alpha_is_that_of_krippendorff(
    labels: list[Label], scores: list[Score]
) -> None:
    carl = [YES, NO, NA, YES, YES, NO, NO, NO, YES, NA, NA, YES, NO]
    labels += [label("Carl", n, pcs=mark, ncc="1") for n, mark in enumerate(carl)]
    table = rows(labels, scores, HOW)
    people = found(table, "pcs", "human_human")
    marks = [(*pair, third) for pair, third in zip(PAIRS, carl, strict=True)]
    data = np.array([[np.nan if mark in (NA, NONE) else float(mark) for mark in row] for row in marks]).T
    assert people.alpha == pytest.approx(krippendorff.alpha(data, level_of_measurement="nominal"), abs=1e-4)
    assert people.kappa is None, "that of two"
    tool = found(table, "pcs", "tool_consensus")
    by_hand = {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0, 7: 0, 8: 1, 12: 0}
    assert tool.n_assessable == len(by_hand), "1:1 ties and what one alone assessed are missing"
    assert tool.agreement == round(sum(JUDGE[n] == truth for n, truth in by_hand.items()) / len(by_hand), 4)


def test_what_is_invalid_or_not_assessable_moves_no_figure_but_n(labels: list[Label], scores: list[Score]) -> None:
    before = rows(labels, scores, HOW)
    more = [
        label(who, 50 + n, edit_valid=edit, pcs=mark, ncc=mark)
        for n, (edit, mark) in enumerate([("invalid", None), ("valid", NA), ("cannot_tell", None)])
        for who in ("Ann", "Bob")
    ]
    theirs = [score(GROUNDED, f"i{50 + n:03d}", pcs=n % 2, verified=1) for n in range(3)]
    after = rows([*labels, *more], [*scores, *theirs], HOW)
    for old, new in zip(before, after, strict=True):
        if old.about != "edit_valid":
            assert new.n == old.n + 3
            assert new.model_dump(exclude=BOUNDS) == old.model_dump(exclude=BOUNDS)
            assert new.agreement_min < old.agreement_min <= old.agreement_max <= new.agreement_max


def test_the_gate_and_the_check_are_compared_with_what_people_say_of_the_edit() -> None:
    said = [("valid", 1, 1), ("valid", 1, None), ("invalid", 0, None), ("invalid", 1, 0), ("cannot_tell", 0, 1)]
    labels = [
        label(who, n, edit_valid=word, gate=gate) for n, (word, gate, _) in enumerate(said) for who in ("Ann", "Bob")
    ]
    scores = [
        failed(GROUNDED, f"i{n:03d}", Status.EDIT_INVALID)
        if gate == 0
        else score(GROUNDED, f"i{n:03d}", verified=check)
        for n, (_, gate, check) in enumerate(said)
    ]
    table = rows(labels, scores, HOW)
    gate, check = (found(table, "edit_valid", "tool_consensus", tool=tool) for tool in ("gate", "check"))
    assert (gate.n_assessable, gate.agreement, gate.both_0, gate.human_0_tool_1) == (4, 0.75, 1, 1)
    assert (check.n, check.n_assessable, check.agreement) == (5, 2, 1.0)
    assert found(table, "edit_valid", "tool_human", tool="gate", rater="Ann").n_assessable == 4


def test_failed_items_have_no_verdict(labels: list[Label], scores: list[Score]) -> None:
    broken = [failed(GROUNDED, one.id, Status.UNPARSABLE) for one in scores]
    tool = found(rows(labels, broken, HOW), "ccs", "tool_consensus")
    assert (tool.n, tool.n_assessable, tool.agreement, tool.sensitivity) == (13, 0, None, None)
    assert (tool.agreement_min, tool.agreement_max) == (0, 1)
    assert tool.missing == "no verdict 8, not adjudicated 2, not answered 1, not assessable 2"


def test_labels_count_for_every_judge_of_the_same_edits(labels: list[Label], scores: list[Score]) -> None:
    strict = [one.model_copy(update={"judge": "strict", "pcs": 0, "ccs": 0}) for one in scores]
    table = rows(labels, [*scores, *strict], HOW)
    assert found(table, "ccs", "tool_consensus", tool="grammar").agreement == 0.75
    assert found(table, "ccs", "tool_consensus", tool="strict").agreement == 0.375
    assert len([row for row in table if row.comparison == "human_human" and row.about == "ccs"]) == 1


def test_one_person_alone_is_compared_with_the_tool_only(labels: list[Label], scores: list[Score]) -> None:
    table = rows([one for one in labels if one.rater == "Ann"], scores, HOW)
    assert {row.comparison for row in table} == {"tool_human", "tool_consensus"}
    assert found(table, "pcs", "tool_consensus").n_assessable == 12


def test_grades_are_compared_as_grades() -> None:
    marks = [("1", "1", 0.0), ("5", "5", 1.0), ("2", "4", 0.5), ("3", NA, 0.5), ("4", "4", 1.0)]
    labels = [
        label(who, n, CHAIN, ac="1", ef="1", grade=m[p]) for n, m in enumerate(marks) for p, who in enumerate("ab")
    ]
    scores = [
        Score.model_validate(
            {**CHAIN.model_dump(), "id": f"i{n:03d}", "ac": 1, "ef": 1, "ccs": 1, "ccs_graded": graded}
        )
        for n, (_, _, graded) in enumerate(marks)
    ]
    table = rows(labels, scores, HOW)
    people, tool = found(table, "grade", "human_human"), found(table, "grade", "tool_consensus")
    assert (people.n_assessable, people.agreement) == (4, 0.75)
    assert people.alpha == pytest.approx(
        krippendorff.alpha([[1, 5, 2, 4], [1, 5, 4, 4]], level_of_measurement="ordinal"), abs=1e-4
    )
    assert (tool.n_assessable, tool.agreement, tool.sensitivity) == (3, round(2 / 3, 4), None)


def test_published_figures_stand_beside_their_cells_only() -> None:
    published = read_csv(REFERENCE, Published)
    labels = [label(who, n, CHAIN, ac="1", ef="1") for n in range(4) for who in ("a", "b")]
    fields = {"ac": 1, "ef": 1, "ccs": 1}
    scores = [Score.model_validate({**CHAIN.model_dump(), "id": f"i{n:03d}", **fields}) for n in range(4)]
    table = rows(labels, scores, HOW, published)
    beside = {(row.about, row.comparison): row.paper_agreement for row in table if row.paper_agreement is not None}
    assert beside == {
        ("ccs", "human_human"): 0.88,
        ("ccs", "tool_consensus"): 0.943,
        ("ccs", "three_way"): 0.83,
    }
    assert "0.8980 and 0.9530 of 128 edits" in " ".join(render(table, published).notes)


def test_known_truth_is_what_judge_error_takes(labels: list[Label], scores: list[Score]) -> None:
    truth, verdict, groups = zip(*known_truth(labels, scores), strict=True)
    assert len(truth) == 8
    error = judge_error(verdict, truth, groups)
    assert error.sensitivity is not None
    assert error.specificity is not None
    assert (error.sensitivity.value, error.specificity.value) == (0.8, pytest.approx(2 / 3))
    assert known_truth(labels, []) == []


def test_known_truth_needs_a_sheet_that_was_not_drawn_by_verdict(labels: list[Label], scores: list[Score]) -> None:
    uneven = [one.model_copy(update={"weight": 1 + one.item % 2}) for one in labels]
    with pytest.raises(InputError, match="--by-verdict"):
        known_truth(uneven, scores)
    other = [label("Ann", n, condition(vlm="prior"), pcs="1", ncc="1", weight=3) for n in range(3)]
    assert known_truth([*labels, *other], scores), "conditions of different size are no verdicts"


def test_weights_undo_a_draw_by_verdict() -> None:
    """The judge gives 45 ones, 5 of them wrong, and 55 zeros, 10 of them wrong; 9 ones and 22 zeros are drawn."""
    drawn = [(1, 1, 5.0)] * 8 + [(0, 1, 5.0)] + [(1, 0, 2.5)] * 4 + [(0, 0, 2.5)] * 18
    labels = [
        label(who, n, pcs=str(truth), ncc="1", weight=weight)
        for (n, (truth, _, weight)), who in product(enumerate(drawn), ("a", "b"))
    ]
    scores = [score(GROUNDED, f"i{n:03d}", pcs=said) for n, (_, said, _) in enumerate(drawn)]
    tool = found(rows(labels, scores, HOW), "ccs", "tool_consensus")
    assert (tool.sensitivity, tool.specificity) == (40 / 50, 45 / 50)


def test_the_same_person_twice_about_one_edit_is_refused(labels: list[Label], scores: list[Score]) -> None:
    again = labels[0].model_copy(update={"sheet": "b" * 64})
    with pytest.raises(InputError, match="two labels of 'Ann' for item 'i000'"):
        rows([*labels, again], scores, HOW)


def test_the_verb_writes_the_table_in_three_forms(
    cfeval: Run, tmp_path: Path, labels: list[Label], scores: list[Score]
) -> None:
    write_csv(tmp_path / "labels.csv", Label, labels)
    write_csv(tmp_path / "scores.csv", Score, scores)
    given = ["--labels", tmp_path / "labels.csv", "--reference", REFERENCE, "--interval", '{"resamples": 100}']
    for name in ("one", "two"):
        assert cfeval("edct", "label-agreement", tmp_path / "scores.csv", *given, "--out", tmp_path / name) == (
            0,
            "",
            "",
        )
    for ending in ("csv", "md", "tex"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    assert found(read_csv(tmp_path / "one.csv", LabelAgreementRow), "pcs", "human_human").agreement == 0.8
    assert "| edct-2025 | PCS | grammar and consensus | 8 of 13 | 0.7500 [" in (tmp_path / "one.md").read_text()


def test_a_table_without_labels_is_empty(cfeval: Run, tmp_path: Path, scores: list[Score]) -> None:
    write_csv(tmp_path / "labels.csv", Label, [])
    write_csv(tmp_path / "scores.csv", Score, scores)
    given = ("--labels", tmp_path / "labels.csv", "--out", tmp_path / "t")
    assert cfeval("edct", "label-agreement", tmp_path / "scores.csv", *given)[0] == 0
    assert (tmp_path / "t.csv").read_text().count("\n") == 1
    assert "Empty: there are no labels." in (tmp_path / "t.md").read_text()
