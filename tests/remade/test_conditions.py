"""One condition of each kind of edct and cvqa, made here and now, has the bytes that committed tables were made from.

Conditions of vce are computed in float32 and differ between processors: `tests/remade/test_vce.py`.
"""

import hashlib
from pathlib import Path

import pytest

from cfeval.core.record import read
from cfeval.edct.asked import Conditions
from cfeval.edct.files import stage_files
from tests.remade.conftest import CVQA, EDCT, EDCT_RESULTS
from tests.workflow.study import PROJECT, Study


@pytest.fixture(scope="module")
def committed() -> dict[str, str | None]:
    """Every file that a committed table rests on, by hash."""
    steps = [step for record in PROJECT.glob("results/**/tables.made.json") for step in read(record)]
    return {path: sha for step in steps for path, sha in step["inputs"].items()}


@pytest.mark.parametrize("kind", EDCT)
def test_scores_made_here_have_the_known_bytes(kind: str, study: Study, tmp_path: Path) -> None:
    results = Path(EDCT_RESULTS)
    for condition, sha in EDCT[kind].items():
        told, out = tmp_path / "told.json", tmp_path / condition.vlm
        told.write_text(Conditions(conditions=[condition]).as_json())
        study.run("cfeval", "edct", "scores", "--study", str(told), "--results", EDCT_RESULTS, "--out", str(out))
        [file] = stage_files(results, "scores", condition, 1)
        made = out / file.relative_to(results / "scores" / condition.dataset / condition.vlm)
        assert hashlib.sha256(made.read_bytes()).hexdigest().startswith(sha)


@pytest.mark.parametrize("kind", CVQA)
def test_answers_made_here_have_the_scores_of_the_committed_ones(
    kind: str, committed: dict[str, str | None], study: Study, tmp_path: Path
) -> None:
    for file in map(Path, CVQA[kind]):
        questions = f"results/cvqa/questions/{file.parent.name}.jsonl"
        out = tmp_path / file.parent.name
        study.run("cfeval", "cvqa", "scores", "--questions", questions, "--answers", str(file), "--out", str(out))
        made = out / file.name
        assert (
            hashlib.sha256(made.read_bytes()).hexdigest()
            == committed[f"results/cvqa/scores/{file.parent.name}/{file.name}"]
        )
