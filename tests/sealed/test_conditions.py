"""One condition of each kind of edct and cvqa, made here and now, has the bytes that the sealed tables were made from.

The whole of the studies is made by `make seal-all` before a release; the sidecars beside the sealed tables name by hash
every file that they rest on, so that a few conditions tell whether this machine would make the same. Conditions of vce
are computed in float32 and differ between processors: `tests/sealed/test_vce.py`.
"""

import hashlib
import json
from pathlib import Path

import pytest

from tests.workflow.study import PROJECT, whole

CALIBRATION = ["--configfile", "workflow/params/calibration.yaml"]
EDCT = "results/calibration/edct/scores/world"
CVQA = "results/cvqa/scores"
KINDS = {
    "an editor that goes wrong, behind a gate": (
        CALIBRATION,
        [f"{EDCT}/shortcut/grammar/edct-2025/flawed-gated-read/grammar.csv"],
    ),
    "a learned editor": (
        CALIBRATION,
        [f"{EDCT}/grounded/grammar/edct-2025/diffusion/grammar.csv"],
    ),
    "every judge under the 2026 protocol": (
        CALIBRATION,
        [
            f"{EDCT}/mixed-25/grammar/edct-bench-2026/scene/{judge}.csv"
            for judge in ("grammar", "lexical", "reader", "noisy", "panel")
        ],
    ),
    "a target asked again, another writer, an uncited edit": (
        CALIBRATION,
        [
            f"{EDCT}/mixed-50-again/grammar/edct-2025/scene/lexical.csv",
            f"{EDCT}/mixed-50/grammar-first/edct-2025/scene/grammar.csv",
            f"{EDCT}/prior/grammar/uncited-edit/scene/grammar.csv",
        ],
    ),
    "programs and a model on a set that is built": (
        [],
        [f"{CVQA}/built/{solver}.jsonl" for solver in ("world-programs", "world-cot")],
    ),
    "a model and an agent on puzzles": (
        [],
        [f"{CVQA}/synthetic-fresh/puzzles.jsonl", f"{CVQA}/synthetic/agent.jsonl"],
    ),
}


@pytest.fixture(scope="module")
def sealed() -> dict[str, str]:
    """Every file that a sealed table rests on, by hash."""
    found: dict[str, str] = {}
    for sidecar in sorted(PROJECT.glob("results/**/tables/*.made.json")):
        found |= json.loads(sidecar.read_text())["inputs"]
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By hash, every file that one of the kinds wants, all of a study made by one run in a copy of the project."""
    study = whole(tmp_path_factory.mktemp("sealed") / "study")
    wanted: dict[tuple[str, ...], list[str]] = {}
    for options, files in KINDS.values():
        wanted.setdefault(tuple(options), []).extend(files)
    for options, files in wanted.items():
        study.run("snakemake", *options, "--", *files)
    return {file: _sha256(study.root / file) for files in wanted.values() for file in files}


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_made_here_has_the_bytes_of_the_sealed_one(
    kind: str, sealed: dict[str, str], made: dict[str, str]
) -> None:
    _, files = KINDS[kind]
    assert {file: sealed[file] for file in files} == {file: made[file] for file in files}


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
