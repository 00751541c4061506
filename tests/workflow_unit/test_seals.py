"""`cfeval edct verify` reads the hashes that the workflow keeps beside the results as the workflow wrote them."""

import json
import shutil
from pathlib import Path

import pytest

import provenance
from cfeval.io.pictures import folder_of
from cfeval.io.seals import seal_faults
from tests.conftest import Run
from tests.studies.evidence.study import PLAIN, Study
from tests.studies.evidence.tamper import Results


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Results in which samples, edited images and what was asked about them are sealed."""
    monkeypatch.chdir(tmp_path)
    results = Results(Path("results/edct"))
    Study(results.folder, [PLAIN], calls=False)
    files = {stage: results.file(stage) for stage in ("samples", "counterfactuals", "requery")}
    inputs = {"counterfactuals": ["samples"], "requery": ["samples", "counterfactuals"]}
    hashes = provenance.Hashes(Path("hashes.json"))
    for stage, file in files.items():
        made_from = {str(files[name]): f"sha256:{hashes.file(str(files[name]))}" for name in inputs.get(stage, ())}
        entry = {"rule": "r", "sha256": hashes.file(str(file)), "inputs": {**made_from, "w.bin": "sha256:0", "v": None}}
        entry |= {} if stage == "requery" else {"pictures": hashes.folder(str(folder_of(file)))}
        (results.folder / stage / ".provenance.json").write_text(json.dumps({str(file): entry}))
    return results


def faults(results: Path) -> list[str]:
    return [f"{file.relative_to(results)} {fault}" for file, fault in seal_faults(results) if fault]


def test_sealed_results_hold_wherever_they_lie(sealed: Results, tmp_path: Path) -> None:
    assert [fault for _, fault in seal_faults(sealed.folder)] == [""] * 8
    moved = shutil.copytree(sealed.folder, tmp_path / "requery" / "elsewhere")
    assert faults(moved) == []


def test_a_file_and_what_was_made_from_it_no_longer_hold_when_it_changes(sealed: Results, cfeval: Run) -> None:
    sealed.alter("samples", "a", kind="another")
    assert faults(sealed.folder) == [
        "counterfactuals/d/m/w/edct-2025/e.jsonl was made from another samples/d.jsonl than lies there now",
        "requery/d/m/w/edct-2025/e.jsonl was made from another samples/d.jsonl than lies there now",
        "samples/d.jsonl is not the file that .provenance.json beside it names",
    ]
    status, out, _ = cfeval("edct", "verify", "--results", sealed.folder)
    assert (status, out.count("FAIL")) == (2, 3)


def test_changed_pictures_and_files_that_are_gone_are_found(sealed: Results) -> None:
    sealed.place("counterfactuals", "extra.png", 3)
    sealed.file("requery").unlink()
    assert faults(sealed.folder) == [
        "counterfactuals/d/m/w/edct-2025/e.jsonl its pictures are not those that .provenance.json names",
        "requery/d/m/w/edct-2025/e.jsonl is not the file that .provenance.json beside it names",
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', '{"x": {"sha256": 1}}', "\x00"])
def test_entries_that_cannot_be_read_are_found(sealed: Results, content: str) -> None:
    (sealed.folder / "requery" / ".provenance.json").write_text(content)
    assert faults(sealed.folder) == ["requery/.provenance.json cannot be read"]
