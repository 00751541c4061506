"""A study whose images lie in archives: its records, scores and tables are those of one with folders of images."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval import cli
from cfeval.core.images import fault_of, folder_of, names_in
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import ENDING
from cfeval.edct.records import Counterfactual
from cfeval.study.whole import Job, whole
from tests.conftest import Run

PROJECT = Path(__file__).resolve().parents[1]
WORLD = {"plugin": "world"}
GATED = {"plugin": "gated", "editor": {"plugin": "flawed", "fault": "any", "share": 0.6}}
GATED |= {"verifier": {"plugin": "localised", "mask": {"plugin": "scene"}}}
CONDITION = {"dataset": ["world"], "vlm": ["grounded"], "writer": ["grammar"], "editor": ["gated"], "judge": ["reader"]}
WILSON = {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0}
METHOD = {"preset": "dbvce", "respacing": "4", "scales": [0.6], "mode": "reference"}
PARAMS: dict[str, Any] = {
    "shards": 2,
    "edct": {
        "items": 5,
        "seed": 7,
        "edits": 2,
        "prompts": "",
        "datasets": {"world": WORLD},
        "vlms": {"grounded": WORLD | {"persona": "grounded"}},
        "instruction_writers": {"grammar": {"plugin": "grammar"}},
        "editors": {"gated": GATED},
        "judges": {"reader": {"plugin": "reader"}},
        "verifiers": {"world": {"plugin": "localised", "mask": {"plugin": "scene"}}},
        "tables": {"table1": [CONDITION], "bench": [CONDITION], "controls": [CONDITION]},
        "known": {},
        "judge_error": [],
        "interval": WILSON,
    },
    "vce": {
        "images": 1,
        "size": 32,
        "seed": 5,
        "cout_steps": 0,
        "image_sets": {"world": WORLD},
        "denoisers": {"world": WORLD},
        "classifiers": {kind: WORLD | {"kind": kind} for kind in ("standard", "robust")},
        "robust": "robust",
        "oracles": ["robust"],
        "methods": {"base": METHOD},
        "groups": [
            {"source": "red circle", "ideal": "red square"},
            {"source": "blue square", "ideal": "blue cross"},
        ],
        "conditions": [{"image_set": ["world"], "denoiser": ["world"], "classifier": ["standard"], "method": ["base"]}],
        "roles": {"base": "base", "robust": ["robust"]},
    },
    "cvqa": {
        "seed": 5,
        "sets": {"world": WORLD | {"items": 8}},
        "solvers": {"world": {"plugin": "chat", "model": WORLD}},
        "sources": {"world": WORLD | {"kinds": ["count", "presence"]}},
        "question_generators": {"grammar": {"plugin": "grammar"}},
        "question_validators": {"scene": {"plugin": "scene"}},
        "builds": {
            "built": {"source": "world", "items": 8, "question_generator": "grammar", "question_validator": "scene"}
        },
        "conditions": [{"set": ["world", "built"], "solver": ["world"]}],
        "genders": "",
        "interval": WILSON,
    },
}
WITH_IMAGES = {
    "edct": {"items", "counterfactuals", "checks"},
    "vce": {"images", "counterfactuals"},
    "cvqa": {"questions", "drafts", "builds"},
}
"""The steps that write images."""


def asked(folder: Path, images: str, params: dict[str, Any] = PARAMS, *studies: str) -> list[Job]:
    """The jobs of a study in a folder, parents first."""
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(params | {"images": images}))
    with chdir(folder):
        return whole().jobs(studies)


def step_of(job: Job) -> str:
    return ".".join(job.words[:2])


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Job]]:
    """The jobs of the whole study in both modes."""
    return {mode: asked(tmp_path_factory.mktemp(mode), mode) for mode in ("folder", "archive")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A part of the study in both modes, each in a folder of its own: explanations under one protocol."""
    one_table = PARAMS | {"edct": PARAMS["edct"] | {"tables": {"table1": [CONDITION]}}}
    return both_made(tmp_path_factory, one_table, "edct")


@pytest.fixture(scope="module")
def all_made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The whole study in both modes."""
    return both_made(tmp_path_factory, PARAMS, *WITH_IMAGES)


def both_made(tmp_path_factory: pytest.TempPathFactory, params: dict[str, Any], *studies: str) -> dict[str, Path]:
    folders = {}
    for mode in ("folder", "archive"):
        folders[mode] = tmp_path_factory.mktemp(mode)
        jobs = asked(folders[mode], mode, params, *studies)
        with chdir(folders[mode]):
            for job in jobs:
                assert cli.run(job.words) == 0, job.words
                assert [path for path in job.outputs if not Path(path).exists()] == [], job.name
    return folders


def files(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, but the records of steps, which name options and files of one mode."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(ENDING))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def of_images(path: str) -> bool:
    """Whether it is an archive of images; those of calls are there in both modes."""
    return path.endswith(".zip") and not path.endswith("/calls/calls.zip")


def test_the_modes_differ_in_where_images_lie_alone(modes: dict[str, list[Job]]) -> None:
    folders, archives = ({job.name: job for job in modes[mode]} for mode in ("folder", "archive"))
    assert folders.keys() == archives.keys()
    writing = {step_of(job) for job in archives.values() if "--archive" in job.words}
    assert writing == {f"{study}.{step}" for study, of in WITH_IMAGES.items() for step in of}
    for name, one in folders.items():
        other = archives[name]
        assert [word for word in other.words if word != "--archive"] == one.words
        assert [path for path in other.inputs if not of_images(path)] == one.inputs
        assert [path for path in other.outputs if not of_images(path)] == one.outputs


def test_every_archive_that_is_read_is_one_that_is_made(modes: dict[str, list[Job]]) -> None:
    archived = modes["archive"]
    assert {path for job in archived for path in job.inputs} <= {path for job in archived for path in job.outputs}
    assert any(of_images(path) for job in archived for path in job.inputs)


@pytest.mark.slow
def test_records_scores_tables_and_images_are_equal(all_made: dict[str, Path]) -> None:
    folder, archive = (files(all_made[mode] / "results") for mode in ("folder", "archive"))
    in_both = {name for name in folder if name in archive}
    pages = {f"{study}/report/index.html" for study in ("edct", "vce", "cvqa")}
    assert {name for name in in_both if folder[name] != archive[name]} == pages
    assert {Path(name).suffix for name in archive if name not in folder} == {".zip"}
    assert {Path(name).suffix for name in folder if name not in archive} == {".png", ".npy"}
    assert any("/sheets/" in name and name.endswith(".png") for name in in_both)
    for path in (all_made["archive"] / "results").rglob("*.zip"):
        there = all_made["folder"] / path.relative_to(all_made["archive"])
        if path.name != "calls.zip":
            assert names_in(path.with_suffix("")) == names_in(there.with_suffix(""))
            assert not path.with_suffix("").exists()


@pytest.mark.slow
def test_the_report_needs_no_other_file(made: dict[str, Path]) -> None:
    page = (made["archive"] / "results/edct/report/index.html").read_text()
    assert page.count("data:image/png;base64,") > 10
    assert "../items" not in page
    assert "../items" in (made["folder"] / "results/edct/report/index.html").read_text()


@pytest.mark.slow
def test_verify_tells_a_flipped_byte(made: dict[str, Path], cfeval: Run, tmp_path: Path) -> None:
    results = made["archive"] / "results/edct"
    status, said, _ = cfeval("verify", "--results", results)
    assert (status, "FAIL" in said) == (0, False)
    file = next((results / "counterfactuals").rglob("000/*.jsonl"))
    ref = next(one.image for one in read_jsonl(file, Counterfactual) if one.image)
    archive = file.with_suffix(".zip")
    sound = archive.read_bytes()
    try:
        at = sound.index(b"IDAT", sound.index(ref.path.encode()))
        archive.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        assert fault_of(folder_of(file), ref)
        status, said, error = cfeval("verify", "--results", results)
        assert status == 2
        assert f"its image '{ref.path}' cannot be read ({archive.name} is damaged)" in said
        assert error.count("\n") == 1
    finally:
        archive.write_bytes(sound)


@pytest.mark.slow
def test_an_image_that_no_line_names_is_told(made: dict[str, Path], cfeval: Run) -> None:
    results = made["archive"] / "results/edct"
    file = next((results / "items").rglob("000.jsonl"))
    lines = file.read_text().splitlines(keepends=True)
    try:
        file.write_text("".join(lines[1:]))
        name = json.loads(lines[0])["image"]["path"]
        assert f"no line names the image {name}" in cfeval("verify", "--results", results)[1]
    finally:
        file.write_text("".join(lines))


def test_own_samples_in_an_archive_are_a_data_set(tmp_path: Path, cfeval: Run, photo: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"image,question\n{photo},What is it?\n")
    filed = tmp_path / "filed.jsonl"
    assert cfeval("edct", "import", tmp_path / "mine.csv", "--out", filed, "--archive")[0] == 0
    told = json.dumps({"plugin": "samples", "path": str(filed)})
    given = ["--dataset", told, "--items", 1, "--seed", 1, "--out", tmp_path / "taken.jsonl"]
    assert cfeval("edct", "items", *given)[0] == 0
    assert (tmp_path / "taken.jsonl").read_text() == filed.read_text()
    assert not (tmp_path / "filed").exists()
