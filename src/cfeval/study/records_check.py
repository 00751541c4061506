"""Whether the results of a study are what its parameters ask for, by the records of its steps, and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.record import Records, forget, option, steps
from cfeval.core.vouching import vouched
from cfeval.study.unscored import unscored
from cfeval.study.whole import Job, Whole, outdated

_SHOWN = 3
"""Faults of a step that are printed."""


def verify_studies(study: Whole, names: Sequence[str], limit: int, remove_former: bool) -> None:
    """Check the results of some evaluations by their records, and print what does not hold.

    Args:
        study: the study.
        names: of the evaluations, as `edct`.
        limit: how many faults of each to print.
        remove_former: whether to remove results of former parameters, once all else holds.

    Raises:
        InputError: something does not hold; then nothing is removed.
    """
    jobs, records = study.jobs(names), Records()
    checked = []
    for name in names:
        if not (its := [job for job in jobs if job.study == name]):
            raise InputError(f"{name}: params.yaml has no such evaluation")
        checked.append(Results(f"{study.root}/{name}", its, records))
    records.remember()
    if wrong := [line for one in checked if (line := one.verdict(limit))]:
        raise InputError("; ".join(wrong))
    for one in checked:
        one.conclude(limit, remove_former)


class Results:
    """The results of an evaluation, and the jobs that its parameters ask for.

    Args:
        folder: of the results.
        jobs: parents first.
        records: what is there now.
    """

    def __init__(self, folder: str, jobs: Sequence[Job], records: Records) -> None:
        self.folder, self.jobs, self.outdated, self._records = folder, jobs, outdated(jobs), records
        asked = {option(step, "--out") for job in jobs for step in steps(job.words)}
        found = vouched(Path(folder), records.hashes)
        own = [kept for kept in found.steps if kept.before == f"{folder}/"]
        self._now = found.only(kept for kept in own if kept.out in asked)
        self._former = found.only(kept for kept in own if kept.out not in asked)
        self._moved = [kept for kept in found.steps if kept.before != f"{folder}/"]
        self._strays, self._broken = found.only(own).unnamed(), found.broken

    @property
    def former(self) -> list[str]:
        """The files of steps that no parameters ask for any more, as they were made."""
        return [path for path, sha in self._outputs_of_former() if self._former.hash_of(path) == sha]

    def faults(self) -> Iterator[str]:
        """All that does not hold, a line each."""
        known = {kept.out: kept for kept in self._now.steps}
        for job in self.jobs:
            its = [known[out] for step in steps(job.words) if (out := option(step, "--out")) in known]
            found = [f"{kept.out}: {told}" for kept in its if (told := _short(self._records.faults(kept.step)))]
            yield from found or ([f"{job.name}: {job.reason}"] if job.reason else [])
        for kept in self._now.steps:
            for path in self._now.unvouched(kept):
                yield f"{kept.out}: made from {self.folder}/{path}, which no record names"
        for path, fault in self._broken.items():
            yield f"{self.folder}/{path}: {fault}"
        for kept in self._moved:
            yield f"{self.folder}/{kept.record}: of {kept.out}, which lies elsewhere"
        for path in self._strays:
            yield f"{self.folder}/{path}: no record names it; move it out of the results"
        for path, sha in self._outputs_of_former():
            if self._former.hash_of(path) not in (None, sha):
                yield f"{self.folder}/{path}: made with earlier parameters and changed since; move it away"

    def _outputs_of_former(self) -> Iterator[tuple[str, str]]:
        for kept in self._former.steps:
            yield from kept.outputs.items()

    def verdict(self, limit: int) -> str:
        """Print what does not hold; says in a line what to do, empty where all holds."""
        faults = list(self.faults())
        for line in faults[:limit]:
            print(f"FAIL {line}")
        if len(faults) > limit:
            print(f"FAIL … and {len(faults) - limit} more; see --limit")
        if self.outdated:
            number = f"{len(self.outdated)} of {len(self.jobs)} results"
            return f"{self.folder}: {number} are outdated or missing; run the study again"
        if faults:
            return f"{self.folder}: {len(faults)} records do not match; see above"
        return "; ".join(unscored(self.jobs))

    def conclude(self, limit: int, remove_former: bool) -> None:
        """Say that all holds; name results of former parameters, or remove them."""
        former, removed = self.former, ", removed" * remove_former
        for path in former[:limit]:
            print(f"{self.folder}/{path}: made with earlier parameters{removed}")
        if len(former) > limit:
            print(f"and {len(former) - limit} more{removed}")
        for kept in self._former.steps if remove_former else ():
            forget(Path(self.folder, kept.record), [kept.out])
        if former and not remove_former:
            print(f"{self.folder}: --remove-former removes results of earlier parameters")
        print(f"{self.folder}: all {len(self.jobs)} results are up to date, and records account for every file")


def _short(faults: Iterable[str]) -> str:
    """The first of some faults, on a line."""
    told = list(faults)
    return "; ".join(told[:_SHOWN]) + f"; and {len(told) - _SHOWN} more" * (len(told) > _SHOWN)
