"""What the report reads: the records of a study's conditions, each with the folder of its images."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.core.images import folder_of
from cfeval.edct.files import stage_files, stage_records
from cfeval.edct.records import Condition


@dataclass(frozen=True)
class Study:
    """The result files of a study's conditions."""

    results: Path
    conditions: tuple[Condition, ...]
    shards: int = 1

    def records(self, stage: str, condition: Condition, items: Collection[str] | None = None) -> Iterator[Any]:
        """The records of a stage of a condition, of all items or of some, each with the folder of its images.

        Raises:
            InputError: a file is missing or broken.
        """
        for file in stage_files(self.results, stage, condition, self.shards):
            folder = folder_of(file)
            for record in stage_records(stage, file):
                if items is None or record.id in items:
                    yield record, folder
