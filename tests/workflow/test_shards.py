"""Results do not depend on the number of shards, of which some may be empty, nor on what an earlier number left."""

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.study import PARAMS, PROJECT, Study, lay_out
from tests.workflow.test_cvqa import CVQA
from tests.workflow.test_vce import METHOD, NAMES, VCE, WEIGHTS

ARM = {"dataset": ["mine"], "vlm": ["ma"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
EDCT = PARAMS["edct"] | {"tables": {"table1": [ARM], "table2": [], "bench": [ARM]}}
ONE_CLASSIFIER = VCE | {
    "classifiers": {kind: VCE["classifiers"][kind] for kind in ("standard", "robust")},
    "methods": {"base": METHOD},
    "arms": [NAMES | {"classifier": ["standard"], "method": ["base"]}],
    "roles": {"base": "base", "robust": ["robust"]},
}
ONE_ANSWERER_A_SET = CVQA | {
    "arms": [{"set": ["synthetic"], "answerer": ["programs"]}, {"set": ["built"], "answerer": ["says-b"]}]
}


def begun(root: Path, target: str, **sections: Any) -> Study:
    """A study that has not run."""
    study = lay_out(root / "study", deepcopy(PARAMS) | sections)
    if target == "vce":
        shutil.copy2(PROJECT / "pyproject.toml", study.root)  # by it the folder of the weights is found
        for name in WEIGHTS:
            for ending in (".json", ".safetensors"):
                shutil.copy2(PROJECT / "data/models" / f"{name}{ending}", study.root / "data/models")
    return study


def finished(study: Study, shards: int, target: str) -> dict[str, list[bytes]]:
    """The results of a study cut into so many shards; those of a former number lie there still."""
    study.set_params(study.params() | {"shards": shards})
    study.run("snakemake", "--", target)
    return study.merged(shards)


@pytest.mark.parametrize(
    ("target", "sections", "cut"),
    [
        ("edct_tables", {"edct": EDCT}, "results/edct/verdicts"),
        ("vce", {"vce": ONE_CLASSIFIER}, "results/vce/scores"),
        ("cvqa", {"cvqa": ONE_ANSWERER_A_SET}, "results/cvqa/scores"),
    ],
    ids=["edct", "vce", "cvqa"],
)
def test_shards_change_no_byte_of_records_tables_figures_and_metrics(
    tmp_path: Path, target: str, sections: dict[str, Any], cut: str
) -> None:
    study = begun(tmp_path, target, **sections)
    seven = finished(study, 7, target)
    cut_up = [content for name, content in study.results(cut).items() if "provenance" not in name]
    assert b"" in cut_up, "no shard is empty, and none shows that an empty one works"
    three = finished(study, 3, target)
    whole = finished(study, 1, target)
    assert three == seven
    assert whole == seven
    assert any(name.endswith("metrics.json") for name in whole)
    assert any("/figures/" in name for name in whole)
