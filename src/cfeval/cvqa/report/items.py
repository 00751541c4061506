"""The gallery of cvqa: one pair of questions with all solvers beside each other, the most wrong answers first.

A *view* is a set of questions. Rows are JSON; images are numbers (`report.html`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any

from cfeval.core.records import Status
from cfeval.cvqa.records import AS_PUBLISHED, HEADLINE, SIDES, Answer, CvqaCondition, CvqaScore, QuestionPair
from cfeval.report.gallery import Item, records_at
from cfeval.report.html import Images

ENDINGS: Mapping[str, tuple[str, str, str]] = {
    "both": ("both right", "Right on the original and on the counterfactual question", "fits"),
    "original": ("only as it is", "Right on the original question, wrong under the “if”", "stayed"),
    "counterfactual": ("only “if”", "Wrong on the original question, right under the “if”", "also"),
    "neither": ("both wrong", "Wrong on both questions", "zero"),
    "right": ("right", "Right; the question under the “if” alone was asked", "fits"),
    "wrong": ("wrong", "Wrong; the question under the “if” alone was asked", "zero"),
    "missing": ("no score", "A reply to one of the questions is missing, or cannot be read", "missing"),
}
"""How a pair ends for a solver: in two words, in a sentence, and its sign. Of several orders of options all count."""
MOST_STEPS = 20
"""Calls of a program that are shown."""
_Scores = dict[str, list[CvqaScore]]


def sets_of(conditions: Sequence[CvqaCondition]) -> dict[str, list[str]]:
    """The sets of some conditions, each with its solvers, in their order."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in conditions:
        found[one.set].append(one.solver)
    return found


def items_of(
    name: str, solvers: Sequence[str], results: Path, shards: int, images: Images, most: int
) -> tuple[list[Item], int]:
    """The rows of a set, those first that most solvers answer wrongly; and how many more there are.

    Args:
        name: the set.
        solvers: who was asked.
        results: the study's results.
        shards: into how many files each stage is cut.
        images: those of the page.
        most: at most so many rows.

    Raises:
        InputError: a record file is missing or broken.
    """
    wrong: Counter[str] = Counter()
    for solver in solvers:
        for score, _ in records_at(results / "scores" / name / solver, CvqaScore, shards):
            wrong[score.id] += score.correct.get(HEADLINE) == 0
    ids = nsmallest(most, wrong, key=lambda item: (-wrong[item], item))
    place, chosen = results / "questions" / name, set(ids)
    rows = {
        pair.id: _row(pair, folder, images)
        for pair, folder in records_at(place, QuestionPair, shards)
        if pair.id in chosen
    }
    for solver in solvers:
        scores, answers = (
            _by_item(results / stage / name / solver, kind, shards, chosen)
            for stage, kind in (("scores", CvqaScore), ("answers", Answer))
        )
        for item in rows.keys() & scores.keys():
            rows[item]["m"][solver] = _cell(scores[item], answers.get(item, []))
    return [rows[item] for item in ids if item in rows], len(wrong) - len(ids)


def _by_item(place: Path, kind: type[Any], shards: int, ids: Collection[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for record, _ in records_at(place, kind, shards):
        if record.id in ids:
            found[record.id].append(record)
    return found


def _row(pair: QuestionPair, folder: Path, images: Images) -> Item:
    return {
        "id": pair.id,
        "q": pair.counterfactual.question,
        "ref": pair.counterfactual.answer,
        "kind": pair.type,
        "img": images.number(folder, pair.image),
        "more": [images.number(folder, ref) for ref in pair.all_images[1:]],
        "changed": pair.changed_image is not None,
        "sha": pair.image.sha256,
        "sides": {side: {"q": asked.question, "a": asked.answer} for side, asked in pair.questions.items()},
        "m": {},
    }


def _cell(scores: Sequence[CvqaScore], answers: Sequence[Answer]) -> Item:
    """What a solver said to both questions, a turn a reply."""
    said = {(one.side, one.option_order): one for one in answers}
    of = sorted(scores, key=lambda one: (SIDES.index(one.side), one.option_order))
    return {"o": _ending(of), "t": [_turn(one, said.get((one.side, one.option_order))) for one in of]}


def _ending(scores: Sequence[CvqaScore]) -> str:
    right = {side: [one.correct.get(HEADLINE) for one in scores if one.side == side] for side in SIDES}
    if not right["original"] and None not in right["counterfactual"]:
        return "right" if all(right["counterfactual"]) else "wrong"
    if any(not of or None in of for of in right.values()):
        return "missing"
    original, counterfactual = (all(right[side]) for side in SIDES)
    if original:
        return "both" if counterfactual else "original"
    return "counterfactual" if counterfactual else "neither"


def _turn(score: CvqaScore, answer: Answer | None) -> Item:
    """A reply, and how it was read; what is not there is left out."""
    turn: Item = {"side": score.side, "order": score.option_order, "text": answer.text if answer else ""}
    if score.status == Status.OK:
        turn |= {"ok": score.correct[HEADLINE], "read": score.read.get(HEADLINE)}
        if score.read.get(AS_PUBLISHED) != score.read.get(HEADLINE):
            turn["published"] = score.read.get(AS_PUBLISHED)
    else:
        turn |= {"status": score.status.value.replace("_", " "), "why": score.reason}
    if answer is not None and answer.program is not None:
        steps = [[step.line, step.call, step.arguments, step.result] for step in answer.program.trace[:MOST_STEPS]]
        told = {
            "code": answer.program.code,
            "result": answer.program.result,
            "fault": answer.program.fault,
            "fallback": answer.program.fallback,
        }
        turn["prog"] = told | {"trace": steps, "more": max(0, len(answer.program.trace) - MOST_STEPS)}
    return turn
