"""The last lines of a run: why items are missing, which step failed, which calls were too slow, and what to do."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.records import Status
from cfeval.edct.records import Score, Verdict
from cfeval.study.outcomes import MEANINGS, missing, unscored
from cfeval.study.whole import Job
from tests.study.test_servers import Answer, models, says, serving, shows_image, study

CONDITION = {"dataset": "d", "vlm": "m", "writer": "w", "protocol": "edct-2025", "editor": "e", "judge": "j"}
WORDS = "I would rather not put a number on that."


@pytest.fixture
def end(tmp_path: Path) -> Callable[..., tuple[int, list[str]]]:
    """Runs a study from the folder above it, and returns its exit status and the lines that it ended with."""

    def run(*words: str) -> tuple[int, list[str]]:
        command = [sys.executable, "-m", "cfeval.cli", "run", "mine", "--yes", "--no-probe", *words]
        done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, (done.stderr if done.returncode else done.stdout).splitlines()

    (tmp_path / "mine").mkdir()
    return run


End = Callable[..., tuple[int, list[str]]]


@pytest.mark.slow
def test_a_run_without_a_score_ends_with_the_models_own_words(end: End, tmp_path: Path) -> None:
    with serving(models("mine"), says(WORDS)) as server:
        study(tmp_path / "mine", f"{server.url}/v1", role="judges")
        status, lines = end()
    assert status == 2
    assert any(line.startswith("cfeval: edct: nothing was scored") for line in lines)
    assert lines[-5:] == [
        "edct: 2 of 2 results have no score, all conditions counted:",
        f"  2 at the judge (unparsable): {MEANINGS[Status.UNPARSABLE].happened}",
        f'  For example {lines[-3].split()[2]} j: said "{WORDS}"',
        f"  What to do: {MEANINGS[Status.UNPARSABLE].remedy}",
        "Finished results and all replies are kept: correct the cause, then run the same command again",
    ]


@pytest.mark.slow
def test_an_error_of_the_server_is_shown_with_what_to_remove_and_that_helps(end: End, tmp_path: Path) -> None:
    asked: list[int] = []
    broken = [True]

    def reply(path: str, body: dict[str, Any]) -> Answer:
        asked.append(len(body["messages"]))
        bad = broken[0] and len(asked) <= 1
        return (500, {"error": {"message": "CUDA error"}}) if bad else says("Because it is red.")(path, body)

    with serving(models("mine"), reply) as server:
        study(tmp_path / "mine", f"{server.url}/v1", max_retries=0, max_connections=1)
        status, lines = end()
        assert status == 0, lines
        told = lines[[line.startswith("edct: ") for line in lines].index(True) :]
        assert told[0] == "edct: 1 of 2 results have no score, all conditions counted:"
        assert told[1].startswith("  1 in the answers about the original images (transport_error): network or server")
        assert 'm: "HTTP 500: CUDA error; given up: 1 attempt"' in told[2]
        assert told[-1].startswith("report: ")
        [again] = [line for line in told if "To try these again: rm " in line]
        command = again.split(": ", 1)[1].partition(", and")[0]
        assert shutil.which("rm")
        subprocess.run(command, shell=True, cwd=tmp_path, check=True)
        broken[0], before = False, len(asked)
        status, lines = end()
        assert status == 0, lines
        assert not any("no score" in line for line in lines)
        assert len(asked) - before == 4, "of the item that failed, both turns about both images"


@pytest.mark.slow
def test_a_step_that_fails_is_named_last_with_its_error(end: End, tmp_path: Path) -> None:
    with serving(models("mine"), says("Because it is red.")) as server:
        study(tmp_path / "mine", f"{server.url}/v1", max_calls=1)
        status, lines = end()
    assert status == 1
    assert lines[-4] == "Failed: baseline of m on own"
    assert lines[-3].startswith("  cfeval: the budget calls.max_calls = 1 is reached: 1 calls were sent; ")
    assert lines[-2] == "  log: logs/edct/baselines/own/m.log"
    assert lines[-1].endswith("correct the cause, then run the same command again")


@pytest.mark.slow
def test_calls_that_timed_out_are_said_with_what_to_raise(end: End, tmp_path: Path) -> None:
    waits = iter([2.5])

    def reply(path: str, body: dict[str, Any]) -> Answer:
        if shows_image(body):
            time.sleep(next(waits, 0))
        return says("Because it is red.")(path, body)

    with serving(models("mine"), reply) as server:
        study(tmp_path / "mine", f"{server.url}/v1", timeout=1, max_retries=2, max_connections=1)
        status, lines = end()
    assert status == 0, lines
    assert (
        "1 call timed out after 1 s, 1 sent again; if the server is only slow, raise calls.timeout in params.yaml, or "
        "lower calls.max_connections"
    ) in lines


def failing(status: Status) -> Iterator[Score]:
    for number in range(3):
        ended = {"status": status, "stage": "verdicts", "reason": "why"} if number else {"pcs": 1, "ncc": 1, "ccs": 1}
        yield Score(id=f"i{number}", cluster="c", **CONDITION, **ended)


@pytest.mark.parametrize("status", [status for status in Status if status != Status.OK])
def test_every_status_is_counted_and_explained(tmp_path: Path, status: Status) -> None:
    scores, verdicts = tmp_path / "edct/scores/d/m/w/e/j/edct-2025.csv", tmp_path / "edct/verdicts/d/m/w/e/j/x.jsonl"
    write_csv(scores, Score, failing(status))
    write_jsonl(verdicts, [Verdict(id="i1", status=status, stage="verdicts", reason="why", completion=WORDS)])
    job = Job("edct_scores", [str(scores)], [], ["edct", "scores"], "", {})
    lines = missing([job], str(tmp_path), Path("study"))
    assert lines[0] == "edct: 2 of 3 results have no score, all conditions counted:"
    assert lines[1] == f"  2 at the judge ({status}): {MEANINGS[status].happened}"
    assert lines[2] == f'  For example i1, j: said "{WORDS}"'
    assert lines[3] == f"  What to do: {MEANINGS[status].remedy}"
    assert len(lines) == 4 + (status in (Status.REJECTED, Status.TRANSPORT_ERROR))


def test_replies_that_cannot_be_read_are_missing_and_where_all_are_nothing_is_scored(tmp_path: Path) -> None:
    file = tmp_path / "scores.jsonl"
    job = Job("cvqa_scores", [str(file)], [], ["cvqa", "scores", "--out", str(file)], "", {})
    unread = json.dumps({"id": "a", "status": "ok", "correct": {"robust": None, "reference": 0}}) + "\n"
    read = json.dumps({"id": "b", "status": "ok", "correct": {"robust": 0, "reference": 0}}) + "\n"
    file.write_text(unread + read)
    first, then = missing([job], str(tmp_path))
    assert first == "cvqa: 1 of 2 results have no score, all conditions counted:"
    assert then.startswith("  1 replies came and cannot be read (unread)")
    assert unscored([job]) == []
    file.write_text(unread)
    [line] = unscored([job])
    assert "nothing was scored" in line
    assert "1 × a reply that cannot be read" in line


def test_where_all_have_a_score_nothing_is_said(tmp_path: Path) -> None:
    file = tmp_path / "scores.jsonl"
    write_jsonl(file, [])
    file.write_text(json.dumps({"id": "a", "status": "ok"}) + "\n")
    job = Job("cvqa_scores", [str(file)], [], ["cvqa", "scores"], "", {})
    assert missing([job], str(tmp_path)) == []
