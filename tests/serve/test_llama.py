"""llama.cpp with SmolLM2, a real server and a real model: what its replies, limits and deaths become."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.images import Image
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Status
from cfeval.edct.exam.cases import exam_cases
from cfeval.edct.exam.table import ExamReply
from cfeval.edct.protocols.edct_2025 import JUDGE_SCHEMA, read_verdict
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote.settings import VARIABLE
from tests.answers import answers
from tests.serve import llama
from tests.serve.server import free_port

PROMPTS = llama.ROOT / "bench" / "real" / "prompts"
PHOTOGRAPH = Image.from_pixels(np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8))
AT_ONCE = 3
CACHE = ".cfeval/calls.sqlite"


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of SmolLM2, text only."""
    port = free_port()
    with llama.serving("smollm2", port, tmp_path_factory.mktemp("llama") / "serve.log"):
        yield port


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test; what cannot be had is tried once more."""
    file = tmp_path / "calls.sqlite"
    calls = Calls(cache=str(file), max_retries=1, max_connections=AT_ONCE)
    monkeypatch.setenv(VARIABLE, calls.model_dump_json())
    return file


def spec(port: int, **options: Any) -> dict[str, Any]:
    own = {"provider": "llama_cpp", "model": "smollm2", "base_url": f"http://127.0.0.1:{port}/v1"}
    return {"plugin": "openai", **own, "temperature": 0, "max_tokens": 60, **options}


def ask(port: int, text: str, image: Image | None = None, schema: Any = None, **options: Any) -> ChatReply:
    model = registry.build("chat", spec(port, **options))
    (reply,) = answers(model.generate, [ChatRequest("i", (ChatMessage("user", text, image),), 1, schema)])
    return reply


def test_it_chats_in_turns_and_says_the_same_twice(
    smollm2: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(smollm2, "Is the sky blue? Answer in one sentence.")
    assert first.status == Status.OK
    assert first.text
    turns = (
        ChatMessage("user", "My cat is called Tom."),
        ChatMessage("assistant", "Tom is a good name."),
        ChatMessage("user", "What is my cat called?"),
    )
    model = registry.build("chat", spec(smollm2))
    assert "Tom" in answers(model.generate, [ChatRequest("i", turns, 1)])[0].text
    monkeypatch.setenv(VARIABLE, Calls(cache=str(tmp_path / "another.sqlite")).model_dump_json())
    assert ask(smollm2, "Is the sky blue? Answer in one sentence.").text == first.text


def test_a_schema_binds_even_a_model_that_follows_no_form(smollm2: int) -> None:
    free = ask(smollm2, "Judge this.")
    bound = ask(smollm2, "Judge this.", schema=JUDGE_SCHEMA, max_tokens=200)
    assert free.status == bound.status == Status.OK
    assert read_verdict(free.text) is None
    assert read_verdict(bound.text) is not None
    assert set(json.loads(bound.text)) == {"analysis", "pcs", "ncc", "ccs"}


def test_the_likeliest_first_tokens_are_probabilities_and_hold_what_was_said(smollm2: int) -> None:
    reply = ask(smollm2, "Is the sky blue? Answer yes or no.", logprobs=5)
    assert reply.status == Status.OK
    tokens = dict(reply.beginnings)  # type: ignore[attr-defined]
    assert len(tokens) == 5
    assert reply.first_token in tokens  # type: ignore[attr-defined]
    assert reply.text.startswith(reply.first_token)  # type: ignore[attr-defined]
    assert 0 < np.exp(list(tokens.values())).sum() <= 1 + 1e-6


def test_what_it_cannot_take_is_rejected_once_and_the_reason_says_what_to_do(smollm2: int, cache: Path) -> None:
    long = ask(smollm2, "word " * 9000)
    assert long.status == Status.REJECTED
    assert "exceeds the available context size (4096 tokens)" in long.reason
    assert "start the server with a longer context" in long.reason
    seen = ask(smollm2, "What is this?", PHOTOGRAPH)
    assert seen.status == Status.REJECTED
    assert "name a model that takes images" in seen.reason
    other = ask(smollm2, "Hello.", model="llava")
    assert other.status == Status.WRONG_MODEL
    assert "smollm2 answered, not llava" in other.reason
    cut = ask(smollm2, "Tell me a long story.", max_tokens=5)
    assert cut.status == Status.TRUNCATED
    assert counted(cache, "sends") == 4


def test_a_server_that_is_killed_is_started_again_and_no_item_is_lost(tmp_path: Path) -> None:
    """By `cfeval serve`: the server dies while it answers, the call is sent again, the study's answer is whole."""
    import psutil

    port = free_port()
    ask_it = (
        "from tests.serve.test_llama import ask; import sys, os; "
        f"[print(ask({port}, f'Count from {{n}} to twenty in words.').status, flush=True) for n in range(6)]"
    )
    study(tmp_path, port)
    program = [sys.executable, "-m", "cfeval.cli", "serve", ".", "--engine", llama.ENGINE]
    calls = Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=8).model_dump_json()
    environment = {**os.environ, "PYTHONPATH": str(llama.ROOT), VARIABLE: calls}
    with subprocess.Popen(
        [*program, "--", sys.executable, "-c", ask_it],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while "ok" not in lines[-1] and lines[-1]:
            lines.append(process.stdout.readline())
        family = psutil.Process(process.pid).children(recursive=True)
        server = next(one for one in family if one.cmdline()[-3:-1] == ["bench.real.serve", "smollm2"])
        server.kill()
        lines += process.stdout.readlines()
    assert process.returncode == 0
    assert [line.strip() for line in lines if line.strip() in set(Status)] == ["ok"] * 6


def study(folder: Path, port: int) -> None:
    """A study whose judge is SmolLM2."""
    judge = {"plugin": "chat", "prompts": str(PROMPTS), "model": spec(port, max_tokens=120)}
    content = {
        "calls": {"max_connections": AT_ONCE},
        "edct": {
            "datasets": {"world": {"plugin": "world"}},
            "vlms": {"grounded": {"plugin": "world", "persona": "grounded"}},
            "instruction_writers": {"grammar": {"plugin": "grammar"}},
            "editors": {"scene": {"plugin": "scene"}},
            "judges": {"smollm2": judge},
        },
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(content))


def exam(folder: Path, *options: str, **more: Any) -> "subprocess.Popen[str]":
    program = [sys.executable, "-m", "cfeval.cli", "exam", "--out", "exam", *options]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(program, cwd=folder, env=environment, text=True, **pipes, **more)


def test_a_real_bad_judge_fails_its_exam_in_one_sentence(smollm2: int, tmp_path: Path) -> None:
    """Interrupted, the exam keeps what was answered; the same command goes on, asks the rest, and says: do not use."""
    study(tmp_path, smollm2)
    options = ("--cases", "18")
    process = exam(tmp_path, *options)
    deadline, most = time.monotonic() + 120, 0
    while time.monotonic() < deadline and counted(tmp_path / CACHE, "calls") < 6:
        most = max(most, counted(tmp_path / CACHE, "sends where ended is null"))
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode not in (0, 1)
    assert 1 < most <= AT_ONCE
    before = counted(tmp_path / CACHE, "calls")
    assert 6 <= before < 36

    out, err = exam(tmp_path, *options).communicate(timeout=300)
    said = [line for line in out.splitlines() if line.startswith(("pass:", "fail:"))]
    assert len(said) == 1, out + err
    assert said[0].startswith("fail: says 1 whatever it is shown: do not use."), said
    replies = read_csv(tmp_path / "exam-replies.csv", ExamReply)
    kinds = {case.kind for case in exam_cases()}
    assert {reply.kind for reply in replies} == kinds
    assert len(replies) == 18
    assert np.mean([reply.ccs == 1 for reply in replies]) > 0.9
    sent = counted(tmp_path / CACHE, "sends")
    repaired = sum("=== " in reply.completion or "=== " in reply.compared_completion for reply in replies)
    assert sent <= 36 + repaired + AT_ONCE  # those in flight at the interrupt may be sent again


def counted(cache: Path, rows: str) -> int:
    """How many rows of a table of the cache there are; 0 before it is made."""
    if not cache.exists():
        return 0
    with closing(sqlite3.connect(f"file:{cache}?mode=ro", uri=True)) as stored:
        try:
            return int(stored.execute(f"select count(*) from {rows}").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_a_composite_target_tells_its_text_model_what_an_image_shows(tmp_path: Path) -> None:
    """The stand-in for a vision-language model in `make real`: another image gives another answer."""
    from importlib.util import find_spec

    from cfeval.core.images import import_image

    package = find_spec("skimage")
    assert package is not None
    data = Path(str(package.origin)).parent / "data"
    port = free_port()
    with llama.serving("composite", port, tmp_path / "serve.log"):
        for name, word in (("chelsea.png", "cat"), ("coffee.png", "coffee")):
            reply = ask(port, "Name the thing. Answer in one sentence.", import_image(data / name), model="composite")
            assert reply.status == Status.OK, reply.reason
            assert word in reply.text
        assert ask(port, "Say hello.", model="composite").status == Status.OK
