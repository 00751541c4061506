"""The vce study through Snakemake: what runs at first, and what a change makes stale."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.conftest import Copy, Shared
from tests.workflow.study import PARAMS, PROJECT, Study, lay_out

METHOD: dict[str, Any] = {"preset": "dbvce", "respacing": "5", "scales": [0.6]}
NAMES = {"image_set": ["world"], "denoiser": ["world"], "classifier": ["standard", "random"]}
VCE: dict[str, Any] = {
    "images": 1,
    "size": 32,
    "seed": 5,
    "cout_steps": 0,
    "image_sets": {"world": {"plugin": "world"}},
    "denoisers": {"world": {"plugin": "world"}},
    "classifiers": {kind: {"plugin": "world", "kind": kind} for kind in ("standard", "random", "robust")},
    "robust": "robust",
    "oracles": ["robust"],
    "methods": {"base": METHOD, "no-cone": METHOD | {"projection": "none"}},
    "groups": [
        {"source": "red circle", "ideal": "red square"},
        {"source": "blue square", "ideal": "blue cross"},
    ],
    "conditions": [NAMES | {"method": ["base", "no-cone"]}],
    "roles": {"base": "base", "no_cone": "no-cone", "robust": ["robust"], "random": ["random"]},
}
WEIGHTS = ("cell-denoiser", *(f"cell-{kind}" for kind in VCE["classifiers"]))
TABLES = {"tables": 1, "figures": 1, "report": 1}
EVERYTHING = {
    "images": 1,
    "counterfactuals": 4,
    "scores": 4,
    "group-scores": 4,
    "contact-sheet": 2,
    "networks": 1,
} | TABLES
NO_CONE = [f"results/vce/{{}}/world/world/{kind}/no-cone.jsonl" for kind in ("standard", "random")]


def with_weights(study: Study) -> Study:
    """A study with the models of cells."""
    shutil.copy2(PROJECT / "pyproject.toml", study.root)  # by it the folder of the weights is found
    for name in WEIGHTS:
        for ending in (".json", ".safetensors"):
            shutil.copy2(PROJECT / "data/models" / f"{name}{ending}", study.root / "data/models")
    return study


@pytest.fixture(scope="module")
def finished(shared: Shared) -> Study:
    """The study, finished by `snakemake -- vce`."""

    def finish(folder: Path) -> None:
        study = with_weights(lay_out(folder / "home" / "study", deepcopy(PARAMS) | {"shards": 1, "vce": VCE}))
        (folder / "jobs.json").write_text(json.dumps(study.jobs("snakemake", "--", "vce")))

    return Study(shared("vce", finish) / "home" / "study")


def changed(study: Study, **changes: Any) -> Study:
    """The study with other values in the section `vce`."""
    params = study.params()
    params["vce"] |= changes
    study.set_params(params)
    return study


def test_the_study_runs_and_is_what_would_be_made(finished: Study) -> None:
    assert json.loads((finished.home.parent / "jobs.json").read_text()) == EVERYTHING
    assert finished.stale(targets=("vce",)) == {}
    assert " results are up to date" in finished.run("cfeval", "verify", "--evaluation", "vce")
    assert "standard" in finished.table("vce_table3.csv")
    assert len([name for name in finished.results("results/vce/sheets") if name.endswith(".png")]) == 4


def test_the_size_of_batches_makes_nothing_stale(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), compute={"batch": 1})
    assert study.stale(targets=("vce",)) == {}


def test_a_changed_method_makes_its_own_counterfactuals_stale_and_these_run(finished: Study, copy: Copy) -> None:
    other = VCE["methods"] | {"no-cone": METHOD | {"projection": "none", "lp_weight": 0.3}}
    study = changed(copy(finished), methods=other)
    assert study.stale(targets=("vce",)) == dict.fromkeys(
        [name.format("counterfactuals") for name in NO_CONE], "--method: lp_weight changed"
    )
    groups = NO_CONE[0].format("groups")
    assert study.jobs("snakemake", "--", groups) == {"counterfactuals": 1, "scores": 1, "group-scores": 1}
    before, after = finished.results("results/vce"), study.results("results/vce")
    different = {name for name in before | after if before.get(name) != after.get(name)}
    assert any("counterfactuals/world/world/standard/no-cone" in name for name in different)
    assert all("/standard/no-cone" in name for name in different)


def test_weights_that_changed_make_stale_what_they_made(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    weights = study.root / "data/models/cell-standard.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert all("/standard/" in name or "/networks/" in name for name in study.stale(targets=("vce",)))
    assert study.stale_stages("vce") == {"counterfactuals": 2, "scores": 2, "networks": 1}


def test_changed_roles_make_tables_and_page_stale_alone(finished: Study, copy: Copy) -> None:
    """Both say which counterfactuals the oracles see, and who is one."""
    study = changed(copy(finished), roles=VCE["roles"] | {"not_oracles": ["robust"]})
    assert set(study.stale_stages("vce")) == {"tables", "report"}


def test_a_fault_in_the_parameters_is_one_line(finished: Study, copy: Copy) -> None:
    study = changed(copy(finished), oracles=["robst"])
    said = study.refused("snakemake", "--", "vce")
    assert "'robst', which vce.classifiers does not define; did you mean 'robust'" in said
    assert study.results() == finished.results()
