"""The record files of one arm: where they lie under a study's results, and what they hold."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from cfeval.io.pictures import folder_of
from cfeval.io.records import read_csv, read_jsonl
from cfeval.io.samples import shard_files
from cfeval.records.edct import Arm, Baseline, Counterfactual, Instruction, Requery, Sample, Score

Key = tuple[str, int]
"""An item and the number of its edit."""
R = TypeVar("R", Instruction, Requery)
P = TypeVar("P", Sample, Counterfactual)


class ArmFiles:
    """Reads the record files of an arm; each method raises InputError where one is missing or broken."""

    def __init__(self, results: Path, arm: Arm, shards: int) -> None:
        self._results, self._shards = results, shards
        self._names = (arm.dataset, arm.vlm, arm.writer, arm.protocol, arm.editor, arm.judge)

    def scores(self) -> list[Score]:
        """In the order of the ids, then of the edits."""
        rows = (row for file in self._stage("scores", 6, "csv") for row in read_csv(file, Score))
        return sorted(rows, key=lambda row: (row.id, row.edit))

    def samples(self) -> Iterator[tuple[Sample, Path]]:
        """The samples, each with the folder that holds its picture."""
        return self._with_folders("samples", 1, Sample)

    def baselines(self) -> dict[str, Baseline]:
        """The conversations about the originals."""
        return {r.id: r for file in self._stage("baseline", 2) for r in read_jsonl(file, Baseline)}

    def instructions(self) -> dict[Key, Instruction]:
        """The edit instructions."""
        return _by_edit(r for file in self._stage("instructions", 4) for r in read_jsonl(file, Instruction))

    def counterfactuals(self) -> Iterator[tuple[Counterfactual, Path]]:
        """What was made of each instruction, with the folder that holds its pictures."""
        return self._with_folders("counterfactuals", 5, Counterfactual)

    def requeries(self) -> dict[Key, Requery]:
        """The conversations about the edited images."""
        return _by_edit(r for file in self._stage("requery", 5) for r in read_jsonl(file, Requery))

    def _with_folders(self, stage: str, names: int, kind: type[P]) -> Iterator[tuple[P, Path]]:
        return ((record, folder_of(file)) for file in self._stage(stage, names) for record in read_jsonl(file, kind))

    def _stage(self, stage: str, names: int, ending: str = "jsonl") -> list[Path]:
        """The files of a stage; its path holds so many of the arm's names."""
        return shard_files(self._results / stage / ("/".join(self._names[:names]) + f".{ending}"), self._shards)


def _by_edit(records: Iterable[R]) -> dict[Key, R]:
    return {(record.id, record.edit): record for record in records}
