"""Results do not depend on the number of shards, of which some may be empty, nor on an earlier number."""

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


def finish(root: Path, shards: int, target: str, **sections: Any) -> Study:
    """A study cut into so many shards, finished."""
    study = lay_out(root / str(shards) / "study", deepcopy(PARAMS) | {"shards": shards} | sections)
    if target == "vce":
        shutil.copy2(PROJECT / "pyproject.toml", study.root)  # by it the folder of the weights is found
        for name in WEIGHTS:
            for ending in (".json", ".safetensors"):
                shutil.copy2(PROJECT / "data/models" / f"{name}{ending}", study.root / "data/models")
    study.run("snakemake", "--", target)
    return study


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
    whole, three, seven = (finish(tmp_path, shards, target, **sections) for shards in (1, 3, 7))
    expected = whole.merged()
    assert three.merged() == expected
    assert seven.merged() == expected
    assert any(name.endswith("metrics.json") for name in expected)
    assert any("/figures/" in name for name in expected)
    shards = [content for name, content in seven.results(cut).items() if "provenance" not in name]
    assert b"" in shards, "no shard is empty, and none shows that an empty one works"
    seven.set_params(seven.params() | {"shards": 3})
    seven.run("snakemake", "--", target)
    assert made_of_all(seven) == made_of_all(three), "what the former seven left behind is not read"


def made_of_all(study: Study) -> dict[str, bytes]:
    """What is made of all shards together."""
    places = (
        "results/tables/",
        "results/figures/",
        "results/vce/groups/",
        "results/vce/sheets/",
        "results/cvqa/fates/",
    )
    found = {name: content for name, content in study.results().items() if name.startswith(places)}
    return {name: content for name, content in found.items() if "provenance" not in name}
