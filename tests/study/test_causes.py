"""Why results differ: parameters by name."""

from pathlib import Path

import pytest

from cfeval.study.causes import Change, changes, parameters
from cfeval.study.revisions import WorkingFolder
from tests.study.studies import score, write_edct


def test_changed_values_are_named_by_their_place() -> None:
    old = {"shards": 1, "edct": {"judges": {"j": {"threshold": 0.5}}, "tables": [{"vlm": ["a"]}]}}
    new = {
        "shards": 1,
        "edct": {"judges": {"j": {"threshold": 0.8}}, "tables": [{"vlm": ["a", "b"]}], "x": 1},
    }
    assert changes(old, new) == [
        Change("edct.judges.j.threshold", 0.5, 0.8),
        Change("edct.tables[0].vlm", ["a"], ["a", "b"]),
        Change("edct.x", None, 1),
    ]


def test_a_study_with_a_name_has_its_own_parameters(tmp_path: Path) -> None:
    scores = [score("a", 1, 1)]
    write_edct(tmp_path, scores, threshold=0.5)
    write_edct(tmp_path, scores, name="lax", threshold=0.8)
    default, lax = WorkingFolder(tmp_path), WorkingFolder(tmp_path, "results/lax")
    assert parameters(default, lax, pytest.fail) == [Change("edct.threshold", 0.5, 0.8)]


def test_of_parameters_that_are_not_there_nothing_is_said_to_differ(tmp_path: Path) -> None:
    write_edct(tmp_path, [score("a", 1, 1)], threshold=0.5)
    lacking: list[str] = []
    assert parameters(WorkingFolder(tmp_path), WorkingFolder(tmp_path, "results/lax"), lacking.append) == []
    assert lacking == ["lax in the working folder has no results/lax/params.yaml: snakemake writes it with the results"]
