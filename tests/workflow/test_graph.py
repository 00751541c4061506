"""Snakemake's own graph against the lists of jobs, job by job: the same inputs and the same outputs."""

import re
from pathlib import Path

import pytest

from cfeval.config import Params, load
from cfeval.core.provenance.jobs import Job
from cfeval.jobs import jobs
from tests.workflow.study import PROJECT, Study, whole

TARGETS = {"all", "edct", "vce", "cvqa"}
_BLOCK = re.compile(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", re.MULTILINE)
_FIELD = re.compile(r"^ {4}(input|output): (.*)$", re.MULTILINE)
Files = tuple[frozenset[str], frozenset[str]]
"""What a job takes and makes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project without results, its rules without messages: Snakemake then tells of each job in full."""
    folder = whole(tmp_path_factory.mktemp("graph") / "study").root
    for file in (folder / "workflow/rules").glob("*.smk"):
        file.write_text(re.sub(r"\n {4}message:\n {8}.*", "", file.read_text()))
    return folder


@pytest.fixture(scope="module")
def default(folder: Path) -> dict[str, list[Files]]:
    """What Snakemake tells of the default study."""
    return told(folder, "all")


def told(folder: Path, *options: str) -> dict[str, list[Files]]:
    """By rule: what each job of Snakemake's takes and makes, the mark of stale ones left out."""
    command = ("snakemake", "--workflow-profile", "none", "--cores", "1", "--nocolor", "--dry-run", *options)
    said = Study(folder).run(*command)
    found: dict[str, list[Files]] = {}
    for rule, block in _BLOCK.findall(said):
        fields = {name: {_plain(file) for file in files.split(", ")} for name, files in _FIELD.findall(block)}
        files = frozenset(fields.get("input", set()) - {".cfeval/stale"}), frozenset(fields.get("output", set()))
        found.setdefault(rule, []).append(files)
    return found


def _plain(file: str) -> str:
    return file.removesuffix(" (update)").removesuffix(" (local)")


def listed(params: Params, root: str) -> dict[str, Job]:
    return {job.name: job for job in jobs(params, root)}


@pytest.mark.parametrize(
    ("options", "shards", "root"),
    [((), 1, "results"), (("--config", "shards=3", "name=three"), 3, "results/three")],
    ids=["the default study", "in three shards"],
)
def test_every_job_of_snakemake_is_one_of_the_list(
    folder: Path,
    default: dict[str, list[Files]],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    shards: int,
    root: str,
) -> None:
    monkeypatch.chdir(PROJECT)
    params = load(Path("params.yaml")).model_copy(update={"shards": shards})
    known = listed(params, root)
    rules = told(folder, *options, "--", "all") if options else default
    found = {files for rule, of in rules.items() if rule not in TARGETS for files in of}
    wanted = {(frozenset(job.inputs), frozenset(job.made_files)) for job in known.values()}
    assert found - wanted == set()
    assert wanted - found == set()
    assert sum(len(of) for rule, of in rules.items() if rule not in TARGETS) == len(known)


def test_one_rule_makes_the_jobs_of_one_stage(default: dict[str, list[Files]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    by_name = {files: job.stage for job in jobs(load(Path("params.yaml"))) for files in job.made_files}
    stages = {rule: {by_name[file] for _, made in of for file in made} for rule, of in default.items()}
    assert {rule: of for rule, of in stages.items() if len(of) > 1} == {}
    assert len(stages) - len(TARGETS & stages.keys()) == len(set(by_name.values()))


def test_without_a_target_edct_is_made(folder: Path) -> None:
    rules = told(folder)
    assert "edct" in rules
    assert not [rule for rule in rules if rule.startswith(("vce", "cvqa"))]
