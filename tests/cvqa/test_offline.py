"""The answers of a provider's model: a run that ends early loses nothing, and `--offline` sends nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.shards import file_with_images
from tests.conftest import Run
from tests.cvqa.pairs import image_of, pair
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target

PAIRS = 5
ASKED = 2 * PAIRS


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies in `tmp_path`; calls go one after the other."""
    settings = {"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0, "max_connections": 1}
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps(settings))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    pairs = [pair(number) for number in range(1, PAIRS + 1)]
    file_with_images(path, [(one.id, one, {one.image.path: image_of(one)}) for one in pairs])
    return path


def command(questions: Path, model: dict[str, Any], name: str, *more: str) -> list[object]:
    """The verb as a command; the answers go to a file of that name."""
    who = json.dumps({"plugin": "chat", "family": "llava", "model": model})
    out = questions.parent / f"{name}.jsonl"
    return ["cvqa", "answers", "--questions", questions, "--solver", who, "--seed", 1, "--out", out, *more]


def said(questions: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (questions.parent / f"{name}.jsonl").read_text().splitlines()]


def test_a_run_that_fails_is_taken_up_where_it_ended(
    cfeval: Run, questions: Path, calls: None, server: Loopback
) -> None:
    server.script([None] * 4 + ["http_402"])
    status, _, err = cfeval(*command(questions, target(server.openai), "first"))
    assert status == 2
    assert "no credit left" in err.splitlines()[-1]
    assert not (questions.parent / "first.jsonl").exists()
    assert sum(server.sent().values()) == 5
    server.reset()
    status, _, err = cfeval(*command(questions, target(server.openai), "first"))
    assert status == 0, err
    assert sum(server.sent().values()) == ASKED - 4
    assert [reply["status"] for reply in said(questions, "first")] == ["ok"] * ASKED
    assert len({call for reply in said(questions, "first") for call in reply["calls"]}) == ASKED


@pytest.mark.slow
def test_a_run_that_is_killed_is_taken_up_and_no_stored_call_is_paid_for_twice(
    cfeval: Run, questions: Path, calls: None, server: Loopback
) -> None:
    server.latency = 0.1
    arguments = [str(word) for word in command(questions, target(server.openai), "killed")]
    python = [sys.executable, "-c", "import sys; from cfeval import cli; sys.exit(cli.run(sys.argv[1:]))"]
    silent = subprocess.DEVNULL
    running = subprocess.Popen([*python, *arguments], stdout=silent, stderr=silent, env=dict(os.environ))
    try:
        while len(server.log) < 4:
            assert running.poll() is None, "the run ended before it could be killed"
            time.sleep(0.01)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
        server.latency = 0
    assert not (questions.parent / "killed.jsonl").exists()
    status, _, err = cfeval(*command(questions, target(server.openai), "killed"))
    assert status == 0, err
    twice = [digest for digest, times in server.sent().items() if times > 1]
    assert len(server.sent()) == ASKED
    assert len(twice) <= 1, "no more than what was in flight"


def test_offline_the_cache_alone_answers_byte_for_byte(
    cfeval: Run, questions: Path, calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    with loopback(key=CANARY) as running:
        model = target(running.openai)
        status, _, err = cfeval(*command(questions, model, "first"))
        assert status == 0, err
        assert sum(running.sent().values()) == ASKED
    monkeypatch.delenv(KEY_ENV)
    status, _, err = cfeval(*command(questions, model, "again", "--offline"))
    assert status == 0, err
    assert (questions.parent / "again.jsonl").read_bytes() == (questions.parent / "first.jsonl").read_bytes()


def test_offline_names_the_first_call_that_is_missing(
    cfeval: Run, questions: Path, calls: None, server: Loopback
) -> None:
    status, _, err = cfeval(*command(questions, target(server.openai), "out", "--offline"))
    assert status == 2
    assert "offline: item 'p1' needs a call to gpt-4o" in err.splitlines()[-1]
    assert not server.log
    assert not (questions.parent / "out.jsonl").exists()


def test_a_refused_question_is_a_status_and_the_others_are_answered(
    cfeval: Run, questions: Path, calls: None, server: Loopback
) -> None:
    server.script([None, "http_422"])
    status, _, err = cfeval(*command(questions, target(server.openai), "out"))
    assert status == 0, err
    found = [reply["status"] for reply in said(questions, "out")]
    assert sorted(found) == ["ok"] * (ASKED - 1) + ["rejected"]
    [refused] = [reply for reply in said(questions, "out") if reply["status"] != "ok"]
    assert (refused["text"], refused["stage"]) == ("", "answers")
