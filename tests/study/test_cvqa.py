"""`cfeval check`, `estimate` and `doctor` on a study of counterfactual questions, before anything is spent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.cvqa.files import write_images, write_questions
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, params, target, written
from tests.study.test_estimate import amounts, written_prompt

IMAGE = 1500
"""Tokens that an image is taken to cost."""


@pytest.fixture
def study(tmp_path: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two sets and a built one; models behind a provider in every role; prompts of known lengths."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "real"
    csv = {"plugin": "csv", "questions": str(write_questions(folder)), "images": str(write_images(folder / "images"))}
    for name in ("direct", "boolean", "check"):
        written_prompt(tmp_path / "own", name, 600)
        written_prompt(tmp_path / "own", f"{name}_repair", 120)
    talker = target(server.openai, max_tokens=300)
    asked = {"plugin": "chat", "model": talker, "prompts": "own"}
    content = params(tmp_path, server.openai)
    content["edct"]["vlms"]["m"] = {"plugin": "mock"}
    content["cvqa"] = {
        "seed": 1,
        "sets": {"real": csv, "tenth": csv | {"share": 0.25}, "puzzles": {"plugin": "synthetic", "items": 5}},
        "solvers": {
            "m": {"plugin": "chat", "model": talker},
            "m-cot": {"plugin": "chat", "model": talker, "cot": True},
            "local": {"plugin": "random"},
        },
        "sources": {"s": {"plugin": "world", "kinds": ["count"]}},
        "question_generators": {"b": asked},
        "question_validators": {"c": asked},
        "builds": {"built": {"source": "s", "items": 7, "question_generator": "b", "question_validator": "c"}},
        "conditions": [
            {"set": ["real", "tenth"], "solver": ["m", "local"]},
            {"set": ["puzzles"], "solver": ["m-cot"], "orders": 4},
            {"set": ["built"], "solver": ["local"]},
        ],
    }
    return content


def estimated(cfeval: Run, folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    status, out, err = cfeval("estimate", written(folder, content).parent, "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def calls(found: dict[str, Any], stage: str, plugin: str) -> list[int]:
    """Typical calls of every line of a stage and plugin."""
    lines = [line for line in found["stages"] if (line["stage"], line["plugin"]) == (stage, plugin)]
    return [line["typical"]["calls"] for line in lines]


def test_calls_are_pairs_times_sides_times_orders(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    found = estimated(cfeval, tmp_path, study)
    assert found["notes"] == []
    assert calls(found, "answers", "m") == [12 * 2, 3 * 2], "12 rows, and a quarter of them"
    # A question of 30 tokens, one of 60 at most; an answer has 10 tokens, a chain of thought 180, at most 300.
    assert amounts(found, "answers", "m-cot") == [
        (5 * 2 * 4, 40 * (30 + IMAGE), 40 * 180, 0),
        (40, 40 * (60 + IMAGE), 40 * 300, 0),
    ]
    assert calls(found, "answers", "local") == []


def test_questions_without_options_are_asked_once_whatever_the_orders(
    cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    study["cvqa"]["conditions"] = [{"set": ["real", "puzzles", "built"], "solver": ["m"], "orders": 3}]
    found = estimated(cfeval, tmp_path, study)
    assert calls(found, "answers", "m") == [12 * 2, 5 * 2 * 3, 7 * 2]


def test_a_build_takes_a_draft_and_a_review_of_every_original(
    cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    found = estimated(cfeval, tmp_path, study)
    drafts = [line for line in found["stages"] if line["stage"] == "drafts"]
    assert [line["typical"]["calls"] for line in drafts] == [7, 0], "the second line is the repair turn"
    assert [line["most"]["calls"] for line in drafts] == [7, 7]
    assert drafts[0]["typical"]["input_tokens"] == 7 * (600 // 4 + 30), "the question_generator sees no image"
    reviews = [line for line in found["stages"] if line["stage"] == "reviews"]
    assert [line["typical"]["calls"] for line in reviews] == [7, 0]
    assert reviews[0]["typical"]["input_tokens"] == 7 * (600 // 4 + 2 * 30 + IMAGE)
    study["cvqa"]["conditions"] = study["cvqa"]["conditions"][:2]
    assert {line["stage"] for line in estimated(cfeval, tmp_path, study)["stages"]} == {"answers"}, (
        "no condition asks it"
    )


def test_who_writes_programs_sees_no_image(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    talker = study["cvqa"]["solvers"]["m"]["model"]
    study["cvqa"]["solvers"]["programs"] = {
        "plugin": "program",
        "program_generator": {"plugin": "chat", "model": talker},
        "vision": {"plugin": "puzzle"},
    }
    study["cvqa"]["conditions"] = [{"set": ["puzzles"], "solver": ["programs"]}]
    [line] = estimated(cfeval, tmp_path, study)["stages"]
    assert (line["stage"], line["plugin"], line["typical"]["calls"]) == ("answers", "programs", 5 * 2)
    assert line["typical"]["output_tokens"] == 10 * 200
    prompt = line["typical"]["input_tokens"] / 10 - 30
    assert 100 < prompt < 4096


def test_a_set_whose_images_are_not_there_yet_is_counted_and_one_that_is_not_is_noted(
    cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    study["cvqa"]["sets"]["real"]["images"] = "gone"
    study["cvqa"]["sets"]["tenth"] |= {"questions": "gone.csv", "items": 40}
    found = estimated(cfeval, tmp_path, study)
    assert calls(found, "answers", "m") == [24, 80]
    assert found["notes"] == [
        "cvqa.sets.tenth is taken to have 40 pairs, because it cannot be read: gone.csv: no such file"
    ]
    _, out, _ = cfeval("estimate", tmp_path)
    assert found["notes"][0] in out
    assert "answers" in out


def test_items_limit_what_is_counted(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    study["cvqa"]["sets"]["real"]["items"] = 4
    study["cvqa"]["sets"]["tenth"]["items"] = 40
    assert calls(estimated(cfeval, tmp_path, study), "answers", "m") == [8, 6]


def test_a_study_that_asks_no_provider_costs_nothing(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    study["cvqa"]["conditions"] = [{"set": ["real"], "solver": ["local"]}]
    status, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    assert (status, out) == (0, "No hosted model is called: the study costs nothing.\n")


def test_good_parameters_are_fine(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path, study)
    status, out, _ = cfeval("check", path.parent)
    assert status == 0
    assert out.endswith("; cvqa has 6 conditions and 1 question sets to build\n")


@pytest.mark.parametrize(
    ("section", "name", "spec", "said"),
    [
        (
            "sets",
            "real",
            {"plugin": "cvs"},
            "cvqa.sets.real: unknown question_sets plugin 'cvs'; did you mean 'csv'?",
        ),
        (
            "sets",
            "real",
            {"plugin": "csv", "questions": "gone.csv", "images": "x"},
            "real: the file gone.csv is missing",
        ),
        ("sets", "puzzles", {"plugin": "synthetic", "size": 20}, "option 'size' of 'synthetic'"),
        (
            "solvers",
            "m",
            {"plugin": "chat", "model": {"plugin": "mock", "replys": []}},
            "did you mean 'replies'",
        ),
        (
            "solvers",
            "m",
            {"plugin": "chat", "model": {"plugin": "mock"}, "family": "lava"},
            "no template of fam",
        ),
        (
            "solvers",
            "m",
            {"plugin": "chat", "model": {"plugin": "mock"}, "prompts": "none"},
            "cvqa.solvers.m: the file none/answer.md is missing; correct the path, or put the file there",
        ),
        (
            "solvers",
            "m",
            {"plugin": "program", "program_generator": {"plugin": "grammar"}},
            "option 'vision' of 'program'",
        ),
        (
            "question_generators",
            "b",
            {"plugin": "grammar", "err": 2},
            "cvqa.question_generators.b: option 'err' of 'grammar'",
        ),
        (
            "question_validators",
            "c",
            {"plugin": "scene", "deep": 1},
            "cvqa.question_validators.c: unknown option 'deep' of 'scene'",
        ),
        ("sources", "s", {"plugin": "wrld"}, "cvqa.sources.s: unknown datasets plugin 'wrld'; did you mean 'world'?"),
        (
            "builds",
            "built",
            {"source": "s", "items": 7, "question_generator": "b", "question_validator": "c", "decisions": "mine.csv"},
            "cvqa: the file mine.csv is missing; correct the path, or leave it empty",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_part_is_one_line_and_status_2(
    cfeval: Run, study: dict[str, Any], tmp_path: Path, section: str, name: str, spec: dict[str, Any], said: str
) -> None:
    study["cvqa"][section][name] = spec
    status, out, err = cfeval("check", written(tmp_path, study).parent)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_missing_file_of_labels_is_named(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    study["cvqa"]["genders"] = "labels.csv"
    _, _, err = cfeval("check", written(tmp_path, study).parent)
    assert "cvqa: the file labels.csv is missing; correct the path, or leave it empty" in err


def test_the_doctor_looks_at_every_part_that_a_condition_uses(
    cfeval: Run, study: dict[str, Any], tmp_path: Path, server: Loopback
) -> None:
    study["cvqa"]["question_generators"]["unused"] = {"plugin": "chat", "model": target("http://127.0.0.1:9/v1")}
    status, out, err = cfeval("doctor", "--no-probe", written(tmp_path, study).parent)
    assert (status, err) == (0, "")
    lines = {line[5:].partition(": ")[0]: line for line in out.splitlines() if line.startswith("ok   cvqa.")}
    names = ("sets.real", "sets.tenth", "sets.puzzles", "solvers.m", "solvers.m-cot", "solvers.local")
    parts = (*names, "sources.s", "question_generators.b", "question_validators.c")
    assert set(lines) == {f"cvqa.{part}" for part in parts}
    assert f"{server.openai} answers and has gpt-4o" in lines["cvqa.solvers.m"]
    assert "12 rows, and 0 cannot be used" in lines["cvqa.sets.real"]
    assert "images for 12 of 12 rows" in lines["cvqa.sets.real"]
    assert not server.requests().get("openai.chat"), "nothing that costs is asked"


def test_the_doctor_names_rows_and_images_that_cannot_be_used(
    cfeval: Run, study: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_questions(tmp_path / "real", spoilt=[3, 4])
    next((tmp_path / "real" / "images").iterdir()).unlink()
    monkeypatch.delenv(KEY_ENV)
    status, out, err = cfeval("doctor", written(tmp_path, study).parent)
    assert status == 2
    failed = [line for line in out.splitlines() if line.startswith("FAIL cvqa.sets.real: ")]
    assert len(failed) == 2
    assert "10 rows, and 2 cannot be used" in failed[0]
    assert "of 10 rows" in failed[1]
    [asked] = [line for line in out.splitlines() if line.startswith("FAIL cvqa.solvers.m: ")]
    assert f"set the environment variable {KEY_ENV}" in asked
    assert err.startswith("cfeval: ")
    assert CANARY not in out + err
