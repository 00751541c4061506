"""What was paid for is named, step by step, and replays without a key: sealed archive, offline run, verification."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.shards import file_with_images
from tests.conftest import Run
from tests.cvqa.pairs import image_of, pair
from tests.cvqa.study import told, without_records
from tests.loopback.server import loopback
from tests.provider_study import CANARY, KEY_ENV, target

PAIRS = 3
CODE = """def execute_command(image):
    patch = ImagePatch(image)
    first = patch.simple_query('How many are there?')
    second = llm_query('What is two and ' + first[:5] + '?')
    return first
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results with questions alone; the cache is beside them."""
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}))
    pairs = [pair(number) for number in range(1, PAIRS + 1)]
    path = tmp_path / "cvqa" / "questions" / "s.jsonl"
    path.parent.mkdir(parents=True)
    file_with_images(path, [(one.id, one, {one.image.path: image_of(one)}) for one in pairs])
    return tmp_path / "cvqa"


def solver(url: str) -> str:
    model = target(url)
    return json.dumps(
        {
            "plugin": "program",
            "program_generator": {"plugin": "mock", "programs": {"vipergpt": CODE}},
            "vision": {"plugin": "transformers", "vqa": model, "llm": model},
        }
    )


def answers(cfeval: Run, results: Path, url: str, out: Path, *more: str) -> tuple[int, str]:
    questions = results / "questions" / "s.jsonl"
    words = ["--questions", questions, "--solver", solver(url), "--seed", 1, "--out", out, *more]
    status, _, err = cfeval("cvqa", "answers", *words)
    return status, err


def export(cfeval: Run, results: Path) -> tuple[int, str, str]:
    out = results / "calls" / "calls.zip"
    out.parent.mkdir(exist_ok=True)
    study = told(results.parent, conditions=[{"set": "s", "solver": "m"}])
    return cfeval("cvqa", "calls", "--study", study, "--results", results, "--out", out)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_paid_call_of_a_program_is_named_and_replays_without_a_key(
    cfeval: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    first = results / "answers" / "s" / "m.jsonl"
    first.parent.mkdir(parents=True)
    with loopback(key=CANARY) as running:
        url = running.openai
        status, err = answers(cfeval, results, url, first)
        assert status == 0, err
        paid = sum(running.sent().values())
    records = read(first)
    for record in records:
        steps = {step["call"]: step["calls"] for step in record["program"]["trace"] if step["calls"]}
        assert len(steps) == 2, record["program"]["trace"]
        assert all(len(named) == 1 for named in steps.values())
        assert record["calls"] == [key for named in steps.values() for key in named]
    assert len({key for record in records for key in record["calls"]}) == paid > PAIRS

    status, out, err = export(cfeval, results)
    assert status == 0, err
    assert out.startswith(f"{paid} calls in ")

    monkeypatch.delenv(KEY_ENV)
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "elsewhere.sqlite")}))
    assert answers(cfeval, results, url, tmp_path / "again.jsonl", "--offline")[0] == 2  # nothing is there yet
    status, _, err = cfeval("cache", "import", results / "calls" / "calls.zip")
    assert status == 0, err
    status, err = answers(cfeval, results, url, tmp_path / "again.jsonl", "--offline")
    assert status == 0, err
    assert (tmp_path / "again.jsonl").read_bytes() == first.read_bytes()


def test_a_call_that_fails_within_a_program_is_named_too(
    cfeval: Run, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    out = results / "answers.jsonl"
    with loopback(key=CANARY) as running:
        running.script([None, "http_422"])
        status, err = answers(cfeval, results, running.openai, out)
        assert status == 0, err
    refused = [record for record in read(out) if record["status"] == "rejected"]
    assert refused
    assert all(record["calls"] for record in refused)


@pytest.fixture
def finished(cfeval: Run, results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of a condition: questions, answers, scores and the archive of calls."""
    monkeypatch.setenv(KEY_ENV, CANARY)
    answered, scored = results / "answers" / "s" / "m.jsonl", results / "scores" / "s"
    answered.parent.mkdir(parents=True)
    with loopback(key=CANARY) as running:
        assert answers(cfeval, results, running.openai, answered)[0] == 0
    questions = results / "questions" / "s.jsonl"
    assert cfeval("cvqa", "scores", "--questions", questions, "--answers", answered, "--out", scored)[0] == 0
    assert export(cfeval, results)[0] == 0
    without_records(results)
    return results


def change(path: Path, **values: Any) -> None:
    """Change the first record of a file."""
    first, *others = read(path)
    path.write_text("".join(json.dumps(one, sort_keys=True) + "\n" for one in ({**first, **values}, *others)))


def test_whole_results_are_verified(cfeval: Run, finished: Path) -> None:
    status, out, err = cfeval("verify", "--results", finished)
    assert status == 0, (out, err)
    assert "1 conditions" in out
    assert "fine" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "values", "says"),
    [
        ("questions/s.jsonl", {"image": {"path": "p1.png", "sha256": "0" * 64}}, "image"),
        ("answers/s/m.jsonl", {"asked": "How many moons?"}, "another one"),
        ("answers/s/m.jsonl", {"calls": ["f" * 64]}, "not among the calls"),
        ("answers/s/m.jsonl", {"calls": []}, "a step names a call that its record does not"),
        ("scores/s/m.jsonl", {"correct": {"reference": 1, "robust": 1}, "gold": "77"}, "does not follow"),
    ],
)
def test_what_does_not_fit_is_named(cfeval: Run, finished: Path, file: str, values: dict[str, Any], says: str) -> None:
    change(finished / file, **values)
    status, out, err = cfeval("verify", "--results", finished)
    assert status == 2
    assert says in out + err
    assert "do not hold" in err


def test_a_condition_without_all_its_answers_or_scores_is_named(cfeval: Run, finished: Path) -> None:
    scored = finished / "scores" / "s" / "m.jsonl"
    scored.write_text("".join(scored.read_text().splitlines(keepends=True)[1:]))
    status, out, _ = cfeval("verify", "--results", finished)
    assert status == 2
    assert "does not follow" in out
