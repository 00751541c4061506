"""The exam of a judge behind a server: its calls at once, what is kept when it stops, and how it goes on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.edct.exam.cases import exam_cases
from cfeval.edct.exam.table import ExamReply, ExamRow, exam_error
from tests.conftest import Run
from tests.loopback.conversation import Conversation
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import KEY_ENV, params, target, written

AT_ONCE = 4
CASES = 20


def ones(conversation: Conversation) -> str:
    """A judge that says 1 whatever it is shown."""
    moved = "ANSWER_MOVED" in conversation.text
    return "ANSWER_MOVED: 1\nEXPLANATION_MOVED: 1" if moved else "PCS: 1\nNCC: 1\nCCS: 1"


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A server of that judge."""
    monkeypatch.setenv(KEY_ENV, "key")
    monkeypatch.delenv("CFEVAL_CALLS", raising=False)
    with loopback(personas={"echo": ones}, models=["gpt-4o", "gpt-5"]) as server:
        yield server
    monkeypatch.setenv("CFEVAL_CALLS", "")  # what the command has set ends with the test


@pytest.fixture
def study(judges: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study with that judge."""
    monkeypatch.chdir(tmp_path)
    content = params(tmp_path, judges.openai, max_connections=AT_ONCE)
    content["edct"]["judges"] = {"j": judge(judges)}
    content["edct"]["exams"] = {"j": "exam.csv"}
    block = content["edct"]["tables"]["table1"][0]
    content["edct"]["tables"]["controls"] = [block]
    return written(tmp_path, content).parent


def judge(server: Loopback, **options: Any) -> dict[str, Any]:
    return {"plugin": "chat", "model": target(server.openai), **options}


def change(study: Path, **judge: Any) -> None:
    """Another judge of the same name."""
    import yaml

    content = yaml.safe_load((study / "params.yaml").read_text())
    content["edct"]["judges"]["j"] = judge
    (study / "params.yaml").write_text(yaml.safe_dump(content))


def exam(cfeval: Run, *options: object) -> tuple[int, str, str]:
    return cfeval("exam", "--out", "exam", *options)


def test_no_more_calls_are_open_than_the_study_allows_and_all_of_them_are_used(
    cfeval: Run, judges: Loopback, study: Path
) -> None:
    judges.held = lambda place: len(judges.log) < min(place - 1 + AT_ONCE, 2 * CASES)  # until all wait that may
    status, printed, _ = exam(cfeval, "--cases", CASES)
    assert judges.most_in_flight == AT_ONCE
    assert judges.sent().total() == 2 * CASES
    assert status == 1
    assert printed.splitlines()[-1].startswith("fail: says 1 whatever it is shown: do not use. CCS: sensitivity 1.00 [")
    assert (study / "exam.csv").is_file()


def test_an_exam_that_is_ended_by_an_error_keeps_what_was_answered_and_the_next_goes_on(
    cfeval: Run, judges: Loopback, study: Path
) -> None:
    judges.script([None] * 24 + ["http_402"])
    status, _, err = exam(cfeval)
    assert (status, "no credit left" in err) == (2, True)
    kept = len(read_csv(study / "exam-replies.csv", ExamReply))
    assert 0 < kept < 20
    first = read_csv(study / "exam.csv", ExamRow)[0]
    assert (first.kind, first.n, first.cases) == ("all", kept, len(exam_cases()))
    assert f"Stopped after {kept} of {len(exam_cases())} cases" in (study / "exam.md").read_text()
    with pytest.raises(Exception, match="the exam is not whole"):
        exam_error(study / "exam.csv")
    answered = judges.sent().total()
    status, printed, _ = exam(cfeval)
    assert (status, "says 1 whatever it is shown" in printed) == (1, True)
    assert judges.sent().total() < 2 * len(exam_cases()) + 10 < answered + 2 * len(exam_cases())
    assert read_csv(study / "exam.csv", ExamRow)[0].n == len(exam_cases())


def test_a_call_that_fails_leaves_no_verdict_and_only_it_is_made_again(
    cfeval: Run, judges: Loopback, study: Path
) -> None:
    judges.script([None] * 9 + ["http_500"])
    status, printed, err = exam(cfeval, "--cases", CASES)
    assert (status, err.count("1 of 40 calls failed"), "fail:" in printed) == (2, 1, False)
    with pytest.raises(Exception, match="the exam is not whole"):
        exam_error(study / "exam.csv")
    assert exam(cfeval, "--cases", CASES)[0] == 1
    assert judges.sent().total() == 2 * CASES + 1
    assert exam_error(study / "exam.csv").specificity is not None


def test_a_table_serves_the_judge_that_was_examined_and_no_other(cfeval: Run, judges: Loopback, study: Path) -> None:
    exam(cfeval, "--cases", CASES)
    status, out, err = cfeval("doctor", "--no-probe")
    assert status == 0, out + err
    change(study, **judge(judges, wording="a"))
    assert cfeval("doctor", "--no-probe")[0] == 0, "an option with its default value is no other judge"
    others = {
        "its plugin is lexical, and chat was examined": {"plugin": "lexical"},
        "its model is gpt-5, and gpt-4o was examined": judge(judges) | {"model": target(judges.openai, model="gpt-5")},
        "its options are others now": judge(judges, votes=3),
        "its prompts or other files are others now": judge(judges, wording="b"),
    }
    for told, other in others.items():
        change(study, **other)
        status, out, err = cfeval("doctor", "--no-probe")
        [line] = [line for line in out.splitlines() if line.startswith("FAIL")]
        assert (status, told in line) == (2, True), line
        assert line.endswith("`cfeval exam --judge j --out exam` examines this one")
    (study / "exam.csv").write_text("score,kind,n,n_scored\nccs,all,9,9\n")
    assert "does not say which judge was examined" in cfeval("doctor", "--no-probe")[1]


def test_the_steps_of_a_study_refuse_the_table_of_another_judge_in_one_line(
    cfeval: Run, judges: Loopback, study: Path
) -> None:
    from cfeval.config import load
    from cfeval.edct.asked import asked_tables

    exam(cfeval, "--cases", CASES)
    change(study, **judge(judges, votes=3))
    edct = load(study / "params.yaml").edct
    assert edct is not None
    (study / "study.json").write_text(json.dumps(json.loads(asked_tables(edct, 1).as_json())))
    status, _, err = cfeval("edct", "tables", "--study", "study.json", "--out", "tables")
    assert (status, err.count("\n")) == (2, 1)
    assert "exam.csv: another judge was examined: its options are others now; `cfeval exam" in err
