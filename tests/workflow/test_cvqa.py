"""The cvqa study through Snakemake: what runs at first, and what a change makes stale."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.conftest import Copy, Shared
from tests.workflow.study import PARAMS, Study, by_folder, lay_out

PROGRAM: dict[str, Any] = {
    "plugin": "program",
    "program_generator": {"plugin": "grammar"},
    "vision": {"plugin": "puzzle"},
}
CVQA: dict[str, Any] = {
    "seed": 5,
    "sets": {"synthetic": {"plugin": "synthetic", "items": 12}},
    "solvers": {
        "programs": PROGRAM,
        "says-b": {"plugin": "chat", "model": {"plugin": "mock", "replies": ["B"]}},
    },
    "sources": {"world": {"plugin": "world", "kinds": ["count", "presence"]}},
    "question_generators": {"grammar": {"plugin": "grammar"}},
    "question_validators": {"scene": {"plugin": "scene"}},
    "builds": {
        "built": {"source": "world", "items": 8, "question_generator": "grammar", "question_validator": "scene"}
    },
    "conditions": [
        {"set": ["synthetic"], "solver": ["programs", "says-b"]},
        {"set": ["built"], "solver": ["says-b"]},
    ],
    "genders": "",
    "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
}
TABLES = {"calls": 1, "tables": 1, "figures": 1, "report": 1}
EVERYTHING = {"questions": 1, "drafts": 1, "reviews": 1, "builds": 1, "fates": 1, "answers": 3, "scores": 2} | TABLES


@pytest.fixture(scope="module")
def finished(shared: Shared) -> Study:
    """The study, finished by `snakemake -- cvqa`."""

    def finish(folder: Path) -> None:
        study = lay_out(folder / "home" / "study", deepcopy(PARAMS) | {"shards": 1, "cvqa": CVQA})
        (folder / "jobs.json").write_text(json.dumps(study.jobs("snakemake", "--", "cvqa")))

    return Study(shared("cvqa", finish) / "home" / "study")


def changed(study: Study, **changes: Any) -> Study:
    """The study with other values in the section `cvqa`."""
    params = study.params()
    params["cvqa"] |= changes
    study.set_params(params)
    return study


def test_the_study_runs_and_is_what_would_be_made(finished: Study) -> None:
    assert json.loads((finished.home.parent / "jobs.json").read_text()) == EVERYTHING
    assert finished.stale(targets=("cvqa",)) == {}
    assert " results are up to date" in finished.run("cfeval", "verify", "--evaluation", "cvqa")
    assert "programs" in finished.table("cvqa_table7.csv")


def test_a_study_that_builds_no_set_any_more_keeps_none(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), builds={}, conditions=CVQA["conditions"][:1])
    ran = study.jobs("snakemake", "--", "cvqa")
    assert ran.keys() <= TABLES.keys()
    study.run("cfeval", "verify", "--evaluation", "cvqa", "--remove-former")
    assert [name for name in study.results("results/cvqa/questions") if "built" in name] == []
    assert study.results("results/cvqa/drafts") == {}
    assert study.nothing_to_do("--", "cvqa")


def test_a_solver_that_changes_makes_its_own_answers_stale(finished: Study, copy: Copy) -> None:
    heedless = PROGRAM | {"program_generator": {"plugin": "grammar", "heed": False}}
    study = changed(copy(finished), solvers=CVQA["solvers"] | {"programs": heedless})
    stale = study.stale(targets=("cvqa",))
    assert {name for name in stale if "/answers/" in name} == {"results/cvqa/answers/synthetic/programs.jsonl"}
    assert set(by_folder(stale)) <= {"answers", "tables"}
    assert study.jobs("snakemake", "--", "cvqa_scores_all") == {"answers": 1, "scores": 1}
    beneath = "results/cvqa/scores"
    one, other = finished.results(beneath), study.results(beneath)
    differ = {name for name in one if one[name] != other[name] and not name.endswith(".made.json")}
    assert differ
    assert all("programs" in name for name in differ)


def test_what_the_tables_say_of_the_paper_makes_tables_stale_alone(finished: Study, copy: Copy) -> None:
    named = CVQA["solvers"] | {"programs": PROGRAM | {"paper": "ViperGPT"}}
    stale = changed(copy(finished), solvers=named).stale_stages("cvqa")
    assert stale.keys() == {"tables"}


def test_a_person_keeps_a_question_out(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    taken = (study.root / "results/cvqa/questions/built.jsonl").read_text().splitlines()
    first = json.loads(taken[0])["id"]
    (study.root / "data/decisions.csv").write_text(f"id,accept,question,answer,comment\n{first},no,,,odd\n")
    build = CVQA["builds"]["built"] | {"decisions": "data/decisions.csv"}
    ran = changed(study, builds={"built": build}).jobs("snakemake", "--", "cvqa_scores_all")
    assert ran == {"builds": 1, "answers": 1, "scores": 1}
    left = (study.root / "results/cvqa/questions/built.jsonl").read_text().splitlines()
    assert len(left) == len(taken) - 1
    assert first not in "".join(left)
    (study.root / "data/decisions.csv").write_text(f"id,accept,question,answer,comment\n{first},yes,,,fine\n")
    assert study.stale(targets=("cvqa",))["results/cvqa/questions/built.jsonl"] == "data/decisions.csv has changed"


def test_a_fault_in_the_parameters_is_one_line(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), conditions=[{"set": ["synthetc"], "solver": ["programs"]}])
    said = study.refused("snakemake", "--", "cvqa")
    assert "'synthetc', which cvqa.sets or cvqa.builds does not define; did you mean 'synthetic'" in said
