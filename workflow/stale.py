"""Which jobs are out of date: each one's record says, and a file tells Snakemake, the marker, an input of the job.

Snakemake compares times, and its own notes do not travel with the files. So every job that calls cfeval has one input
more, always the same, `.cfeval/markers/HASH/marker`: of new content and newer than the output where the job's record
does not hold, and old where it does. Where it holds, no time matters: after a checkout they mean nothing.

What here is not Snakemake's public interface, as there is none for it, and why (tests/workflow_unit/test_stale.py names
the versions it was seen with): `rule.set_input`, as one loop over all rules adds what each would have to repeat;
`rule.expand_input` and the like, as what a job would run is known only with its wildcards filled in; and
`dag.finished_jobs`, as nothing else says at the end which jobs a run had.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake.utils import format as filled

import surroundings
from cfeval.core import record
from cfeval.core.hashes import MEMORY
from cfeval.core.record import ENDING, Records
from stored import Stored, StoredRecords

JOBS = "CFEVAL_JOBS"
"""The environment variable that names a file into which a run writes the jobs that it knows (cfeval.study.whole).

A dry run with it changes nothing, no file's time either: it may look on while another run is at work.
"""
_STAMP = ".snakemake_timestamp"
"""A file that Snakemake puts into each folder that is an output, for its time."""
_OLD = (2, 2)
"""A time in 1970, in seconds: 0 is taken for no output, 1 is overruled by checksums."""


@dataclass
class Job:
    """A job that the targets ask for.

    Attributes:
        rule: its name.
        outputs: its files and folders.
        inputs: those of other jobs among them.
        words: what it calls, after `cfeval`.
        reason: why it is out of date by itself; empty where it is not.
    """

    rule: str
    outputs: list[str]
    inputs: list[str]
    words: list[str]
    reason: str
    wildcards: dict[str, str] = field(default_factory=dict)


class Staleness:
    """Adds the markers to rules, and keeps what it finds.

    Args:
        workflow: Snakemake's.
        stored: what a storage provider keeps, where the results do not lie in the working folder.
        cannot_run: by evaluation whose packages are not installed here, a line about that; asked for, it ends the run.
    """

    def __init__(self, workflow: Any, stored: Stored | None, cannot_run: Mapping[str, str]) -> None:
        self.workflow, self._stored, self._looks_on = workflow, stored, looks_on(workflow)
        self._leaves_no_trace = leaves_no_trace(workflow)
        self._markers: dict[str, str] = {}
        self._cannot_run = cannot_run
        self.jobs: dict[str, Job] = {}
        self.records, self._began, self._asking = self._now(), time.time_ns(), set[str]()

    def _now(self) -> Records:
        return StoredRecords(self._stored) if self._stored else Records()

    @property
    def _place(self) -> str:
        return self._stored.place if self._stored else ""

    def watch(self, rules: Any) -> None:
        """Give every rule that calls cfeval, and has none yet, its marker."""
        for rule in rules:
            if (rule.shellcmd or "").startswith("cfeval ") and "stale" not in dict(rule.input.items()):
                rule.set_input(stale=self._marker_of(rule))
                if rule.input_modifier is None:  # a rule without inputs: its marker, too, may lie in a storage
                    rule.input_modifier = rule.output_modifier

    def reason(self, output: str) -> str:
        """Why a job is out of date by itself, by its first output; empty where it is not."""
        job = self.jobs.get(output.removeprefix(self._place))
        return job.reason if job else ""

    def no_longer_hold(self) -> dict[str, str]:
        """The outputs of this run's jobs that are not what would be made now, and why: asked when all have run."""
        records = self._now()
        ran = [str(job.output[0]).removeprefix(self._place) for job in self.workflow.dag.finished_jobs if job.output]
        found = {name: records.reason(self.jobs[name].words) for name in ran if name in self.jobs}
        return {name: why for name, why in found.items() if why}

    def tell(self) -> None:
        """Keep hashes for the next process, and write down the jobs where somebody wants to know them."""
        if not self._leaves_no_trace:
            self.records.remember()
        if file := os.environ.get(JOBS):
            Path(file).write_text(json.dumps([vars(job) for job in self.jobs.values()]), encoding="utf-8")

    def _marker_of(self, rule: Any) -> Callable[[Any], list[str] | str]:
        def marker(wildcards: Any) -> list[str] | str:
            its = dict(wildcards.items())
            if rule.name in self._asking:  # asked for the rule's other inputs below
                return []
            outputs = rule.expand_output(its)[0]
            name = str(outputs[0]).removeprefix(self._place)
            if not self.workflow.is_main_process:  # a job's own process: that was decided when it was sent
                return marker_path(name)
            if fault := self._cannot_run.get(rule.name.rpartition(":")[2].partition("_")[0]):
                print(f"cfeval: {fault}", file=sys.stderr)
                raise SystemExit(2)
            if name not in self.jobs:
                self.jobs[name] = self._job(rule, its, outputs)
                if not self._looks_on:
                    self._markers[name] = self._mark(name, self.jobs[name])
            return self._markers.get(name, [])

        return marker

    def _job(self, rule: Any, its: Mapping[str, str], outputs: Any) -> Job:
        self._asking.add(rule.name)
        try:
            inputs = rule.expand_input(its)[0]
            params = rule.expand_params(its, inputs, outputs, None)[0]
            log = rule.expand_log(its)
        finally:
            self._asking.discard(rule.name)
        known = {"input": inputs, "output": outputs, "params": params, "wildcards": _Wildcards(its), "log": log}
        text = filled(rule.shellcmd, **{**self.workflow.globals, **known})
        args = record.args_of(text.replace(self._place, "") if self._place else text)
        made, taken = ([str(path).removeprefix(self._place) for path in paths] for paths in (outputs, inputs))
        return Job(rule.name, made, taken, args, self.records.reason(args) or "", dict(its))

    def _mark(self, name: str, job: Job) -> str:
        """Make a job's marker tell whether it is out of date; the marker's path."""
        marker = Path(marker_path(name))
        if self._leaves_no_trace:
            if not job.reason and marker.exists() and marker.stat().st_mtime_ns <= _time(name):
                return str(marker)
            marker = surroundings.scratch() / marker
        known = self._stored.time(str(marker)) if self._stored else marker.exists()
        if job.reason or not known:
            marker.parent.mkdir(parents=True, exist_ok=True)
            part = marker.with_name(f"{marker.name}.{os.getpid()}")
            part.write_text(json.dumps([self._began, name, job.reason]), encoding="utf-8")
            part.replace(marker)
        if not job.reason and marker.exists():
            os.utime(marker, _OLD)
        if self._stored and (job.reason or not known):
            self._stored.put(str(marker))
        return str(marker)


class _Wildcards:
    """Wildcards by attribute, as a shell command names them."""

    def __init__(self, its: Mapping[str, str]) -> None:
        vars(self).update(its)


def looks_on(workflow: Any) -> bool:
    """Whether a run only writes down what jobs there are."""
    return bool(os.environ.get(JOBS)) and workflow.output_settings.dryrun


def leaves_no_trace(workflow: Any) -> bool:
    """Whether a run only shows what it would do: what it has to write lies elsewhere, and only while it lasts.

    Not where a storage provider keeps the results: their markers lie there, too.
    """
    stored = workflow.storage_settings.default_storage_provider
    return workflow.output_settings.dryrun and not looks_on(workflow) and not stored


def marker_path(output: str) -> str:
    """Where the marker of a job lies, by its first output: in a folder of its own.

    Snakemake lists a folder once and takes for missing what comes into it later.
    """
    return f"{MEMORY}/markers/{hashlib.sha256(output.encode()).hexdigest()[:16]}/marker"


def restamp(results: str) -> None:
    """Where some result is older than what it was made from, as records tell, give all results one time.

    Times mean nothing after a checkout or a pull, and whether a result still holds, its marker says. It is done before
    Snakemake looks at any time, which it keeps.
    """
    now, outputs, in_order = time.time_ns(), set[str](), True
    for file in _records_in(results):
        steps = record.read(file)
        made = {file, file.removesuffix(ENDING), *(path for step in steps for path in step["outputs"])}
        files = (path for step in steps for path in step["inputs"] if path.startswith(f"{results}/"))
        taken = {place for path in files for place in (path, *_known_folders(path))}
        oldest = min((_time(path) for path in made if os.path.exists(path)), default=now)
        in_order = in_order and max(map(_time, taken), default=0) <= oldest
        outputs |= made
    if not in_order:
        for path in filter(os.path.exists, outputs):
            os.utime(_stamped(path), ns=(now, now))


def _known_folders(path: str) -> Iterator[str]:
    """The folders that a file lies in and that Snakemake knows as some job's output."""
    while path := os.path.dirname(path):
        if os.path.exists(os.path.join(path, _STAMP)):
            yield path


def _records_in(folder: str) -> Iterator[str]:
    """The records in a folder of results; folders of images, which lie beside record files, are not looked into."""
    for at, folders, names in os.walk(folder):
        files = set(names)
        folders[:] = [name for name in folders if f"{name}.jsonl" not in files]
        yield from (os.path.join(at, name) for name in names if name.endswith(ENDING))


def _time(path: str) -> int:
    """When a file, or a folder that Snakemake knows, was made; 0 where it is not there."""
    try:
        return os.stat(_stamped(path)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _stamped(path: str) -> str:
    """What has the time of a file or folder: for a folder that Snakemake knows, the file that it puts into it."""
    stamp = os.path.join(path, _STAMP)
    return stamp if os.path.isdir(path) and os.path.exists(stamp) else path
