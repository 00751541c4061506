"""The notebook of the docs runs, in a study's folder, and what it shows is what it showed when it was written."""

import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.datasets.sample import Sample
from cfeval.edct.files import stage_files
from cfeval.edct.records import Baseline, Condition, Instruction, Requery, Score
from tests.images import image

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "results.ipynb"
NAMES = {
    "dataset": "world", "vlm": "shortcut", "writer": "grammar", "protocol": "edct-2025", "editor": "scene", "judge": "j"
}  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with the parameters and the published tables of the repository, and the records of one item."""
    for name in ("data", "params.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    results = tmp_path / "results" / "edct"
    results.mkdir(parents=True)
    (results / "tables").symlink_to(ROOT / "results" / "edct" / "tables")
    records = {
        "items": Sample(id="a", image=image(1).ref("a.png"), question="what?"),
        "baselines": Baseline(id="a", question="what?", answer="a cat", explanation="ears"),
        "instructions": Instruction(id="a", concept="ears", positive="No ears"),
        "requeries": Requery(id="a", answer="a cat", explanation="tail"),
    }
    for stage, record in records.items():
        [file] = stage_files(results, stage, Condition(**NAMES), 1)
        write_jsonl(file, [record])
    [file] = stage_files(results, "scores", Condition(**NAMES), 1)
    write_csv(file, Score, [Score(**NAMES, id="a", pcs=0, ncc=1, ccs=0)])
    return tmp_path


def texts(cell: Any) -> list[str]:
    """What a cell shows, as plain text."""
    return [output["data"]["text/plain"] for output in cell["outputs"] if "data" in output]


@pytest.mark.slow
def test_the_notebook_runs_and_tables_show_what_is_published(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = nbformat.read(NOTEBOOK, as_version=4)
    made = nbformat.read(NOTEBOOK, as_version=4)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(study)}}).execute()
    cells = [(old, new) for old, new in zip(kept.cells, made.cells, strict=True) if new.cell_type == "code"]
    assert all(new["outputs"] for _, new in cells)
    same = [texts(old) for old, new in cells if texts(old) == texts(new)]
    assert len(same) >= 3, "tables and columns; the items are those of the fixture"


def test_the_notebook_was_run_from_top_to_bottom_and_names_no_machine() -> None:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds == {"execute_result"}, "no error, nothing on stderr"
    shown = [json.dumps(output["data"]) for cell in cells for output in cell["outputs"]]
    assert not [text for text in shown if re.search(r"(?<![\w<])/(home|tmp|root|work|Users)\b", text)]
