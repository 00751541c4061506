"""Results depend neither on the number of shards, of which some may be empty, nor on how images are kept."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.workflow.conftest import Shared
from tests.workflow.study import CONDITION, PARAMS, Study, lay_out
from tests.workflow.test_cvqa import CVQA
from tests.workflow.test_vce import METHOD, NAMES, VCE, with_weights

EDCT = PARAMS["edct"] | {"items": 2, "tables": {"table1": [CONDITION], "bench": [CONDITION]}, "known": {}}
ONE_CLASSIFIER = VCE | {
    "classifiers": {kind: VCE["classifiers"][kind] for kind in ("standard", "robust")},
    "methods": {"base": METHOD},
    "conditions": [NAMES | {"classifier": ["standard"], "method": ["base"]}],
    "roles": {"base": "base", "robust": ["robust"]},
}
ONE_SOLVER_A_SET = CVQA | {
    "conditions": [{"set": ["synthetic"], "solver": ["programs"]}, {"set": ["built"], "solver": ["says-b"]}]
}
PARTS: dict[str, Any] = {"edct": EDCT, "vce": ONE_CLASSIFIER, "cvqa": ONE_SOLVER_A_SET}
PLACES = ("results/cvqa/report/index.html", "results/edct/report/index.html", "results/vce/report/index.html")
"""Pages name where images lie, which shards decide."""


def test_shards_and_archives_change_no_byte_of_records_tables_figures_and_metrics(shared: Shared) -> None:
    def make(folder: Path) -> None:
        study = with_weights(lay_out(folder / "home" / "study", deepcopy(PARAMS) | {"shards": 1} | PARTS))
        study.run("snakemake", "--", "all")

    whole = Study(shared("whole", make) / "home" / "study")
    cut = whole.copy(whole.home.parent / "cut")
    cut.run("rm", "-r", "results", ".snakemake")
    cut.set_params(cut.params() | {"shards": 3, "images": "archive"})
    cut.run("snakemake", "--", "all")
    verdicts = cut.results("results/edct/verdicts")
    assert b"" in [content for name, content in verdicts.items() if name.endswith(".jsonl")], "a shard is empty"
    assert not list((cut.root / "results").rglob("*/counterfactuals/**/*.png"))
    one, three = whole.merged(1), cut.merged(3)
    for results in (one, three):
        for name in [name for name in results if name in PLACES or name.endswith((".zip", ".png"))]:
            if "/figures/" not in name:
                del results[name]
    assert three == one
    assert any(name.endswith("metrics.json") for name in one)
    assert any("/figures/" in name for name in one)
    assert cut.nothing_to_do("--", "all")
    assert cut.stale() == {}
    archive = next((cut.root / "results/edct/counterfactuals").rglob("*.zip"))
    content = bytearray(archive.read_bytes())
    content[40] ^= 1
    archive.write_bytes(content)
    [job] = [name for name in cut.stale() if "/counterfactuals/" in name]
    assert str(archive.parent.relative_to(cut.root)) == job
