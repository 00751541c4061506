"""`cfeval verify --results` reads the records that steps write beside the results, and believes none of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.hashes import Hashes
from cfeval.core.images import folder_of
from cfeval.core.record import outputs_of, record_of
from cfeval.core.vouching import vouched
from cfeval.edct.files import STAGES
from tests.conftest import Run
from tests.edct.verification.study import PLAIN, Study
from tests.edct.verification.tamper import Results

INPUTS = {"counterfactuals": ["items"], "requeries": ["items", "counterfactuals"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of a study in which every step has its record; some name what their file was made from."""
    project = tmp_path_factory.mktemp("project")
    results = Results(project / "results/edct")
    Study(results.folder, [PLAIN], calls=False)
    for stage in STAGES:
        put(project, results.file(stage), [results.file(name) for name in INPUTS.get(stage, ())])
    return project


def put(project: Path, out: Path, inputs: list[Path], shards: int = 1) -> None:
    """Write the record of a step as the step would."""

    def hashed(paths: list[str]) -> dict[str, str | None]:
        return {path.removeprefix(f"{project}/"): Hashes().path(path) for path in paths}

    words = ["edct", "items", "--out", str(out), *(["--shards", str(shards)] if shards > 1 else [])]
    options = {"": words[:2], "--out": str(out.relative_to(project))}
    outputs = hashed(outputs_of(words))
    step = {"options": options, "inputs": hashed([*map(str, inputs)]), "outputs": outputs, "code": {}, "packages": {}}
    Path(record_of(words)).write_text(json.dumps({"steps": [step]}, sort_keys=True))


@pytest.fixture
def recorded(made: Path, tmp_path: Path) -> Results:
    """A copy to change."""
    return Results(Path(shutil.copytree(made, tmp_path / "study")) / "results/edct")


def record(results: Results, stage: str) -> Path:
    file = results.file(stage)
    return file.with_name(f"{file.name}.made.json")


def faults(results: Path) -> list[str]:
    return sorted(f"{file.relative_to(results)} {fault}" for file, fault in vouched(results).faults() if fault)


def test_results_hold_wherever_they_lie_and_a_changed_explanation_does_not(
    recorded: Results, cfeval: Run, tmp_path: Path
) -> None:
    assert [fault for _, fault in vouched(recorded.folder).faults()] == [""] * 14
    for place in ("requeries/elsewhere", "baselines", "results/lax/edct"):
        assert faults(Path(shutil.copytree(recorded.folder, tmp_path / place))) == []
    status, out, _ = cfeval("verify", "--results", recorded.folder)
    assert (status, "\nfine; the chain's head is " in out) == (0, True)
    recorded.alter("baselines", "a", explanation="Because.")
    status, out, _ = cfeval("verify", "--results", recorded.folder)
    assert (status, "baselines/d/m.jsonl: is not the file that m.jsonl.made.json names" in out) == (2, True)


def test_a_file_and_what_was_made_from_it_no_longer_hold_when_it_changes(recorded: Results, cfeval: Run) -> None:
    recorded.alter("items", "a", kind="another")
    assert faults(recorded.folder) == [
        "counterfactuals/d/m/w/e/edct-2025.jsonl was made from another items/d.jsonl than lies there now",
        "items/d.jsonl is not the file that d.jsonl.made.json names",
        "requeries/d/m/w/e/edct-2025.jsonl was made from another items/d.jsonl than lies there now",
    ]
    status, out, _ = cfeval("verify", "--results", recorded.folder)
    assert (status, out.count("FAIL")) == (2, 3)


def test_changed_images_and_files_that_are_gone_are_found(recorded: Results) -> None:
    recorded.place("counterfactuals", "extra.png", 3)
    recorded.file("requeries").unlink()
    shutil.rmtree(folder_of(recorded.file("checks")))
    assert faults(recorded.folder) == [
        "checks/d/m/w/e/edct-2025 its images are not those that edct-2025.jsonl.made.json names",
        "counterfactuals/d/m/w/e/edct-2025 its images are not those that edct-2025.jsonl.made.json names",
        "requeries/d/m/w/e/edct-2025.jsonl is not the file that edct-2025.jsonl.made.json names",
    ]


def test_a_folder_without_images_is_there_or_not(recorded: Results) -> None:
    empty = recorded.folder / "groups/g"
    empty.mkdir(parents=True)
    empty.with_suffix(".jsonl").touch()
    put(recorded.folder.parents[1], empty.with_suffix(".jsonl"), [])
    assert faults(recorded.folder) == []
    empty.rmdir()
    assert faults(recorded.folder) == []


def test_an_input_beside_the_study_lies_elsewhere_and_is_no_fault(recorded: Results) -> None:
    file = record(recorded, "items")
    content = json.loads(file.read_text())
    content["steps"][0]["inputs"]["../photos/"] = "0"
    file.write_text(json.dumps(content))
    assert faults(recorded.folder) == []


REQUERIES = "results/edct/requeries/d/m/w/e/edct-2025.jsonl"


def told(**parts: Any) -> str:
    """A record of one step."""
    step = {"options": {"--out": REQUERIES}, "inputs": {}, "outputs": {}}
    return json.dumps({"steps": [{**step, "code": {}, "packages": {}, **parts}]})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        *((content, "is no record of a step") for content in ("", "[]", '{"steps": 1}', '{"steps": [1]}', "\x00")),
        (told(), "is no record of a step"),
        (told(outputs={"x": 1}), "is no record of a step"),
        (told(outputs={"results/edct/requeries/d/m/w/e/edct-2025/../../x": "0"}), "names a path with '..' in it"),
        (told(outputs={REQUERIES: "0"}, inputs={"results/edct/../x": "0"}), "names a path with '..' in it"),
        (
            told(outputs={"results/edct/items/d.jsonl": "0"}),
            "tells of other files than those beside which it lies",
        ),
    ],
)
def test_a_record_that_cannot_be_read_is_found(recorded: Results, content: str, fault: str) -> None:
    record(recorded, "requeries").write_text(content)
    assert faults(recorded.folder) == [f"requeries/d/m/w/e/edct-2025.jsonl.made.json {fault}"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_file_without_a_record_is_named(recorded: Results, cfeval: Run, stage: str) -> None:
    record(recorded, stage).unlink()
    status, out, _ = cfeval("verify", "--results", recorded.folder)
    assert status == 2
    assert f"FAIL {recorded.file(stage)}: no record (X.made.json) names it; restore the file" in out
    rest_on_it = [name for name, inputs in INPUTS.items() if stage in inputs]
    assert out.count("FAIL") == 1 + len(rest_on_it)
    assert out.count(", which no record names; restore") == len(rest_on_it)


Move = Callable[[Results], object]
MOVES: dict[str, Move] = {
    "another stage": lambda r: shutil.move(record(r, "baselines"), f"{r.file('requeries')}.made.json"),
    "another name": lambda r: shutil.move(
        record(r, "baselines"), r.file("baselines").with_name("other.jsonl.made.json")
    ),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_record_in_another_place_vouches_for_nothing(recorded: Results, cfeval: Run, move: Move) -> None:
    move(recorded)
    out = cfeval("verify", "--results", recorded.folder)[1]
    assert f"FAIL {recorded.file('baselines')}: no record (X.made.json) names it" in out
    assert "tells of other files than those beside which it lies" in out


def test_one_record_names_all_shards_of_its_step(tmp_path: Path) -> None:
    results = tmp_path / "results/edct"
    files = [results / f"items/d/{number:03}.jsonl" for number in range(3)]
    Study(results, [PLAIN], shards=3, calls=False)
    put(tmp_path, results / "items/d.jsonl", [], shards=3)
    assert [fault for _, fault in vouched(results).faults(files)] == [""] * 6
    files[2].write_text("")
    assert faults(results) == ["items/d/002.jsonl is not the file that d.jsonl.made.json names"]


def test_a_file_that_the_checked_conditions_do_not_rest_on_needs_no_record(recorded: Results, cfeval: Run) -> None:
    for stage in ("verdicts", "scores"):
        file = recorded.file(stage)
        (file.parents[1] / "k").mkdir()
        shutil.copy(file, file.parents[1] / "k" / file.name)
    assert cfeval("verify", "--results", recorded.folder, "--conditions", json.dumps([PLAIN.model_dump()]))[0] == 0
    assert "k/edct-2025.jsonl: no record" in cfeval("verify", "--results", recorded.folder)[1]


def test_results_without_any_record_are_not_called_fine_without_saying_so(recorded: Results, cfeval: Run) -> None:
    for stage in STAGES:
        record(recorded, stage).unlink()
    recorded.alter("baselines", "a", explanation="Because.")
    status, out, _ = cfeval("verify", "--results", recorded.folder)
    assert status == 0
    assert out.splitlines()[-1].startswith("fine, but without records: no X.made.json ties")
