"""CCS corrected by human labels: Rogan and Gladen by hand, and no figure where there can be none."""

from itertools import product
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from cfeval.core.jsonl import read_csv, write_csv
from cfeval.core.records import Status
from cfeval.edct.labelling.records import Label
from cfeval.edct.labelling.table import LabelAgreementRow, render, rows
from cfeval.edct.records import Condition, Score
from cfeval.stats.misclassification import JudgeError, rogan_gladen
from cfeval.stats.proportions import Share, share, wilson
from tests.conftest import Run
from tests.edct.labelling.test_table import found, label
from tests.edct.tables.study import GROUNDED, HOW, condition, failed, score

DRAWN = [(1, 1)] * 8 + [(1, 0)] * 2 + [(0, 0)] * 9 + [(0, 1)]
"""What people and the judge say of the labelled edits: sensitivity 8 of 10, specificity 9 of 10."""
REST = [1] * 24 + [0] * 26
BY_HAND = (0.48 + 0.9 - 1) / (0.8 + 0.9 - 1)
"""38 / 70 = .5429"""
Study = tuple[list[Label], list[Score]]


def study(drawn: list[tuple[int, int]], rest: list[int], of: Condition = GROUNDED) -> Study:
    """Labels of two people who agree, and scores of these edits and of the rest; an image an item."""
    labels = [
        label(who, n, of, pcs=str(truth), ncc="1") for (n, (truth, _)), who in product(enumerate(drawn), ("Ann", "Bob"))
    ]
    said = [*(verdict for _, verdict in drawn), *rest]
    return labels, [score(of, f"i{n:03d}", pcs=verdict, cluster=f"g{n}") for n, verdict in enumerate(said)]


def of_judge(labels: list[Label], scores: list[Score], about: str = "ccs") -> LabelAgreementRow:
    """The row of the judge and the consensus."""
    return found(rows(labels, scores, HOW), about, "tool_consensus")


def empty(row: LabelAgreementRow) -> bool:
    return (row.corrected, row.corrected_lo, row.corrected_hi) == (None, None, None)


def test_ccs_of_the_unlabelled_items_is_corrected_as_by_hand() -> None:
    row = of_judge(*study(DRAWN, REST))
    assert (row.sensitivity, row.specificity) == (0.8, 0.9)
    assert (row.ccs, row.n_corrected) == (0.48, 50), "with the 20 labelled ones it would be 33 of 70"
    assert row.corrected == round(BY_HAND, 4) == 0.5429
    error = JudgeError(Share(0.8, 10, 10), Share(0.9, 10, 10))
    beside = rogan_gladen(Share(0.48, 50, 50), error, HOW.level).rounded()
    assert (row.corrected_lo, row.corrected_hi) == (beside.low, beside.high)
    assert row.corrected_note == ""
    assert "Lang-Reiczigel 95 %" in row.ci


def test_sensitivity_and_specificity_have_wilsons_interval() -> None:
    for about in ("pcs", "ccs"):
        row = of_judge(*study(DRAWN, REST), about)
        for right, low, high in (
            (8, row.sensitivity_lo, row.sensitivity_hi),
            (9, row.specificity_lo, row.specificity_hi),
        ):
            assert (low, high) == pytest.approx(proportion_confint(right, 10, method="wilson"), abs=1e-4)


def test_edits_of_an_image_are_a_cluster_in_every_interval() -> None:
    labels, scores = study(sorted(DRAWN * 2, reverse=True), REST)
    labels = [one.model_copy(update={"cluster": f"g{(one.item - 1) // 2}"}) for one in labels]
    scores = [one.model_copy(update={"cluster": f"g{n // 2}"}) for n, one in enumerate(scores)]
    row = of_judge(labels, scores)
    pairs = [f"g{n // 2}" for n in range(90)]
    sensitivity, specificity = share([1] * 16 + [0] * 4, pairs[:20]), share([0] * 2 + [1] * 18, pairs[20:40])
    observed = share(REST, pairs[40:])
    assert sensitivity.size < 20
    assert observed.size < 50
    assert row.sensitivity_lo == wilson(sensitivity, HOW.level).rounded().low
    beside = rogan_gladen(observed, JudgeError(sensitivity, specificity), HOW.level).rounded()
    assert (row.corrected_lo, row.corrected, row.corrected_hi) == (beside.low, 0.5429, beside.high)


def test_verdicts_on_labelled_items_and_items_without_a_score_count_nowhere_in_ccs() -> None:
    labels, scores = study(DRAWN, REST)
    unsure = [label(who, 70, edit_valid="cannot_tell") for who in ("Ann", "Bob")]
    later = score(GROUNDED, "i000", pcs=0, edit=2, cluster="g0")
    more = [score(GROUNDED, "i070", pcs=1), later, failed(GROUNDED, "i071", Status.UNPARSABLE)]
    row = of_judge([*labels, *unsure], [*scores, *more, *scores])
    assert (row.ccs, row.n_corrected, row.corrected) == (0.48, 50, 0.5429)


def test_labels_of_another_condition_say_nothing_of_this_one() -> None:
    labels, scores = study(DRAWN, REST)
    others, _ = study([(1, 0)] * 60, [], condition(vlm="prior"))
    uneven = [one.model_copy(update={"weight": 1 + one.item}) for one in others]
    assert of_judge([*labels, *uneven], scores).corrected == 0.5429


def test_a_sheet_drawn_by_verdict_corrects_nothing_and_gives_shares_without_interval() -> None:
    labels, scores = study(DRAWN, REST)
    uneven = [one.model_copy(update={"weight": 1 + one.item % 2}) for one in labels]
    table = rows(uneven, scores, HOW)
    row = found(table, "ccs", "tool_consensus")
    assert empty(row)
    assert row.ccs is None, "what is left of such a draw is no image of the condition"
    assert row.sensitivity is not None
    assert (row.sensitivity_lo, row.specificity_hi) == (None, None)
    notes = " ".join(render(table).notes)
    assert "No corrected CCS of edct-2025 by grammar: the labels are of a sheet drawn --by-verdict" in notes


def test_several_conditions_are_not_corrected_as_one() -> None:
    labels, scores = study(DRAWN, REST)
    others = [score(condition(vlm="prior"), one.id, pcs=0) for one in scores]
    row = of_judge(labels, [*scores, *others])
    assert empty(row)
    assert row.corrected_note == "the scores are of 2 conditions; give those of one"


@pytest.mark.parametrize(
    ("drawn", "rest", "why"),
    [
        ([(1, 1)] * 5, REST, "no item that deserves a zero"),
        ([(0, 0)] * 5, REST, "no item that deserves a one"),
        ([(1, 1), (1, 0), (0, 1), (0, 0)], REST, "not shown to be better than chance"),
        (DRAWN, [], "no item that nobody labelled"),
    ],
)
def test_without_an_estimate_the_cells_are_empty_and_the_note_says_why(
    drawn: list[tuple[int, int]], rest: list[int], why: str
) -> None:
    row = of_judge(*study(drawn, rest))
    assert empty(row)
    assert why in row.corrected_note


def test_only_the_row_of_judge_and_consensus_about_ccs_is_corrected() -> None:
    table = rows(*study(DRAWN, REST), HOW)
    assert [(row.about, row.comparison) for row in table if row.corrected is not None] == [("ccs", "tool_consensus")]
    assert sum(row.ccs is not None or row.corrected_note != "" for row in table) == 1


def test_the_verb_writes_the_corrected_ccs_and_says_what_it_is(cfeval: Run, tmp_path: Path) -> None:
    labels, scores = study(DRAWN, REST)
    write_csv(tmp_path / "labels.csv", Label, labels)
    write_csv(tmp_path / "scores.csv", Score, scores)
    given = ("--labels", tmp_path / "labels.csv", "--interval", '{"resamples": 200}', "--out", tmp_path / "t")
    assert cfeval("edct", "label-agreement", tmp_path / "scores.csv", *given) == (0, "", "")
    row = found(read_csv(tmp_path / "t.csv", LabelAgreementRow), "ccs", "tool_consensus")
    assert row == of_judge(labels, scores)
    text = (tmp_path / "t.md").read_text()
    assert f"| 0.4800 (50 edits) | 0.5429 [{row.corrected_lo:.4f}, {row.corrected_hi:.4f}] |" in text
    assert "Corrected CCS: the share that people would call so" in text
