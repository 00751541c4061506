"""A study as a whole: its parameters, its folder of results and its jobs; and `cfeval status` of it."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.config import Params, merged, named, parse, read
from cfeval.core.errors import InputError
from cfeval.core.folder import PARAMS, Evaluations, Folder, Name, ParamsFiles, check_evaluations, root_of, study_in
from cfeval.core.package import carried
from cfeval.core.record import outputs_of, record_of, steps
from cfeval.study.components import check_plugins

# The environment variable that names the file into which the workflow writes its jobs (workflow/stale.py).
JOBS = "CFEVAL_JOBS"
NOT_MADE = "not made yet"


@dataclass(frozen=True)
class Job:
    """A job of the workflow, as its rule and its wildcards make it.

    Attributes:
        rule: the rule's name, as `edct_verdicts`.
        outputs: its files and folders, the first first.
        inputs: the files and folders that it is made from.
        words: the command that it calls, after `cfeval`.
        reason: why its outputs are outdated or missing, apart from their inputs; empty if they are up to date.
        wildcards: the rule's wildcards.
    """

    rule: str
    outputs: list[str]
    inputs: list[str]
    words: list[str]
    reason: str
    wildcards: dict[str, str]

    @property
    def name(self) -> str:
        """Its first output."""
        return self.outputs[0]

    @property
    def study(self) -> str:
        """The evaluation that it is of, as `edct`."""
        return self.words[0]

    @property
    def is_absent(self) -> bool:
        """Whether nothing of it is there, neither its outputs nor its record."""
        if not self.reason or Path(record_of(self.words)).exists():
            return False
        return not any(map(outputs_of, steps(self.words)))


@dataclass(frozen=True)
class Whole:
    """A study's parameters, the folder of its results, and the overlays and name by which Snakemake gets both."""

    params: Params
    root: str
    overlays: tuple[Path, ...] = ()
    name: str = ""

    def jobs(self, studies: Sequence[str] | None = None) -> list[Job]:
        """The jobs of some evaluations, or of all, parents first, as a dry run of the workflow finds them.

        Nothing is changed, and a run that is at work here is not disturbed.

        Raises:
            InputError: there is no such evaluation, or the workflow refuses to run; its own line says why.
        """
        check_evaluations(studies)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "jobs.json")
            dry_run = ["--dry-run", "--quiet", "all", "--", *(studies or ["all"])]
            args = command(snakemake("1", self.overlays, self.name, dry_run))
            environment = {**os.environ, JOBS: str(file), "PYTHONSAFEPATH": "1"}
            done = subprocess.run(args, env=environment, capture_output=True, text=True)
            if done.returncode or not file.is_file():
                lines = [line for line in done.stderr.splitlines() if not line.startswith(("Using ", "Config file "))]
                own = [line.removeprefix("cfeval: ") for line in lines if line.startswith("cfeval: ")]
                raise InputError(own[-1] if own else " ".join(lines) or f"{sys.executable} -m snakemake failed")
            jobs = [Job(**job) for job in json.loads(file.read_text(encoding="utf-8"))]
        return _parents_first([replace(job, reason=NOT_MADE) if job.is_absent else job for job in jobs])


def _parents_first(jobs: Sequence[Job]) -> list[Job]:
    """Jobs in their order, but each after those that make its inputs."""
    makers = {path: job for job in jobs for path in job.outputs}
    done: dict[str, Job] = {}

    def add(job: Job) -> None:
        if job.name not in done:
            for maker in (makers[path] for path in job.inputs if path in makers):
                add(maker)
            done[job.name] = job

    for job in jobs:
        add(job)
    return list(done.values())


def up_to_date(root: str, wrong: int, number: int) -> str:
    """How many of the results in a folder are up to date, for a reader."""
    if not wrong:
        return f"{root}: all {number} results are up to date"
    return f"{root}: {wrong} of {number} results are outdated or missing"


def outdated(jobs: Iterable[Job]) -> dict[str, str]:
    """Why jobs are outdated, by first output; those whose inputs are outdated are, too.

    Args:
        jobs: parents first.
    """
    reasons: dict[str, str] = {}
    job_of: dict[str, str] = {}  # by outdated output the first output of its job
    for job in jobs:
        parent = next((job_of[path] for path in job.inputs if path in job_of), "")
        if why := job.reason or (f"made from {parent}, which is outdated" if parent else ""):
            reasons[job.name] = why
            job_of |= dict.fromkeys(job.outputs, job.name)
    return reasons


def whole(files: Sequence[Path] = (PARAMS,), name: str = "") -> Whole:
    """The study of this folder: of its params.yaml, with each further file laid over those before it.

    Its results lie in `results` where the parameters are those of params.yaml in this folder; see `roots.root_of`.

    Raises:
        ParamsError: the parameters cannot be used, or there is no params.yaml.
    """
    content: Any = read(files[0])
    for file in files[1:]:
        content = merged(content, read(file, overlay=True) or {})
    if name:
        content = merged(content, {"name": name})
    where, overlays = named(files), [file for file in files if file != PARAMS]
    root = root_of(read(PARAMS), content, overlays)
    return Whole(check_plugins(parse(content, where), where), root, tuple(overlays), name)


def snakemake(cores: str, overlays: Sequence[Path], name: str, more: Sequence[str]) -> list[str]:
    """The arguments of `snakemake` that run this study with the workflow that comes with cfeval.

    A profile of the user's takes the place of ours, as it does for any other workflow.
    """
    args = ["--snakefile", str(carried("Snakefile")), "--cores", cores]
    if not Path("profiles/default").is_dir():
        args += ["--workflow-profile", str(carried("profiles") / "default")]
    args += ["--configfile", *map(str, overlays)] if overlays else []
    args += ["--config", f"name={name}"] if name else []
    return [*args, *more, *([] if "--" in more else ["--", "all"])]


def shown(args: Sequence[str], folder: Path) -> str:
    """The command for a shell, from wherever it is typed."""
    return shlex.join(["snakemake", "--directory", str(folder.absolute()), *args])


def command(args: Sequence[str]) -> list[str]:
    """The command that runs Snakemake in a process of this interpreter."""
    return [sys.executable, "-m", "snakemake", *args]


def run_status(
    folder: Folder = Path(),
    evaluation: Evaluations = None,
    params: ParamsFiles = None,
    name: Name = "",
    every: Annotated[bool, typer.Option("--all", help="List every result, not only the first of each kind.")] = False,
) -> None:
    """List outdated results and explain why.

    The exit status is 1 if there are any. Nothing is changed.
    """
    with study_in(folder, params) as files:
        study = whole(files, name)
        jobs = study.jobs(evaluation)
    wrong = outdated(jobs)
    shown: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        if why := wrong.get(job.name):
            kind = job.rule, job.reason or "made from other outdated results"
            shown[kind] += 1
            if every or shown[kind] == 1:
                print(f"{job.name}: {why}")
    if not every:
        for (rule, why), number in shown.items():
            if number > 1:
                print(f"  and {number - 1} more of {rule}: {why}")
    print(up_to_date(study.root, len(wrong), len(jobs)))
    raise typer.Exit(int(bool(wrong)))
