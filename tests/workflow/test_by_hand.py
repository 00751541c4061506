"""Files made one by one with `cfeval stage OUTPUT --params …` are what the workflow would make."""

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.conftest import Shared
from tests.workflow.study import PARAMS, PROJECT, Study, lay_out

NAMES = {"dataset": ["world"], "vlm": ["grounded"], "writer": ["grammar"], "editor": ["scene"], "judge": ["grammar"]}
ONE = "world/grounded/grammar/edct-2025/scene"
FILES = (
    "items/world.jsonl",
    "baselines/world/grounded.jsonl",
    "instructions/world/grounded/grammar/edct-2025.jsonl",
    f"counterfactuals/{ONE}.jsonl",
    f"checks/{ONE}.jsonl",
    f"requeries/{ONE}.jsonl",
    f"verdicts/{ONE}/grammar.jsonl",
    f"scores/{ONE}/grammar.csv",
)
"""What the scores rest on and the scores, parents first."""


def tiny() -> dict[str, Any]:
    """A few items of the test bed, one condition."""
    params = deepcopy(PARAMS) | {"shards": 1}
    params["edct"] |= {
        "items": 3,
        "datasets": {"world": {"plugin": "world"}},
        "vlms": {"grounded": {"plugin": "world", "persona": "grounded"}},
        "instruction_writers": {"grammar": {"plugin": "grammar"}},
        "editors": {"scene": {"plugin": "scene"}},
        "judges": {"grammar": {"plugin": "grammar"}},
        "verifiers": {"world": {"plugin": "reader"}},
        "tables": {"table1": [NAMES]},
        "known": {},
    }
    return params


@pytest.fixture(scope="module")
def by_hand(shared: Shared) -> Study:
    """The study, made up to the scores file by file; with an overlay beside that nobody has run."""

    def make(folder: Path) -> None:
        study = lay_out(folder / "home" / "study", tiny())
        shutil.copy2(PROJECT / "pyproject.toml", study.root)  # by it the folder of the weights is found
        for weights in (PROJECT / "data/models").iterdir():
            (study.root / "data/models" / weights.name).write_bytes(weights.read_bytes())
        (study.root / "more.yaml").write_text("edct: {items: 4}\n")
        for file in FILES:
            study.run("cfeval", "stage", f"results/edct/{file}", "--params", "params.yaml")

    return Study(shared("by-hand", make) / "home" / "study")


def test_snakemake_has_nothing_to_do_for_files_made_by_hand(by_hand: Study) -> None:
    scores = f"results/edct/{FILES[-1]}"
    assert "Nothing to be done" in by_hand.run("snakemake", "--dry-run", "--", scores)
    assert not by_hand.stale().keys() & {f"results/edct/{file}" for file in FILES}


def test_the_records_are_those_of_the_workflow(by_hand: Study, tmp_path: Path) -> None:
    study = by_hand.copy(tmp_path / "home")
    before = study.results("results/edct")
    study.run("rm", "-rf", "results", ".snakemake")
    study.run("snakemake", "--", f"results/edct/{FILES[-1]}")
    assert study.results("results/edct") == before


def test_what_fits_is_kept(by_hand: Study) -> None:
    with by_hand.counting("kept") as kept:
        by_hand.run("cfeval", "stage", f"results/edct/{FILES[0]}", "--params", "params.yaml")
    assert kept == {"items": 1}


def test_an_overlay_has_a_folder_of_its_own(by_hand: Study) -> None:
    words = ("--params", "params.yaml", "--params", "more.yaml")
    with by_hand.counting() as made:
        by_hand.run("cfeval", "stage", "results/more/edct/items/world.jsonl", *words)
    assert made == {"items": 1}
    assert (by_hand.root / "results/more/edct/items/world.jsonl").read_text().count("\n") == 4


def test_what_no_job_makes_is_refused_with_the_nearest_name(by_hand: Study) -> None:
    said = by_hand.refused("cfeval", "stage", "results/edct/itmes/world.jsonl", "--params", "params.yaml")
    assert said.startswith("cfeval: results/edct/itmes/world.jsonl: no job of params.yaml makes it; did you mean")
    assert "'results/edct/items/world.jsonl'" in said


def test_inputs_that_are_missing_or_stale_are_named(by_hand: Study, tmp_path: Path) -> None:
    study, scores = by_hand.copy(tmp_path / "home"), f"results/edct/{FILES[-1]}"
    (study.root / f"results/edct/{FILES[1]}").unlink()
    said = study.refused("cfeval", "stage", scores, "--params", "params.yaml")
    assert f"rests on another file: results/edct/{FILES[1]} is missing; make that first" in said
    study.change(lambda edct: edct.update(items=2))
    said = study.refused("cfeval", "stage", scores, "--params", "params.yaml")
    assert f"rests on another file: results/edct/{FILES[0]}: changed: parameters; make that first" in said
