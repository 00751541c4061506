"""Results do not depend on the number of shards, of which some may be empty.

The jobs of the lists run one after the other in this process; that Snakemake's are the same, test_graph.py shows.
"""

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from cfeval import cli
from cfeval.config import parse
from cfeval.jobs import jobs
from tests.workflow.conftest import Shared
from tests.workflow.study import CONDITION, PARAMS, PROJECT, Study
from tests.workflow.test_cvqa import CVQA
from tests.workflow.test_vce import METHOD, NAMES, VCE

EDCT = PARAMS["edct"] | {"tables": {"table1": [CONDITION], "bench": [CONDITION]}, "known": {}}
ONE_CLASSIFIER = VCE | {
    "classifiers": {kind: VCE["classifiers"][kind] for kind in ("standard", "robust")},
    "methods": {"base": METHOD},
    "conditions": [NAMES | {"classifier": ["standard"], "method": ["base"]}],
    "roles": {"base": "base", "robust": ["robust"]},
}
ONE_SOLVER_A_SET = CVQA | {
    "conditions": [{"set": ["synthetic"], "solver": ["programs"]}, {"set": ["built"], "solver": ["says-b"]}]
}


@pytest.fixture
def folder(shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with own samples and the published figures, in which nothing has run."""

    def file_samples(folder: Path) -> None:
        study = Study(folder / "study")
        study.root.mkdir()
        study.import_samples(12)

    shutil.copytree(shared("samples", file_samples) / "study/data", tmp_path / "data")
    (tmp_path / "data/reference").symlink_to(PROJECT / "data/reference")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(folder: Path, params: dict[str, Any], study: str, shards: int) -> dict[str, list[bytes]]:
    """The results of a study cut into so many shards."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    for job in jobs(parse(params | {"shards": shards}), "results", study):
        assert cli.run(["stage", *job.command, *job.aside]) == 0, job.name
    return Study(folder).merged(shards)


@pytest.mark.parametrize(
    ("study", "sections", "cut"),
    [
        ("edct", {"edct": EDCT}, "results/edct/verdicts"),
        ("vce", {"vce": ONE_CLASSIFIER}, "results/vce/scores"),
        ("cvqa", {"cvqa": ONE_SOLVER_A_SET}, "results/cvqa/scores"),
    ],
    ids=["edct", "vce", "cvqa"],
)
def test_shards_change_no_byte_of_records_tables_figures_and_metrics(
    folder: Path, study: str, sections: dict[str, Any], cut: str
) -> None:
    params = deepcopy(PARAMS) | sections
    seven = made(folder, params, study, 7)
    places = "results/cvqa/report/index.html"  # the page names where images lie, which shards decide
    assert b"" in Study(folder).results(cut).values(), "no shard is empty, and none shows that an empty one works"
    three = made(folder, params, study, 3)
    whole = made(folder, params, study, 1)
    for one in (seven, three, whole):
        assert (one.pop(places, None) is None) == (study != "cvqa")
    assert three == seven
    assert whole == seven
    assert any(name.endswith("metrics.json") for name in whole)
    assert any("/figures/" in name for name in whole)
