"""Counterfactuals of the test bed, made here and now: in float32 the committed figures, in float64 the recorded bytes.

In float32 the order in which a processor's libraries add up reaches the last digit of a number, and now and then a
pixel. In float64 it does not reach a level of a pixel.
"""

import csv
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean

import pytest

from cfeval.core.images import folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.vce.records import GroupScore, VceCounterfactual
from tests.remade.conftest import GUIDED, VCE, groups
from tests.workflow.study import PROJECT, Study

Figures = dict[str, float]
COUNTED = ("ta", "oa", "fr", "misread", "ota", "cv")
"""Shares of counterfactuals."""
OTHERWISE, RELATIVE, ABSOLUTE = 2, 0.01, 0.01
"""Of a condition's counterfactuals, how many may come out otherwise; by how much other figures may differ.

A kernel distance (`kd_…`) is a square, and may differ by twice as much.
"""

COMMANDS = "import json, sys; from cfeval.cli import run; sys.exit(any(run(words) for words in json.load(sys.stdin)))"
"""Runs commands in one process, which imports their libraries once, under the environment that it is given."""
METHOD = {"preset": "dbvce", "respacing": "20", "start": 0.4, "scales": [1.0], "lp_weight": 0.3}
GROUPS = [{"source": "red circle", "target": "red square"}]
DOUBLE, ROBUST = {"plugin": "world", "dtype": "float64"}, {"kind": "robust"}
KINDS = ("brittle", "transformer")
FLOAT64 = "d0403cf1528b768f87201d89c6499b796724250a356ea925bafcaef0e6ea5914"
"""SHA-256 of the pixels of the counterfactuals in float64, on every processor."""
PROCESSORS = {
    "this one": {},
    "without vectors": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    },
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
"""What torch, oneDNN and MKL are told to use; what a processor lacks, they leave. This one may have AVX-512."""


@pytest.fixture(scope="module")
def committed() -> dict[str, Figures]:
    """The means over groups in the committed table of methods, by condition."""
    found: dict[str, Figures] = defaultdict(dict)
    with (PROJECT / "results/vce/tables/vce_methods.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["mean"] and not row["metric"].endswith(("_se", "denoiser_calls")):  # errors of others; of the method
                found[f"{row['classifier']}/{row['method']}"][row["metric"]] = float(row["mean"])
    return found


def figures(study: Study, file: str) -> Figures:
    """Of a condition that was made, the means over its groups of all figures."""
    made = list(read_jsonl(study.root / file, GroupScore))
    names = {name for group in made for name in group.figures}
    found = {name: mean(group.figures[name] for group in made if name in group.figures) for name in names}
    return found | {"ota": found["ota_mean"]}


def differing(found: Mapping[str, float], expected: Mapping[str, float], count: int = 150) -> list[str]:
    """The figures that differ by more than processors do; one that is not there differs."""
    wrong = []
    for name, value in expected.items():
        relative = RELATIVE * (1 + name.startswith("kd_"))
        allowed = OTHERWISE / count if name in COUNTED else max(ABSOLUTE, relative * abs(value))
        if name not in found or abs(found[name] - value) > allowed + 1e-4:  # the table has four decimals
            wrong.append(f"{name}: {found.get(name)}, committed {value}")
    return wrong


@pytest.mark.parametrize("condition", VCE)
def test_a_condition_made_here_has_the_figures_of_the_committed_one(
    condition: str, committed: dict[str, Figures], study: Study
) -> None:
    assert differing(figures(study, groups(condition)), committed[condition]) == []


def test_a_tenth_more_guidance_is_told_from_the_committed_condition(
    committed: dict[str, Figures], study: Study
) -> None:
    found = figures(study, groups(GUIDED, "results/calibration"))
    assert len(differing(found, committed[GUIDED])) > 3


def test_conditions_are_told_from_one_another(committed: dict[str, Figures]) -> None:
    for condition in VCE:
        others = [other for other in committed if other != condition]
        assert others
        assert all(len(differing(committed[other], committed[condition])) > 3 for other in others)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_counterfactuals_in_float64_have_the_same_bytes_on_every_processor(processor: str, tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | PROCESSORS[processor]

    def step(verb: str, out: Path, **options: object) -> list[str]:
        told = {name: value if isinstance(value, str | Path) else json.dumps(value) for name, value in options.items()}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in (told | {"out": out}).items()]
        return ["vce", verb, *words]

    images, made = tmp_path / "images.jsonl", [tmp_path / f"{kind}.jsonl" for kind in KINDS]
    how = {"images": images, "method": METHOD, "groups": GROUPS, "denoiser": DOUBLE, "robust": DOUBLE | ROBUST}
    commands = [
        step("images", images, image_set={"plugin": "world"}, label="red circle", count=2, size=32, seed=7),
        *(step("counterfactuals", out, classifier=DOUBLE | {"kind": out.stem}, seed=7, **how) for out in made),
    ]
    told = json.dumps(commands)
    subprocess.run([sys.executable, "-c", COMMANDS], env=environment, input=told, text=True, check=True)
    assert hashlib.sha256(b"".join(pixels for file in made for pixels in pixels_in(file))).hexdigest() == FLOAT64


def pixels_in(made: Path) -> Iterator[bytes]:
    """The pixels of each counterfactual, as bytes."""
    for record in read_jsonl(made, VceCounterfactual):
        assert record.image is not None
        yield load(folder_of(made), record.image).pixels.tobytes()
