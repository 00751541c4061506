"""Open answers judged by a language model: what it is shown, how its error is measured, and what no verdict is."""

import csv
import json
import re
from pathlib import Path

import pytest

from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.core.records import Status
from cfeval.cvqa.open_answers import KnownReplies, written_replies
from cfeval.cvqa.plugins.chat import AnswerVerdict, read_answer_verdict
from cfeval.cvqa.records import Question, Reading
from cfeval.cvqa.tables.reply_readers import OPEN_ANSWERS, OpenAnswersRow, ReplyReadersRow
from cfeval.report.tables import markdown
from tests.conftest import Run
from tests.cvqa.study import Study, given, told
from tests.cvqa.tables.scores import condition, material, score
from tests.images import image
from tests.loopback.conversation import Conversation
from tests.loopback.server import loopback
from tests.provider_study import CANARY, KEY_ENV, target

RIGHT, WRONG, NONE = (
    "So.\nANSWERED: 1\nCORRECT: 1",
    "No.\nANSWERED: 1\nCORRECT: 0",
    "It declines.\nANSWERED: 0\nCORRECT: 0",
)
COLORS = ("red", "green", "blue", "yellow", "pink", "brown", "black", "white")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (RIGHT, (1, 1)),
        (NONE, (0, 0)),
        ('{"analysis": "A couch is a sofa.", "answered": 1, "correct": 1}', (1, 1)),
        ("**ANSWERED:** 1\n**CORRECT:** 0", (1, 0)),
        ("ANSWERED: 0\nCORRECT: 1", None),  # what is no answer cannot be right
        ("CORRECT: 1", None),
        ("The reply is right.", None),
        ("", None),
    ],
)
def test_only_a_verdict_in_its_form_counts(text: str, verdict: tuple[int, int] | None) -> None:
    wanted = None if verdict is None else AnswerVerdict(answered=verdict[0], correct=verdict[1])
    assert read_answer_verdict(text) == wanted


def test_the_written_replies_are_as_many_of_either_truth() -> None:
    truths = [reply.truth for reply in written_replies()]
    assert (truths.count("right"), truths.count("wrong")) == (26, 26)
    assert len({(reply.question, reply.reply) for reply in written_replies()}) == 52


def test_replies_of_known_truth_come_from_the_questions_themselves() -> None:
    questions = [Question(question=f"What color would {n} be?", answer=color) for n, color in enumerate(COLORS * 5)]
    several = Question(question="What would lie there?", answer="a cushion", also=("a pillow",))
    replies = KnownReplies(7)
    made = [(question, replies.to(f"p{n}", "original", question)) for n, question in enumerate(questions)]
    assert {reply.truth for _, reply in made} == {"right", "wrong"}
    for question, reply in made:
        assert reply.accepted == (question.answer,)
        assert (question.answer in reply.reply) == (reply.truth == "right")
    hidden = [KnownReplies(seed).to("p", "original", several) for seed in range(4)]
    assert {(reply.reply, reply.accepted) for reply in hidden} <= {
        ("a cushion", ("a pillow",)),
        ("a pillow", ("a cushion",)),
    }
    same = KnownReplies(7)
    assert [same.to(f"p{n}", "original", question) for n, question in enumerate(questions)] == [
        reply for _, reply in made
    ]


def verdict_of(name: str, correct: int | None, truth: str = "", status: Status = Status.OK) -> Reading:
    return Reading.model_validate(
        {"id": name, "side": "original", "correct": correct, "known": truth, "status": status}
    )


def test_the_judges_error_is_measured_and_its_accuracy_corrected() -> None:
    scores = [score(f"p{n}", "original", None, "sofa", robust="sofa" if n < 30 else "bed") for n in range(100)]
    opened = [reply.model_copy(update={"form": "text", "options": 0}) for reply in scores]
    readings = [verdict_of(f"p{n}", int(n < 50)) for n in range(90)]
    readings += [verdict_of(f"p{n}", None) for n in range(90, 95)]
    readings += [verdict_of(f"p{n}", None, status=Status.UNPARSABLE) for n in range(95, 100)]
    readings += [verdict_of(f"known-{n}", int(n < 45), "right") for n in range(50)]  # sensitivity .9
    readings += [verdict_of(f"known-{n}", int(n < 60), "wrong") for n in range(50, 100)]  # specificity .8
    readings += [verdict_of("known-x", None, "right")]
    [row] = OPEN_ANSWERS.rows(material({condition(): opened}, readings={("gpt", condition()): readings}))
    assert (row.n, row.n_judged, row.n_none, row.missing) == (100, 90, 5, "no answer 5, unparsable 5")
    assert (row.rules, row.judged, row.judged_min, row.judged_max) == (0.3, 0.5556, 0.5, 0.6)  # type: ignore[attr-defined]
    assert row.n_differ == 20
    assert (row.n_known, row.known_missing, row.sensitivity, row.specificity) == (100, "no answer 1", 0.9, 0.8)
    assert row.corrected == pytest.approx((0.5556 + 0.8 - 1) / (0.9 + 0.8 - 1), abs=1e-4)
    assert row.corrected_hi - row.corrected_lo > row.judged_hi - row.judged_lo  # type: ignore[attr-defined]
    assert "| gpt |" in markdown(OPEN_ANSWERS.render([row]))


def test_a_judge_that_always_says_the_same_corrects_nothing() -> None:
    opened = [
        score(f"p{n}", "original", None, "sofa").model_copy(update={"form": "text", "options": 0}) for n in range(20)
    ]
    readings = [verdict_of(f"p{n}", 1) for n in range(20)]
    readings += [verdict_of(f"known-{n}", 1, ("right", "wrong")[n % 2]) for n in range(40)]
    [row] = OPEN_ANSWERS.rows(material({condition(): opened}, readings={("gpt", condition()): readings}))
    assert (row.judged, row.sensitivity, row.specificity, row.corrected) == (1, 1, 0, None)
    assert "not shown to be better than chance" in row.corrected_note


def own_questions(folder: Path) -> dict[str, str]:
    """A table of 16 open questions, each about an image, beside four whose answer is a number."""
    folder.mkdir()
    with (folder / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["image", "question", "answer", "counterfactual_question", "counterfactual_answer", "type"])
        for n in range(20):
            (folder / f"{n}.png").write_bytes(image(n).png)
            first, then = COLORS[n % 8], COLORS[(n + 3) % 8]
            colored = [
                f"What color is thing {n}?",
                first,
                f"What color would {n} be if painted?",
                then,
                "color",
            ]
            counted = [f"How many of {n}?", n, f"How many of {n} if one left?", n + 1, "count"]
            rows.writerow([f"{n}.png", *(colored if n < 16 else counted)])
    return {"plugin": "plain", "path": str(folder / "mine.csv"), "images": str(folder)}


def judging(conversation: Conversation) -> str:
    """A judge that looks for the accepted words, and knows no others."""
    if "accepted-answers" not in conversation.prompt:
        return "ANSWER: none"
    accepted, reply = (
        re.findall(rf"<{name}-\w+>\n(.*?)\n</{name}-", conversation.prompt, re.DOTALL)[-1]
        for name in ("accepted-answers", "reply")
    )
    return RIGHT if any(answer.removeprefix("- ") in reply.lower() for answer in accepted.splitlines()) else WRONG


def test_a_study_with_open_answers_has_them_judged_stored_and_in_the_table(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}))
    monkeypatch.setenv(KEY_ENV, CANARY)
    study = Study(cfeval, tmp_path)
    results = tmp_path / "cvqa"
    questions, answered = results / "questions" / "s.jsonl", results / "answers" / "s" / "m.jsonl"
    study.run("questions", *given(set=own_questions(tmp_path / "mine"), seed=1, out=questions))
    replies = {"gpt": judging, "m": lambda conversation: "It would be red." if "color" in conversation.prompt else "2"}
    with loopback(key=CANARY, personas=replies) as running:
        solver = {"plugin": "chat", "model": target(running.openai, model="m")}
        study.run("answers", *given(questions=questions, solver=solver, seed=1, out=answered))
        study.run("scores", *given(questions=questions, answers=answered, out=results / "scores" / "s"))
        reader = {"plugin": "chat", "model": target(running.openai, model="gpt")}
        readings = results / "readings" / "gpt" / "s" / "m.jsonl"
        study.run(
            "readings",
            *given(questions=questions, answers=answered, reply_reader=reader, seed=1, share=0, out=readings),
        )
    records = list(read_jsonl(readings, Reading))
    assert sum(bool(reading.known) for reading in records) == 52 + 32
    assert all(reading.calls for reading in records)
    options = {
        "conditions": [{"set": "s", "solver": "m"}],
        "readers": ["gpt"],
        "sets": {"s": {}},
        "interval": {"resamples": 100},
    }
    whole = given(study=told(tmp_path, **options), results=results, out=tmp_path / "tables")
    study.run("tables", *whole)
    rows = read_csv(tmp_path / "tables" / "cvqa_open_answers.csv", OpenAnswersRow)
    assert [(row.side, row.n, row.n_judged) for row in rows] == [("original", 16, 16), ("counterfactual", 16, 16)]
    for row in rows:
        assert row.judged == row.rules  # what is no synonym is judged alike
        assert row.sensitivity is not None
        assert row.sensitivity < 1  # it knows no synonyms, and the written replies show it
    assert read_csv(tmp_path / "tables" / "cvqa_reply_readers.csv", ReplyReadersRow)[0].n == 4


def test_a_reader_that_is_no_judge_leaves_open_answers_to_the_rules(cfeval: Run, tmp_path: Path) -> None:
    study = Study(cfeval, tmp_path)
    questions, readings = tmp_path / "out" / "s.jsonl", tmp_path / "out" / "readings.jsonl"
    study.run("questions", *given(set=own_questions(tmp_path / "mine"), seed=1, out=questions))
    answered = study.answer(questions, {"plugin": "random"})
    grammar = {"plugin": "grammar"}
    study.run(
        "readings", *given(questions=questions, answers=answered, reply_reader=grammar, seed=1, share=1, out=readings)
    )
    assert len(list(read_jsonl(readings, Reading))) == 8  # the questions whose answer is a number
