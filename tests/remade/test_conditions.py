"""One condition of each kind, made here and now, has the bytes that committed tables were made from.

Of vce under every set of instructions that this processor has.
"""

from pathlib import Path

import pytest

from cfeval.edct.asked import Conditions
from cfeval.edct.files import stage_files
from tests.remade.conftest import CVQA, EDCT, EDCT_RESULTS, VCE, groups, sha256
from tests.workflow.study import Study

INSTRUCTIONS = {
    "without-vectors": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX512VL",
    },
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL",
    },
    "two-threads": {"OMP_NUM_THREADS": "2"},
}
"""What torch, oneDNN, MKL, OpenBLAS, numpy and the C library are told to use; without it, all that there is."""


@pytest.mark.parametrize("kind", EDCT)
def test_scores_made_here_have_the_known_bytes(kind: str, study: Study, tmp_path: Path) -> None:
    results = Path(EDCT_RESULTS)
    for condition, sha in EDCT[kind].items():
        told, out = tmp_path / "told.json", tmp_path / condition.vlm
        told.write_text(Conditions(conditions=[condition]).as_json())
        study.run("cfeval", "edct", "scores", "--study", str(told), "--results", EDCT_RESULTS, "--out", str(out))
        [file] = stage_files(results, "scores", condition, 1)
        made = out / file.relative_to(results / "scores" / condition.dataset / condition.vlm)
        assert sha256(made).startswith(sha)


@pytest.mark.parametrize("kind", CVQA)
def test_answers_made_here_have_the_scores_of_the_committed_ones(
    kind: str, committed: dict[str, str | None], study: Study, tmp_path: Path
) -> None:
    for file in map(Path, CVQA[kind]):
        questions = f"results/cvqa/questions/{file.parent.name}.jsonl"
        out = tmp_path / file.parent.name
        study.run("cfeval", "cvqa", "scores", "--questions", questions, "--answers", str(file), "--out", str(out))
        made = out / file.name
        assert sha256(made) == committed[f"results/cvqa/scores/{file.parent.name}/{file.name}"]


@pytest.mark.parametrize("condition", VCE)
def test_counterfactuals_made_here_have_the_scores_of_the_committed_ones(
    condition: str, committed: dict[str, str | None], study: Study
) -> None:
    for step in ("scores", "groups"):
        file = f"results/vce/{step}/world/world/{condition}.jsonl"
        assert sha256(study.root / file) == committed[file]


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_a_condition_of_vce_has_equal_bytes_whatever_instructions_there_are(instructions: str, study: Study) -> None:
    made = groups(VCE[0], f"results/{instructions}")
    study.run("snakemake", "--config", f"name={instructions}", "--", made, **INSTRUCTIONS[instructions])
    for step in ("counterfactuals", "scores", "groups"):  # records of counterfactuals name their images by hash
        file = f"vce/{step}/world/world/{VCE[0]}.jsonl"
        here, there = (study.root / "results" / root / file for root in ("", instructions))
        assert here.read_bytes() == there.read_bytes(), step
