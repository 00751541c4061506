"""The cvqa study through Snakemake: what runs at first, and what a change makes run again."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow.conftest import Copy, Shared
from tests.workflow.study import PARAMS, Study, lay_out

pytestmark = pytest.mark.xdist_group("cvqa")
PROGRAM: dict[str, Any] = {
    "backend": "program",
    "programmer": {"backend": "grammar"},
    "vision": {"backend": "puzzle"},
}
CVQA: dict[str, Any] = {
    "seed": 5,
    "sets": {"synthetic": {"backend": "synthetic", "items": 12}},
    "answerers": {
        "programs": PROGRAM,
        "says-b": {"backend": "chat", "model": {"backend": "scripted", "replies": ["B"]}},
    },
    "sources": {"world": {"backend": "world", "kinds": ["count", "presence"]}},
    "builders": {"grammar": {"backend": "grammar"}},
    "checkers": {"scene": {"backend": "scene"}},
    "builds": {"built": {"source": "world", "items": 8, "builder": "grammar", "checker": "scene"}},
    "arms": [
        {"set": ["synthetic"], "answerer": ["programs", "says-b"]},
        {"set": ["built"], "answerer": ["says-b"]},
    ],
    "genders": "",
    "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
}
TABLES = {"table": 12, "figure": 4, "metrics": 1}
EVERYTHING = {"questions": 1, "draft": 1, "review": 1, "assemble": 1, "answer": 3, "score": 3} | TABLES


@pytest.fixture(scope="module")
def finished(shared: Shared) -> Study:
    """The study, finished by `snakemake -- cvqa`."""

    def finish(folder: Path) -> None:
        study = lay_out(folder / "study", deepcopy(PARAMS) | {"shards": 1, "cvqa": CVQA})
        (folder / "jobs.json").write_text(json.dumps(study.jobs("snakemake", "--", "cvqa")))

    return Study(shared("cvqa", finish) / "study")


def changed(study: Study, **changes: Any) -> Study:
    """The study with other values in the section `cvqa`."""
    params = study.params()
    params["cvqa"] |= changes
    study.set_params(params)
    return study


def different(before: Study, after: Study) -> set[str]:
    """Results below results/cvqa that are not the same, records of provenance aside."""
    one, other = before.results("results/cvqa"), after.results("results/cvqa")
    return {name for name in one | other if one.get(name) != other.get(name) and "provenance" not in name}


def test_the_study_runs_and_then_has_nothing_to_do(finished: Study) -> None:
    assert json.loads((finished.root.parent / "jobs.json").read_text()) == EVERYTHING
    assert finished.jobs("snakemake", "--", "cvqa") == {}
    assert "programs" in finished.table("cvqa_table7.csv")


def test_dvc_seals_it_and_then_has_nothing_to_do(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    assert study.jobs("dvc", "repro", "cvqa_tables") == {}
    assert "Running stage" not in study.run("dvc", "repro", "cvqa_tables")
    kept = [out for stage in sealed_stages(study) for out in stage]
    made = [name for name in study.results() if "cvqa" in name]
    assert len(made) > 50
    assert [name for name in made if not name.startswith(tuple(kept))] == []


def test_dvc_seals_a_study_that_builds_no_set(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), builds={}, arms=CVQA["arms"][:1])
    study.run("rm", "-r", *(f"results/cvqa/{folder}" for folder in ("drafts", "reviews", "fates")))
    study.run("dvc", "repro", "cvqa_questions")
    assert [name for name in study.results("results/cvqa/questions") if "built" in name] == []
    assert study.jobs("snakemake", "--", "cvqa_questions") == {}


def sealed_stages(study: Study) -> list[list[str]]:
    """The outputs of every stage of the study, as DVC has sealed them."""
    lock = yaml.safe_load((study.root / "dvc.lock").read_text())["stages"]
    return [[out["path"] for out in lock[name]["outs"]] for name in lock if name.startswith("cvqa_")]


def test_an_answerer_that_changes_makes_its_own_jobs_run_and_what_follows(finished: Study, copy: Copy) -> None:
    heedless = PROGRAM | {"programmer": {"backend": "grammar", "heed": False}}
    study = changed(copy(finished), answerers=CVQA["answerers"] | {"programs": heedless})
    ran = study.jobs("snakemake", "--", "cvqa")
    assert (ran["answer"], ran["score"]) == (1, 1)
    assert "questions" not in ran
    assert all("programs" in name for name in different(finished, study))
    assert study.jobs("snakemake", "--", "cvqa") == {}


def test_what_the_tables_say_of_the_paper_makes_tables_run_alone(finished: Study, copy: Copy) -> None:
    named = CVQA["answerers"] | {"programs": PROGRAM | {"paper": "ViperGPT"}}
    ran = changed(copy(finished), answerers=named).jobs("snakemake", "--", "cvqa")
    assert set(ran) <= set(TABLES)


def test_a_person_keeps_a_question_out(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    taken = (study.root / "results/cvqa/questions/built.jsonl").read_text().splitlines()
    first = json.loads(taken[0])["id"]
    (study.root / "data/decisions.csv").write_text(f"id,accept,question,answer,comment\n{first},no,,,odd\n")
    build = CVQA["builds"]["built"] | {"decisions": "data/decisions.csv"}
    ran = changed(study, builds={"built": build}).jobs("snakemake", "--", "cvqa")
    assert (ran["assemble"], ran["answer"]) == (1, 1)
    left = (study.root / "results/cvqa/questions/built.jsonl").read_text().splitlines()
    assert len(left) == len(taken) - 1
    assert first not in "".join(left)


def test_a_fault_in_the_parameters_is_one_line(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), arms=[{"set": ["synthetc"], "answerer": ["programs"]}])
    refused = study.try_("snakemake", "--", "cvqa")
    lines = [line for line in refused.stderr.splitlines() if "profile" not in line and "config" not in line]
    assert refused.returncode == 2
    assert len(lines) == 1
    assert "'synthetc', which cvqa.sets or cvqa.builds does not define; did you mean 'synthetic'" in lines[0]
