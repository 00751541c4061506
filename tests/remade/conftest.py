"""Conditions of each kind, made here and now in a copy of the project, one run for each file of parameters.

The whole of the studies is made by `make studies` before a release; a few conditions tell whether this machine would
make the same. The records beside the committed tables name by hash every file of cvqa that they rest on.
"""

import hashlib
from pathlib import Path

import pytest

from cfeval.core.record import read
from cfeval.edct.records import Condition
from tests.workflow.study import PROJECT, Study, whole

OF_CALIBRATION = "workflow/params/calibration.yaml"
EDCT_RESULTS = "results/calibration/edct"


def _of_world(vlm: str, editor: str, judge: str, protocol: str = "edct-2025", writer: str = "grammar") -> Condition:
    return Condition(dataset="world", vlm=vlm, writer=writer, editor=editor, judge=judge, protocol=protocol)


EDCT = {
    "an editor that goes wrong, behind a gate": {
        _of_world("shortcut", "flawed-gated-read", "grammar"): "b809f6dc7be6136a",
    },
    "a learned editor": {_of_world("grounded", "diffusion", "grammar"): "9ab0768902ca6ea8"},
    "every judge under the 2026 protocol": {
        _of_world("mixed-25", "scene", "grammar", "edct-bench-2026"): "ab6ba37f489e093c",
        _of_world("mixed-25", "scene", "lexical", "edct-bench-2026"): "67acef6cc257de5c",
        _of_world("mixed-25", "scene", "reader", "edct-bench-2026"): "08e088dacd0b93f4",
        _of_world("mixed-25", "scene", "noisy", "edct-bench-2026"): "2898d4e1a260b95a",
        _of_world("mixed-25", "scene", "panel", "edct-bench-2026"): "16afaa684739878e",
    },
    "a target asked again, another writer, an uncited edit": {
        _of_world("mixed-50-again", "scene", "lexical"): "62dd2791af115c63",
        _of_world("mixed-50", "scene", "grammar", writer="grammar-first"): "1346519a1b77d0f4",
        _of_world("prior", "scene", "grammar", "uncited-edit"): "dbedae6cd5a84e96",
    },
}
"""Conditions of the calibration, and how the SHA-256 of their scores begins, which are the same on every machine."""
CVQA = {
    "programs and a model on a set that is built": [
        f"results/cvqa/answers/built/{solver}.jsonl" for solver in ("world-programs", "world-cot")
    ],
    "a model and an agent on puzzles": [
        "results/cvqa/answers/synthetic-fresh/puzzles.jsonl",
        "results/cvqa/answers/synthetic/agent.jsonl",
    ],
}
"""Files of cvqa, likewise."""

VCE = ("shortcut/no-cone", "standard/maskdime")
"""Conditions of vce, by classifier and method; the first has gradients that vanish, of a classifier that is sure."""


def groups(condition: str, root: str = "results") -> str:
    """The file of a condition of vce."""
    return f"{root}/vce/groups/world/world/{condition}.jsonl"


@pytest.fixture(scope="session")
def committed() -> dict[str, str | None]:
    """Every file that a committed table rests on, by hash."""
    steps = [step for record in PROJECT.glob("results/**/tables.made.json") for step in read(record)]
    return {path: sha for step in steps for path, sha in step["inputs"].items()}


def sha256(file: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The copy, with these conditions made."""
    study = whole(tmp_path_factory.mktemp("remade") / "study")
    usual, calibration = [groups(condition) for condition in VCE], list[str]()
    usual += [file for files in CVQA.values() for file in files]
    for one in (one for conditions in EDCT.values() for one in conditions):
        names = f"{one.dataset}/{one.vlm}/{one.writer}/{one.editor}"
        calibration += [f"{EDCT_RESULTS}/checks/{names}", f"{EDCT_RESULTS}/verdicts/{names}/{one.judge}"]
    study.run("snakemake", "--", *usual)
    study.run("snakemake", "--configfile", OF_CALIBRATION, "--", *dict.fromkeys(calibration))
    return study
