"""`cfeval verify --results` makes every table of the three evaluations again, and names the first cell that differs."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from cfeval import cli
from cfeval.core.cli_options import StudyParams
from cfeval.core.hashes import Hashes
from cfeval.core.jsonl import write_jsonl
from cfeval.core.record import outputs_of
from cfeval.core.shards import atomic_records_with_images, file_with_images
from cfeval.cvqa import step_params
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables.replies import SetFacts, SolverFacts
from cfeval.study.recompute import difference
from cfeval.vce import asked as vce_asked
from cfeval.vce.records import ExplainedNetwork, SourceImage
from tests.audit.bundle.study import make
from tests.conftest import Run
from tests.cvqa.pairs import image_of, pair
from tests.vce.stages.test_groups import BLUES, CONDITION, GREENS, IMAGES, RECORDS, REDS, grouped, measured

GENDERS = "mine/genders.csv"
"""A file that the tables of cvqa rest on, from outside the results."""


def recorded(study: str, told: StudyParams) -> None:
    """Make the tables of the results in the working folder, with their record; and one beside every record file."""
    Path("told.json").write_text(told.as_json())
    results = f"results/{study}"
    assert cli.run([study, "tables", "--study", "told.json", "--results", results, "--out", f"{results}/tables"]) == 0
    for path in map(str, Path("results").rglob("*.jsonl")):
        outputs = {one: Hashes().path(one) for one in outputs_of(["a", "b", "--out", path])}
        step = {"options": {"--out": path}, "inputs": {}, "outputs": outputs, "code": {}, "packages": {}}
        Path(f"{path}.made.json").write_text(json.dumps({"steps": [step]}))


def edct(place: Path) -> None:
    make(place)


def vce(place: Path) -> None:
    """Counterfactuals of plain colours, with their scores, groups and tables."""
    results = place / "results/vce"
    of = Path(CONDITION.image_set, CONDITION.denoiser, CONDITION.classifier, f"{CONDITION.method}.jsonl")
    for stage in ("images", "counterfactuals", "scores", "groups"):
        (results / stage / ("" if stage == "images" else of.parent)).mkdir(parents=True)
    with atomic_records_with_images(results / "images" / f"{CONDITION.image_set}.jsonl") as add:
        for number, (name, image) in enumerate(REDS.items()):
            ref = image.ref(f"{name}.png")
            add(SourceImage(id=name, label="red", number=number, image=ref), {ref.path: image})
    with atomic_records_with_images(results / "counterfactuals" / of) as add:
        for one in RECORDS:
            ref = (GREENS | BLUES)[one.id].ref(f"{one.id}.png")
            add(one.model_copy(update={"image": ref}), {ref.path: IMAGES[one.id]})
    found = measured(RECORDS)
    write_jsonl(results / "scores" / of, found)
    write_jsonl(results / "groups" / of, grouped(found))
    network = ExplainedNetwork(name=CONDITION.classifier, parameters=10, robust=False, timed=False, n=2, n_right=2)
    write_jsonl(results / "networks" / f"{CONDITION.image_set}.jsonl", [network])
    with chdir(place):
        recorded("vce", vce_asked.AskedTables(conditions=(CONDITION,)))


def cvqa(place: Path) -> None:
    """Questions, answered at random, with their scores and tables."""
    files = {stage: f"results/cvqa/{stage}/s/m.jsonl" for stage in ("answers", "scores")}
    questions = "results/cvqa/questions/s.jsonl"
    for path in (*files.values(), questions, GENDERS):
        (place / path).parent.mkdir(parents=True)
    pairs = [pair(number) for number in range(1, 9)]
    file_with_images(place / questions, [(one.id, one, {one.image.path: image_of(one)}) for one in pairs])
    (place / GENDERS).write_text("id,bb_gender\n1,Female\n")
    given = [f"--questions={questions}", f"--answers={files['answers']}"]
    with chdir(place):
        asked = [given[0], '--solver={"plugin": "random"}', "--seed=1", "--out", files["answers"]]
        assert cli.run(["cvqa", "answers", *asked]) == 0
        assert cli.run(["cvqa", "scores", *given, "--out", "results/cvqa/scores/s"]) == 0
        condition = CvqaCondition(set="s", solver="m")
        facts = {"sets": {"s": SetFacts()}, "solvers": {"m": SolverFacts(kind="random")}}
        recorded("cvqa", step_params.TablesParams(conditions=(condition,), genders=GENDERS, **facts))


MAKERS: dict[str, Callable[[Path], None]] = {"edct": edct, "vce": vce, "cvqa": cvqa}
TABLES = {"edct": "edct_table1", "vce": "vce_methods", "cvqa": "cvqa_table3"}


@pytest.fixture(scope="module", params=MAKERS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An evaluation, and the folder of a study of it."""
    place = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param](place)
    return request.param, place


@pytest.fixture
def study(made: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """The evaluation, and its results in a copy of the folder, which is the working folder."""
    place = Path(shutil.copytree(made[1], tmp_path / "copy"))
    monkeypatch.chdir(place)
    return made[0], Path("results", made[0])


def altered(file: Path, change: Callable[[str], str]) -> None:
    """Change a file, and its hash in every provenance record, as one would who wants it to pass."""
    old = Hashes().path(str(file))
    file.write_text(change(file.read_text()))
    new = Hashes().path(str(file))
    for record in Path("results").rglob("*.made.json"):
        record.write_text(record.read_text().replace(str(old), str(new)))


def test_tables_that_follow_from_their_records_hold_wherever_the_results_are(
    study: tuple[str, Path], cfeval: Run, tmp_path: Path
) -> None:
    _, results = study
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    moved = Path(shutil.copytree(results, tmp_path / "elsewhere" / "kept"))
    for folder in (results, moved):
        status, out, err = cfeval("verify", "--results", folder)
        assert status == 0, (out, err)
        assert "tables " in out
        assert "could not be made again" not in out
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_a_cell_that_does_not_follow_is_named_whatever_the_records_say(study: tuple[str, Path], cfeval: Run) -> None:
    name, results = study
    file = results / "tables" / f"{TABLES[name]}.csv"
    header, row, *_ = csv.reader(file.read_text().splitlines())
    place, cell = next((place, cell) for place, cell in list(enumerate(row))[::-1] if cell)

    def change(text: str) -> str:
        rows = list(csv.reader(text.splitlines()))
        rows[1][place] = f"7{cell}"
        csv.writer(changed := io.StringIO(), lineterminator="\n").writerows(rows)
        return changed.getvalue()

    altered(file, change)
    status, out, err = cfeval("verify", "--results", results)
    assert status == 2, err
    [line] = [line for line in out.splitlines() if line.startswith(f"FAIL {file}")]
    assert "line 2 (" in line
    assert f"{header[place]} is '7{cell}', not '{cell}'" in line


def test_a_table_for_readers_is_compared_too(study: tuple[str, Path], cfeval: Run) -> None:
    name, results = study
    altered(results / "tables" / f"{TABLES[name]}.md", lambda text: text.replace("|", "| ", 1))
    status, out, _ = cfeval("verify", "--results", results)
    assert status == 2
    assert f"{TABLES[name]}.md: comes out different" in out
    assert "line 3 is" in out


def test_what_a_table_rests_on_and_is_gone_is_said(study: tuple[str, Path], cfeval: Run) -> None:
    name, results = study
    if name != "cvqa":
        pytest.skip("its tables rest on no file outside the results")
    Path(GENDERS).write_text("id,bb_gender\n2,Male\n")
    status, out, _ = cfeval("verify", "--results", results)
    assert status == 0
    assert (
        f"could not be made again: results/cvqa/tables/cvqa_answers.csv ({GENDERS} is not the file that it was" in out
    )
    Path(results, "tables.made.json").unlink()
    assert "table3.csv (no record of a step that makes tables names it)" in cfeval("verify", "--results", results)[1]


OTHERS: dict[str, dict[str, Any]] = {
    "results above": {"--results": "../results"},
    "results elsewhere": {"--results": "/results"},
    "no file of results": {"--results": ["x"]},
    "an unknown option": {"--other": "x"},
    "an output elsewhere": {"--out": "/x/tables"},
    "another step": {"": ["edct", "report"]},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_record_cannot_have_anything_else_run_or_written(study: tuple[str, Path], cfeval: Run, kind: str) -> None:
    _, results = study
    record = results / "tables.made.json"
    content = json.loads(record.read_text())
    content["steps"][0]["options"] |= OTHERS[kind]
    record.write_text(json.dumps(content))
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    status, out, _ = cfeval("verify", "--results", results)
    assert status == 2 or (kind == "another step" and "no record of a step that makes tables names it" in out)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


VCE_FAULTS = {
    "images": ('"label": "red"', '"label": "blue"', "its original 'r0' is of class 'blue', not 'red'"),
    "counterfactuals": ('"status": "ok"', '"status": "rejected"', "is not the score of its counterfactual"),
    "scores": ('"predicted": "green"', '"predicted": "red"', "ta is 1.0, not 0.916667"),
    "groups": ('"n": 12', '"n": 13', "n is 13, not 12"),
}


@pytest.mark.parametrize("stage", VCE_FAULTS)
def test_counterfactuals_scores_and_groups_that_do_not_fit_are_named(
    study: tuple[str, Path], cfeval: Run, stage: str
) -> None:
    name, results = study
    if name != "vce":
        pytest.skip("records of vce")
    old, new, says = VCE_FAULTS[stage]
    [file] = (results / stage).rglob("*.jsonl")
    assert old in file.read_text()
    altered(file, lambda text: text.replace(old, new, 1))
    status, out, _ = cfeval("verify", "--results", results)
    assert status == 2
    assert says in out


def test_images_of_counterfactuals_are_those_that_their_records_name(study: tuple[str, Path], cfeval: Run) -> None:
    name, results = study
    if name != "vce":
        pytest.skip("images of vce")
    next((results / "counterfactuals").rglob("*.png")).write_bytes(b"x")
    assert cfeval("verify", "--results", results)[0] == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("t.csv", "a,b\nx,1\n", "a,b\nx,1\n", ""),
        ("t.csv", "a,b\nx,1\ny,2\n", "a,b\nx,1\ny,3\n", "line 3 (y), b is '2', not '3'"),
        ("t.csv", "a,b\nx,1\n", "a,c\nx,1\n", "line 1 is 'a,b', not 'a,c'"),
        ("t.csv", "a,b\nx,1\n", "a,b\nx,1\ny,2\n", "line 3 is '', not 'y,2'"),
        ("t.csv", "a\n1\n", "a\r\n1\r\n", "its line ends are others"),
        ("t.json", '{"a": 1}\n', '{"a": 2}\n', "line 1 is '{\"a\": 1}', not '{\"a\": 2}'"),
    ],
)
def test_the_first_difference_is_named(tmp_path: Path, name: str, old: str, new: str, says: str) -> None:
    file, again = tmp_path / name, tmp_path / f"again-{name}"
    file.write_bytes(old.encode())
    again.write_bytes(new.encode())
    assert difference(file, again) == says
