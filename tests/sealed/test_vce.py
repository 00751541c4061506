"""Counterfactuals of the test bed, made here and now: in float32 the sealed figures, in float64 the recorded bytes.

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
from tests.workflow.study import PROJECT, Study, whole

Figures = dict[str, float]
Condition = tuple[str, str]
"""Classifier and method."""

CONDITIONS: tuple[Condition, ...] = (("brittle", "base"), ("standard", "maskdime"))
COUNTED = ("ta", "oa", "fr", "misread", "ota", "cv")
"""Shares of counterfactuals."""
OTHERWISE, RELATIVE, ABSOLUTE = 2, 0.01, 0.01
"""Of a condition's counterfactuals, how many may come out otherwise; by how much other figures may differ."""

MORE_GUIDANCE = """\
vce:
  methods:
    base: {preset: dbvce, respacing: "20", start: 0.4, scales: [1.1], lp_weight: 0.3}
"""
"""An overlay by which the base method is guided a tenth more than in the sealed tables."""

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
    "AVX-512": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
    },
}
"""What torch, oneDNN and MKL are told to use; what a processor lacks, they leave."""


@pytest.fixture(scope="module")
def sealed() -> dict[Condition, Figures]:
    """The means over groups in the sealed table of methods, by condition."""
    found: dict[Condition, Figures] = defaultdict(dict)
    with (PROJECT / "results/vce/tables/vce_methods.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["mean"] and not row["metric"].endswith(("_se", "denoiser_calls")):  # errors of others; of the method
                found[row["classifier"], row["method"]][row["metric"]] = float(row["mean"])
    return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A copy of the project, with none of its results."""
    return whole(tmp_path_factory.mktemp("sealed") / "study")


def figures(study: Study, condition: Condition, *options: str, where: str = "results/vce") -> Figures:
    """A condition, made: the means over its groups of all figures."""
    file = f"{where}/groups/world/world/{'/'.join(condition)}.jsonl"
    study.run("snakemake", *options, "--", file)
    groups = list(read_jsonl(study.root / file, GroupScore))
    names = {name for group in groups for name in group.figures}
    found = {name: mean(group.figures[name] for group in groups if name in group.figures) for name in names}
    return found | {"ota": found["ota_mean"]}


def differing(found: Mapping[str, float], expected: Mapping[str, float], count: int = 150) -> list[str]:
    """The figures that differ by more than processors do; one that is not there differs."""
    wrong = []
    for name, value in expected.items():
        allowed = OTHERWISE / count if name in COUNTED else max(ABSOLUTE, RELATIVE * abs(value))
        if name not in found or abs(found[name] - value) > allowed + 1e-4:  # the table has four decimals
            wrong.append(f"{name}: {found.get(name)}, sealed {value}")
    return wrong


@pytest.mark.parametrize("condition", CONDITIONS, ids="/".join)
def test_a_condition_made_here_has_the_figures_of_the_sealed_one(
    condition: Condition, sealed: dict[Condition, Figures], study: Study
) -> None:
    assert differing(figures(study, condition), sealed[condition]) == []


def test_a_tenth_more_guidance_is_told_from_the_sealed_condition(
    sealed: dict[Condition, Figures], study: Study
) -> None:
    (study.root / "defect.yaml").write_text(MORE_GUIDANCE)
    found = figures(study, CONDITIONS[0], "--configfile", "defect.yaml", where="results/defect/vce")
    assert len(differing(found, sealed[CONDITIONS[0]])) > 3


def test_conditions_are_told_from_one_another(sealed: dict[Condition, Figures]) -> None:
    for condition in CONDITIONS:
        others = [other for other in sealed if other != condition]
        assert others
        assert all(len(differing(sealed[other], sealed[condition])) > 3 for other in others)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_counterfactuals_in_float64_have_the_same_bytes_on_every_processor(processor: str, tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | PROCESSORS[processor]

    def stage(verb: str, out: Path, **options: object) -> list[str]:
        told = {name: value if isinstance(value, str | Path) else json.dumps(value) for name, value in options.items()}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in (told | {"out": out}).items()]
        return ["stage", "vce", verb, *words]

    images, made = tmp_path / "images.jsonl", [tmp_path / f"{kind}.jsonl" for kind in KINDS]
    how = {"images": images, "method": METHOD, "groups": GROUPS, "denoiser": DOUBLE, "robust": DOUBLE | ROBUST}
    commands = [
        stage("images", images, image_set={"plugin": "world"}, label="red circle", count=2, size=32, seed=7),
        *(stage("counterfactuals", out, classifier=DOUBLE | {"kind": out.stem}, seed=7, **how) for out in made),
    ]
    told = json.dumps(commands)
    subprocess.run([sys.executable, "-c", COMMANDS], env=environment, input=told, text=True, check=True)
    assert hashlib.sha256(b"".join(pixels for file in made for pixels in pixels_in(file))).hexdigest() == FLOAT64


def pixels_in(made: Path) -> Iterator[bytes]:
    """The pixels of each counterfactual, as bytes."""
    for record in read_jsonl(made, VceCounterfactual):
        assert record.image is not None
        yield load(folder_of(made), record.image).pixels.tobytes()
