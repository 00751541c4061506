"""Which jobs are out of date: each one's record says, and a file tells Snakemake, the marker, an input of the job.

Snakemake compares times, and its own notes do not travel with the files. So every job that calls cfeval has one input
more, always the same, `.cfeval/stale/HASH`: of new content and newer than the output where the job's record does not
hold, and old where it does. Where it holds, no time matters: after a checkout they mean nothing.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake.utils import format as filled

from cfeval.core import record
from cfeval.core.record import MEMORY, Records
from stored import Stored, StoredRecords

JOBS = "CFEVAL_JOBS"
"""The environment variable that names a file into which a run writes the jobs that it knows (cfeval.audit.whole).

A dry run with it changes nothing, no file's time either: it may look on while another run is at work.
"""
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
        self._cannot_run = cannot_run
        self.jobs: dict[str, Job] = {}
        self._made_from: dict[str, list[Job]] = {}
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
                    self._mark(name, self.jobs[name])
            return [] if self._looks_on else marker_path(name)

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
        words = record.words_of(text.replace(self._place, "") if self._place else text)
        made, taken = ([str(path).removeprefix(self._place) for path in paths] for paths in (outputs, inputs))
        job = Job(rule.name, made, taken, words, self.records.reason(words) or "", dict(its))
        for path in taken:
            self._made_from.setdefault(path, []).append(job)
        return job

    def _mark(self, name: str, job: Job) -> None:
        marker = Path(marker_path(name))
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
        if not self._stored:
            self._restamp(job)

    def _restamp(self, job: Job) -> None:
        """Let no output be older than what it was made from where the record holds; nor then what was made from it."""
        if job.reason or _newest(job.inputs) <= min(map(_time, job.outputs)):
            return
        for path in job.outputs:
            os.utime(_stamped(path), ns=(self._began, self._began))
        for other in (other for path in job.outputs for other in self._made_from.get(path, ())):
            self._restamp(other)


class _Wildcards:
    """Wildcards by attribute, as a shell command names them."""

    def __init__(self, its: Mapping[str, str]) -> None:
        vars(self).update(its)


def looks_on(workflow: Any) -> bool:
    """Whether a run only writes down what jobs there are."""
    return bool(os.environ.get(JOBS)) and workflow.output_settings.dryrun


def marker_path(output: str) -> str:
    """Where the marker of a job lies, by its first output."""
    return f"{MEMORY}/stale/{hashlib.sha256(output.encode()).hexdigest()[:16]}"


def _newest(paths: list[str]) -> int:
    return max((_time(path) for path in paths if os.path.exists(path)), default=0)


def _time(path: str) -> int:
    try:
        return os.stat(_stamped(path)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _stamped(path: str) -> str:
    """The file whose time Snakemake looks at: for a folder, the one that it puts into it."""
    if not os.path.isdir(path):
        return path
    stamp = os.path.join(path, ".snakemake_timestamp")
    Path(stamp).touch() if not os.path.exists(stamp) else None
    return stamp
