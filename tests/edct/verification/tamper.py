"""Ways to change the results of a study."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cfeval.core.images import folder_of
from cfeval.edct.files import stage_files
from cfeval.edct.records import Condition
from tests.edct.verification.study import PLAIN
from tests.images import image

Lines = list[str]


class Results:
    """The results of a study, to change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, stage: str, condition: Condition = PLAIN) -> Path:
        return stage_files(self.folder, stage, condition, 1)[0]

    def image(self, stage: str, name: str, condition: Condition = PLAIN) -> Path:
        return folder_of(self.file(stage, condition)) / name

    def lines(self, stage: str, change: Callable[[Lines], Lines], condition: Condition = PLAIN) -> None:
        """Change the lines of a record file, not its header."""
        path = self.file(stage, condition)
        lines = path.read_text().splitlines(keepends=True)
        head = 1 if path.suffix == ".csv" else 0
        path.write_text("".join([*lines[:head], *change(lines[head:])]))

    def drop(self, stage: str, item: str, condition: Condition = PLAIN) -> None:
        self.lines(stage, lambda lines: [line for line in lines if not _is(line, stage, item)], condition)

    def twice(self, stage: str, item: str) -> None:
        self.lines(stage, lambda lines: [*lines, *(line for line in lines if _is(line, stage, item))])

    def alter(self, stage: str, item: str, edit: int = 1, condition: Condition = PLAIN, /, **fields: Any) -> None:
        """Set fields of a record; a dictionary is merged into the one that is there."""
        if stage == "scores":
            self._alter_row(item, edit, condition, fields)
        else:
            self.lines(stage, lambda lines: [_altered(line, item, edit, fields) for line in lines], condition)

    def _alter_row(self, item: str, edit: int, condition: Condition, fields: dict[str, Any]) -> None:
        path = self.file("scores", condition)
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            if (row["id"], row["edit"]) == (item, str(edit)):
                row.update(fields)
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def place(self, stage: str, name: str, value: int, condition: Condition = PLAIN) -> None:
        """Put another image in the place of one, or a new one where there is none."""
        self.image(stage, name, condition).write_bytes(image(value, (12, 10)).png)


def _is(line: str, stage: str, item: str) -> bool:
    return f",{item}," in line if stage == "scores" else json.loads(line)["id"] == item


def _altered(line: str, item: str, edit: int, fields: dict[str, Any]) -> str:
    record = json.loads(line)
    if record["id"] != item or record.get("edit", edit) != edit:
        return line
    for name, value in fields.items():
        both = isinstance(value, dict) and isinstance(record[name], dict)
        record[name] = {**record[name], **value} if both else value
    return json.dumps(record) + "\n"
