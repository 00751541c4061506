"""`cfeval verify` reads the sidecars that jobs write beside the results, and believes none of them."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cfeval.core.images import folder_of
from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.sidecars import seal_faults
from cfeval.edct.files import STAGES
from tests.conftest import Run
from tests.edct.verification.study import PLAIN, Study
from tests.edct.verification.tamper import Results

INPUTS = {"counterfactuals": ["items"], "requeries": ["items", "counterfactuals"]}
WITH_IMAGES = ("items", "counterfactuals", "checks")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of a study in which every stage has its sidecar; some name what their file was made from."""
    project = tmp_path_factory.mktemp("project")
    results = Results(project / "results/edct")
    Study(results.folder, [PLAIN], calls=False)
    for stage in STAGES:
        outputs = [results.file(stage), *([folder_of(results.file(stage))] if stage in WITH_IMAGES else [])]
        seal(project, stage, outputs, [results.file(name) for name in INPUTS.get(stage, ())])
    return project


def seal(project: Path, stage: str, outputs: list[Path], inputs: list[Path]) -> None:
    """Write the sidecar of a job as the job would."""

    def hashed(paths: list[Path]) -> dict[str, str | None]:
        names = [f"{path}{'/' if path.is_dir() else ''}" for path in paths]
        return {os.path.relpath(name, project) + "/" * name.endswith("/"): Hashes().path(name) for name in names}

    plan = {"stage": f"edct.{stage}", "command": [], "code": {}, "files": {"w.bin": "0", "v": None}, "versions": {}}
    told = {"plan": plan, "inputs": hashed(inputs), "outputs": hashed(outputs)}
    outputs[0].with_name(f"{outputs[0].name}.made.json").write_text(json.dumps(told, sort_keys=True))


@pytest.fixture
def sealed(made: Path, tmp_path: Path) -> Results:
    """A copy to change."""
    return Results(Path(shutil.copytree(made, tmp_path / "study")) / "results/edct")


def sidecar(results: Results, stage: str) -> Path:
    file = results.file(stage)
    return file.with_name(f"{file.name}.made.json")


def faults(results: Path) -> list[str]:
    return [f"{file.relative_to(results)} {fault}" for file, fault in seal_faults(results) if fault]


def test_sealed_results_hold_wherever_they_lie(sealed: Results, tmp_path: Path) -> None:
    assert [fault for _, fault in seal_faults(sealed.folder)] == [""] * 14
    for place in ("requeries/elsewhere", "baselines", "results/lax/edct"):
        assert faults(Path(shutil.copytree(sealed.folder, tmp_path / place))) == []


def test_a_file_and_what_was_made_from_it_no_longer_hold_when_it_changes(sealed: Results, cfeval: Run) -> None:
    sealed.alter("items", "a", kind="another")
    assert faults(sealed.folder) == [
        "counterfactuals/d/m/w/edct-2025/e.jsonl was made from another items/d.jsonl than lies there now",
        "items/d.jsonl is not the file that d.jsonl.made.json names",
        "requeries/d/m/w/edct-2025/e.jsonl was made from another items/d.jsonl than lies there now",
    ]
    status, out, _ = cfeval("verify", "--results", sealed.folder)
    assert (status, out.count("FAIL")) == (2, 3)


def test_changed_images_and_files_that_are_gone_are_found(sealed: Results) -> None:
    sealed.place("counterfactuals", "extra.png", 3)
    sealed.file("requeries").unlink()
    shutil.rmtree(folder_of(sealed.file("checks")))
    assert faults(sealed.folder) == [
        "checks/d/m/w/edct-2025/e its images are not those that e.jsonl.made.json names",
        "counterfactuals/d/m/w/edct-2025/e its images are not those that e.jsonl.made.json names",
        "requeries/d/m/w/edct-2025/e.jsonl is not the file that e.jsonl.made.json names",
    ]


def test_a_folder_without_images_is_there_or_not(sealed: Results) -> None:
    empty = sealed.folder / "groups/g"
    empty.mkdir(parents=True)
    empty.with_suffix(".jsonl").touch()
    seal(sealed.folder.parents[1], "groups", [empty.with_suffix(".jsonl"), empty], [])
    assert faults(sealed.folder) == []
    empty.rmdir()
    assert faults(sealed.folder) == []


OUTSIDE = '{"plan": {"stage": "", "command": [], "code": {}, "files": {}, "versions": {}}, "inputs": {}, "outputs": %s}'


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        *(
            (content, "is no provenance record of a job")
            for content in ("", "[]", '{"x": 1}', '{"outputs": 1}', "\x00")
        ),
        (OUTSIDE % '{"results/edct/requeries/../../../x": ""}', "names a path with '..' in it"),
        (OUTSIDE % '{"results/edct/items/d.jsonl": ""}', "tells of other files than the one it lies beside"),
    ],
)
def test_a_sidecar_that_cannot_be_read_is_found(sealed: Results, content: str, fault: str) -> None:
    sidecar(sealed, "requeries").write_text(content)
    assert faults(sealed.folder) == [f"requeries/d/m/w/edct-2025/e.jsonl.made.json {fault}"]


def test_sealed_results_are_fine_and_a_changed_explanation_is_not(sealed: Results, cfeval: Run) -> None:
    status, out, _ = cfeval("verify", "--results", sealed.folder)
    assert (status, "\nfine; the chain's head is " in out) == (0, True)
    sealed.alter("baselines", "a", explanation="Because.")
    status, out, _ = cfeval("verify", "--results", sealed.folder)
    assert (status, "baselines/d/m.jsonl: is not the file that m.jsonl.made.json names" in out) == (2, True)


@pytest.mark.parametrize("stage", STAGES)
def test_a_file_without_a_sidecar_is_named(sealed: Results, cfeval: Run, stage: str) -> None:
    sidecar(sealed, stage).unlink()
    status, out, _ = cfeval("verify", "--results", sealed.folder)
    assert (status, out.count("FAIL")) == (2, 1)
    assert f"FAIL {sealed.file(stage)}: no seal: no provenance record (X.made.json) names it; restore the file" in out


Move = Callable[[Results], object]
MOVES: dict[str, Move] = {
    "another stage": lambda r: shutil.move(sidecar(r, "baselines"), f"{r.file('requeries')}.made.json"),
    "another name": lambda r: shutil.move(
        sidecar(r, "baselines"), r.file("baselines").with_name("other.jsonl.made.json")
    ),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_sidecar_in_another_place_seals_nothing(sealed: Results, cfeval: Run, move: Move) -> None:
    move(sealed)
    out = cfeval("verify", "--results", sealed.folder)[1]
    assert f"FAIL {sealed.file('baselines')}: no seal: no provenance record" in out
    assert "tells of other files than the one it lies beside" in out


def test_one_sidecar_names_all_shards_of_its_job(tmp_path: Path) -> None:
    results = tmp_path / "results/edct"
    files = [results / f"items/d/{number:03}.jsonl" for number in range(3)]
    Study(results, [PLAIN], shards=3, calls=False)
    seal(tmp_path, "items", [*files, *map(folder_of, files)], [])
    assert [fault for _, fault in seal_faults(results, files)] == [""] * 6
    files[2].write_text("")
    assert faults(results) == ["items/d/002.jsonl is not the file that 000.jsonl.made.json names"]


def test_a_file_that_the_checked_conditions_do_not_rest_on_needs_no_seal(sealed: Results, cfeval: Run) -> None:
    shutil.copy(sealed.file("verdicts"), sealed.file("verdicts").with_name("other.jsonl"))
    shutil.copy(sealed.file("scores"), sealed.file("scores").with_name("other.csv"))
    assert cfeval("verify", "--results", sealed.folder, "--conditions", json.dumps([PLAIN.model_dump()]))[0] == 0
    assert "e/other.jsonl: no seal" in cfeval("verify", "--results", sealed.folder)[1]


def test_results_without_any_seal_are_not_called_fine_without_saying_so(sealed: Results, cfeval: Run) -> None:
    for stage in STAGES:
        sidecar(sealed, stage).unlink()
    sealed.alter("baselines", "a", explanation="Because.")
    status, out, _ = cfeval("verify", "--results", sealed.folder)
    assert status == 0
    assert out.splitlines()[-1].startswith("fine, but not sealed: no provenance record (X.made.json) ")
