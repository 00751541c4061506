"""A verdict or a score that does not follow from what it rests on is found, by the command as an auditor runs it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cfeval.edct.asked import Conditions
from cfeval.edct.records import Condition
from tests.conftest import Run
from tests.edct.verification.study import CHAINED, NULL, PLAIN
from tests.edct.verification.tamper import Results
from tests.edct.verification.test_cli import faults, made, results
from tests.slow import first_fast

__all__ = ["made", "results"]

Change = Callable[[Results], object]
JUDGED = {
    "a verdict": (lambda r: r.alter("verdicts", "a", scores={"pcs": 0}), "item 'a', edit 1: pcs is '1', not '0'"),
    "a stated product": (lambda r: r.alter("verdicts", "a", stated_ccs=0), "mismatch is '0', not '1'"),
    "a grade": (lambda r: r.alter("verdicts", "a", 2, CHAINED, grade=5), "edit 2: ccs_graded is '0.5', not '1.0'"),
    "a score": (lambda r: r.alter("scores", "g", 2, CHAINED, ef=1, ccs=1), "ef is '1', not '0'"),
    "a control's score": (lambda r: r.alter("scores", "g", 1, NULL, answer_moved=1), "answer_moved is '1', not '0'"),
    "a sham score": (lambda r: r.alter("scores", "g", 1, NULL, sham=1), "sham is '1', not '0'"),
    "a swapped pair": (lambda r: r.alter("verdicts", "g", 1, NULL, swapped=0), "swapped is '1', not '0'"),
    "the sham score of a real edit": (
        lambda r: r.alter("verdicts", "g", sham=0),
        "it has sham, swapped or reworded, which null edits alone have",
    ),
    "an answer in other words": (lambda r: r.alter("scores", "g", 1, NULL, reworded=1), "reworded is '1', not empty"),
    "an evasion": (lambda r: r.alter("verdicts", "g", evaded=1), "by the answers, evaded is '0'"),
    "who compared the answers": (
        lambda r: (r.alter("requeries", "g", answer="It is green."), r.alter("verdicts", "g", by_text=0)),
        "by the answers, by_text is '1'",
    ),
    "what follows from an explanation": (
        lambda r: r.alter("instructions", "g", implied="SAME"),
        "implied is empty, not '0'",
    ),
    "a sham edit": (
        lambda r: r.alter("checks", "a", sham={"verified": 1}),
        "sham_edit is empty, not '1'",
    ),
    "an absent thing that was seen": (
        lambda r: r.alter("checks", "a", absent_thing={"absent": 0}),
        "sees_absent is empty, not '1'",
    ),
    "that a change did not come again": (
        lambda r: r.alter("verdicts", "g", 1, NULL, again="withdrawn"),
        "by the answers, again is empty",
    ),
    "it in the score alone": (
        lambda r: r.alter("scores", "g", 1, NULL, again="withdrawn"),
        "again is 'withdrawn', not empty",
    ),
    "who was asked again": (
        lambda r: r.alter("requeries", "a", first={"id": "a", "answer": "It is red.", "explanation": "I see."}),
        "it was asked again although it had answered",
    ),
    "why it was asked again": (
        lambda r: r.alter("requeries", "a", again={"id": "a", "answer": "It is red.", "explanation": "I see."}),
        "it was asked again without a reason",
    ),
    "whether the answer moved": (lambda r: r.alter("scores", "f", answer_moved=0), "answer_moved is '0', not '1'"),
    "it in the verdict alone": (
        lambda r: r.alter("verdicts", "g", 1, NULL, answer_moved=1),
        "its scores say otherwise than it whether the answer moved",
    ),
    "it against the texts": (
        lambda r: (
            r.alter("requeries", "g", answer="It is green."),
            r.alter("verdicts", "g", answer_moved=1),
            r.alter("scores", "g", answer_moved=1),
        ),
        "by the answers, answer_moved is 0",
    ),
    "whether the edited thing is named": (
        lambda r: r.alter("verdicts", "g", names_edited=0),
        "by the explanation, names_edited is '1'",
    ),
    "what was said after a failure": (
        lambda r: r.alter("verdicts", "e", answer_moved=1, names_edited=1),
        "it has answer_moved and names_edited without a re-query",
    ),
    "what is in the image": (lambda r: r.alter("scores", "g", present=0), "present is '0', not '1'"),
    "what is not": (lambda r: r.alter("instructions", "g", absent=["the g"]), "present is '1', not '0'"),
    "how much is cited": (lambda r: r.alter("scores", "g", breadth=3), "breadth is '3', not '2'"),
    "what a verifier did not find": (
        lambda r: r.alter("checks", "a", found={"absent": 1, "reason": "no a"}),
        "status is 'ok', not 'citation_absent'",
    ),
    "a graded score": (
        lambda r: r.alter("scores", "a", 1, CHAINED, ccs_graded=0.51),
        "ccs_graded is '0.51', not '0.5'",
    ),
    "the accuracy": (lambda r: r.alter("scores", "g", correct=1.0), "correct is '1.0', not '0.0'"),
    "the check": (lambda r: r.alter("checks", "a", found={"verified": 0}), "verified is '1', not '0'"),
    "the changed share": (
        lambda r: r.alter("scores", "a", changed_share=0.2502),
        "changed_share is '0.2502', not '0.25'",
    ),
    "what was edited": (
        lambda r: r.alter("scores", "a", evidence="background"),
        "evidence is 'background', not 'object'",
    ),
    "the image": (lambda r: r.alter("scores", "a", cluster="0" * 16), "cluster is '0000000000000000', not '"),
    "no image": (lambda r: r.alter("scores", "a", cluster=""), "cluster is empty, not '"),
    "the condition": (lambda r: r.alter("scores", "a", judge="another"), "its names are those of another condition"),
    "scores of another protocol": (
        lambda r: r.alter("verdicts", "a", scores={"ac": 1}),
        "its scores are not those of the protocol (pcs, ncc)",
    ),
    "a grade too many": (lambda r: r.alter("verdicts", "a", grade=3), "it has a grade, and the protocol has none"),
    "scores of a failure": (
        lambda r: r.alter("verdicts", "f", scores={"pcs": 1, "ncc": 1}),
        "it failed, and has scores",
    ),
}


@pytest.mark.parametrize(("change", "words"), first_fast(JUDGED.values(), 8), ids=JUDGED)
def test_a_changed_verdict_or_score_is_found(cfeval: Run, results: Results, change: Change, words: str) -> None:
    change(results)
    assert words in faults(cfeval, results)


def rescore(cfeval: Run, of: Results, condition: Condition) -> str:
    """Have the stage score a condition again; what it wrote."""
    told = of.folder.parent / "told.json"
    told.write_text(Conditions(conditions=(condition,)).as_json())
    out = of.file("scores", condition).parents[3]
    assert cfeval("edct", "scores", "--study", told, "--results", of.folder, "--out", out)[0] == 0
    Path(f"{out}.made.json").unlink()  # no other step of these results has one
    return of.file("scores", condition).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("condition", [PLAIN, CHAINED, NULL], ids=lambda of: str(of.protocol))
def test_what_a_verifier_found_absent_is_scored_as_it_is_verified(
    cfeval: Run, results: Results, condition: Condition
) -> None:
    before = rescore(cfeval, results, condition)
    assert cfeval("verify", "--results", results.folder)[0] == 0
    results.alter("checks", "a", 1, condition, found={"absent": 1, "reason": "no a"})
    results.alter("instructions", "g", 1, condition, absent=["the g"])
    after = rescore(cfeval, results, condition)
    assert cfeval("verify", "--results", results.folder)[0] == 0
    cited = condition != NULL
    assert ("citation_absent" in after, after != before) == (cited, True)
