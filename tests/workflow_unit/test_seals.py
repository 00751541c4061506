"""`cfeval edct verify` reads the hashes that the workflow keeps beside the results as the workflow wrote them."""

import json
import shutil
from pathlib import Path

import pytest

import provenance
from cfeval.io.arm_files import STAGES
from cfeval.io.pictures import folder_of
from cfeval.io.seals import seal_faults
from tests.conftest import Run
from tests.studies.evidence.study import PLAIN, Study
from tests.studies.evidence.tamper import Results


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Results in which every stage is sealed; some entries name what their file was made from."""
    monkeypatch.chdir(tmp_path)
    results = Results(Path("results/edct"))
    Study(results.folder, [PLAIN], calls=False)
    files = {stage: results.file(stage) for stage in STAGES}
    inputs = {"counterfactuals": ["samples"], "requery": ["samples", "counterfactuals"]}
    hashes = provenance.Hashes(Path("hashes.json"))
    for stage, file in files.items():
        made_from = {str(files[name]): f"sha256:{hashes.file(str(files[name]))}" for name in inputs.get(stage, ())}
        entry = {"rule": "r", "sha256": hashes.file(str(file)), "inputs": {**made_from, "w.bin": "sha256:0", "v": None}}
        if stage in ("samples", "counterfactuals", "checks"):
            entry |= {"pictures": hashes.folder(str(folder_of(file)))}
        (results.folder / stage / ".provenance.json").write_text(json.dumps({str(file): entry}))
    return results


def faults(results: Path) -> list[str]:
    return [f"{file.relative_to(results)} {fault}" for file, fault in seal_faults(results) if fault]


def test_sealed_results_hold_wherever_they_lie(sealed: Results, tmp_path: Path) -> None:
    assert [fault for _, fault in seal_faults(sealed.folder)] == [""] * 14
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


def seal(results: Results, stage: str) -> Path:
    return results.folder / stage / ".provenance.json"


def test_sealed_results_are_fine_and_a_changed_explanation_is_not(sealed: Results, cfeval: Run) -> None:
    status, out, _ = cfeval("edct", "verify", "--results", sealed.folder)
    assert (status, "\nfine; the chain's head is " in out) == (0, True)
    sealed.alter("baseline", "a", explanation="Because.")
    status, out, _ = cfeval("edct", "verify", "--results", sealed.folder)
    assert (status, "baseline/d/m.jsonl: is not the file that .provenance.json beside it names" in out) == (2, True)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("content", [None, "{}"])
def test_a_seal_that_is_gone_or_does_not_name_a_file_is_named(
    sealed: Results, cfeval: Run, stage: str, content: str | None
) -> None:
    seal(sealed, stage).unlink() if content is None else seal(sealed, stage).write_text(content)
    status, out, _ = cfeval("edct", "verify", "--results", sealed.folder)
    assert (status, out.count("FAIL")) == (2, 1)
    assert f"FAIL {sealed.file(stage)}: no seal: {stage}/.provenance.json does not name it; restore the file" in out


def test_a_file_that_another_phase_names_is_not_sealed(sealed: Results, cfeval: Run) -> None:
    both = json.loads(seal(sealed, "requery").read_text()) | json.loads(seal(sealed, "baseline").read_text())
    seal(sealed, "requery").write_text(json.dumps(both))
    seal(sealed, "baseline").unlink()
    out = cfeval("edct", "verify", "--results", sealed.folder)[1]
    assert "no seal: baseline/.provenance.json does not name it" in out


def test_a_file_that_the_checked_arms_do_not_rest_on_needs_no_seal(sealed: Results, cfeval: Run) -> None:
    shutil.copy(sealed.file("verdicts"), sealed.file("verdicts").with_name("other.jsonl"))
    shutil.copy(sealed.file("scores"), sealed.file("scores").with_name("other.csv"))
    assert cfeval("edct", "verify", "--results", sealed.folder, "--arms", json.dumps([PLAIN.model_dump()]))[0] == 0
    assert "e/other.jsonl: no seal" in cfeval("edct", "verify", "--results", sealed.folder)[1]


def test_results_without_any_seal_are_not_called_fine_without_saying_so(sealed: Results, cfeval: Run) -> None:
    for stage in STAGES:
        seal(sealed, stage).unlink()
    sealed.alter("baseline", "a", explanation="Because.")
    status, out, _ = cfeval("edct", "verify", "--results", sealed.folder)
    assert (status, out.splitlines()[-1].startswith("fine, but not sealed: no .provenance.json ")) == (0, True)
