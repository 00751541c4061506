"""Pairs and edits of drawn walls."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from scripted import drawn


def table(file: Path, rows: Sequence[dict[str, str]]) -> Path:
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


@pytest.fixture(scope="session")
def pairs_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pairs: of four the wall has another color, of four a lamp is gone."""
    tmp_path, rows = tmp_path_factory.mktemp("pairs"), []
    for number in range(4):
        old, new = (("red", "blue"), ("blue", "green"), ("green", "red"))[number % 3]
        files = drawn(tmp_path, old), drawn(tmp_path, new)
        rows.append(row(f"wall{number}", files, (f"{old} wall", f"{new} wall"), (old, new), "attribute"))
        files = drawn(tmp_path, old, lamp=True), drawn(tmp_path, old)
        rows.append(row(f"lamp{number}", files, ("yellow lamp", ""), (old, old), "object"))
    return table(tmp_path / "pairs.csv", rows)


def row(name: str, files: tuple[str, str], what: tuple[str, str], right: tuple[str, str], kind: str) -> dict[str, str]:
    return {
        "id": name,
        "before": files[0],
        "after": files[1],
        "question": "What color is the wall?",
        "changed": what[0],
        "became": what[1],
        "reference_before": right[0],
        "reference_after": right[1],
        "kind": kind,
    }


@pytest.fixture(scope="session")
def items_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six walls; `edits.csv` beside them has an edit of the wall's color for four, and of a lamp for one."""
    tmp_path = tmp_path_factory.mktemp("items")
    names = [f"i{number}" for number in range(6)]
    items = [
        {"id": name, "image": drawn(tmp_path, "red"), "question": "What color is the wall?", "reference": "red"}
        for name in names
    ]
    edit = {"concept": "red wall", "instruction": "Paint the wall blue.", "image": drawn(tmp_path, "blue")}
    lamp = {"concept": "lamp", "instruction": "Add a lamp.", "image": drawn(tmp_path, "red", lamp=True)}
    table(tmp_path / "edits.csv", [{"item": name, **edit} for name in names[:4]] + [{"item": names[4], **lamp}])
    return table(tmp_path / "items.csv", items)
