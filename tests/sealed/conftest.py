"""Conditions of each kind, made here and now in a copy of the project, one run for each file of parameters.

The whole of the studies is made by `make seal-all` before a release; the sidecars beside the sealed tables name by hash
every file that they rest on, so that a few conditions tell whether this machine would make the same.
"""

import pytest

from tests.workflow.study import Study, whole

OF_CALIBRATION = "workflow/params/calibration.yaml"
_EDCT = "results/calibration/edct/scores/world"
_CVQA = "results/cvqa/scores"
KINDS = {
    "an editor that goes wrong, behind a gate": [f"{_EDCT}/shortcut/grammar/edct-2025/flawed-gated-read/grammar.csv"],
    "a learned editor": [f"{_EDCT}/grounded/grammar/edct-2025/diffusion/grammar.csv"],
    "every judge under the 2026 protocol": [
        f"{_EDCT}/mixed-25/grammar/edct-bench-2026/scene/{judge}.csv"
        for judge in ("grammar", "lexical", "reader", "noisy", "panel")
    ],
    "a target asked again, another writer, an uncited edit": [
        f"{_EDCT}/mixed-50-again/grammar/edct-2025/scene/lexical.csv",
        f"{_EDCT}/mixed-50/grammar-first/edct-2025/scene/grammar.csv",
        f"{_EDCT}/prior/grammar/uncited-edit/scene/grammar.csv",
    ],
    "programs and a model on a set that is built": [
        f"{_CVQA}/built/{solver}.jsonl" for solver in ("world-programs", "world-cot")
    ],
    "a model and an agent on puzzles": [f"{_CVQA}/synthetic-fresh/puzzles.jsonl", f"{_CVQA}/synthetic/agent.jsonl"],
}
"""Files of edct and cvqa, the same by bytes on every machine."""

VCE = ("brittle/base", "standard/maskdime")
"""Conditions of vce, by classifier and method."""
GUIDED = VCE[0]
"""The one that is made once more, guided a tenth more than in the sealed tables."""
_MORE_GUIDANCE = """
vce:
  methods:
    base: {preset: dbvce, respacing: "20", start: 0.4, scales: [1.1], lp_weight: 0.3}
"""


def groups(condition: str, root: str = "results") -> str:
    """The file of a condition of vce."""
    return f"{root}/vce/groups/world/world/{condition}.jsonl"


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The copy; where the calibration is made, vce is guided more."""
    study = whole(tmp_path_factory.mktemp("sealed") / "study")
    overlay = study.root / OF_CALIBRATION
    overlay.write_text(overlay.read_text() + _MORE_GUIDANCE)
    usual, calibration = [groups(condition) for condition in VCE], [groups(GUIDED, "results/calibration")]
    for file in (file for files in KINDS.values() for file in files):
        (calibration if file.startswith(_EDCT) else usual).append(file)
    study.run("snakemake", "--", *usual)
    study.run("snakemake", "--configfile", OF_CALIBRATION, "--", *calibration)
    return study
