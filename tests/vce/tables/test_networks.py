"""Table 1: each classifier as it is on the study's originals, and the paper's beside those that stand for one."""

import json
from pathlib import Path

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import ExplainedNetwork
from cfeval.vce.stages.networks import networks, parameters_of
from cfeval.vce.tables.classifiers import TABLE1
from cfeval.vce.tables.group_scores import PublishedNetwork, group_material
from tests.conftest import Run
from tests.vce.stages.colors import Colors
from tests.vce.tables.groups import PAPER, REFERENCE

PRINTED = tuple(read_csv(REFERENCE / "dbvce-table1.csv", PublishedNetwork))


def network(name: str = "mine", n: int = 20, right: int = 15, **changed: object) -> ExplainedNetwork:
    known = {"parameters": 25_557_032, "robust": False, "timed": False}
    return ExplainedNetwork.model_validate({"name": name, "n": n, "n_right": right, **known, **changed})


def test_a_row_has_the_study_s_figures_and_the_paper_s_beside() -> None:
    roles = Roles(paper={"mine": "Madry"}, robust=("mine",), noise_trained=("noisy",))
    made = {"photos": [network(robust=True), network("noisy", timed=True), network("f", 0, 0, parameters=None)]}
    found = TABLE1.rows(group_material([], roles=roles, networks=made, networks_in_paper=PRINTED))
    mine, noisy, function = found
    assert (mine.accuracy, mine.kind, mine.robust, mine.n) == (0.75, "robust", "yes", 20)
    assert mine.accuracy_lo < 0.75 < mine.accuracy_hi  # type: ignore[attr-defined]
    assert (mine.paper, mine.paper_parameters, mine.paper_accuracy) == ("Madry", 25_000_000, 0.579)
    assert mine.paper_published == "Boreiko et al. 2022"
    assert (noisy.robust, noisy.paper) == ("noise", "")
    assert (function.parameters, function.accuracy) == (None, None)
    text = markdown(TABLE1.render(found))
    assert "| mine | robust | 26 M | 0.750 [" in text
    assert "In the paper" not in markdown(TABLE1.render(found[1:]))
    assert "no classifiers" in markdown(TABLE1.render([]))


def test_the_paper_s_table_has_its_seven_classifiers() -> None:
    assert tuple(cell.classifier for cell in PRINTED) == PAPER
    assert {cell.classifier for cell in PRINTED if cell.accuracy is None} == {"UnetE"}


def test_accuracy_is_of_the_classes_that_a_classifier_knows() -> None:
    pixels = np.zeros((4, 4, 3), dtype=np.uint8)
    red, blue = (Image.from_pixels(pixels + np.eye(3, dtype=np.uint8)[channel] * 200) for channel in (0, 2))
    reds = [("red", red), ("red", blue), ("owl", red)]
    [found] = networks({"few": Colors("green", "red", "blue")}, reds)
    assert (found.n, found.n_right, found.parameters, found.robust) == (2, 1, None, False)


@pytest.mark.parametrize("kind", ["small", "standard"])
def test_parameters_are_those_of_the_weights(kind: str) -> None:
    told = json.loads(Path(f"data/models/cell-{kind}.json").read_text())
    built = registry.build("classifiers", {"plugin": "world", "kind": kind})
    assert parameters_of(built) == sum(weight.numel() for weight in built.network.parameters())
    assert told.get("parameters", parameters_of(built)) == parameters_of(built)


def test_the_command_looks_at_every_classifier(cfeval: Run, tmp_path: Path) -> None:
    images, out = tmp_path / "images.jsonl", tmp_path / "networks.jsonl"
    world = {"plugin": "world"}
    assert cfeval(
        *("vce", "images", "--image-set", json.dumps(world), "--label", "red circle", "--count", 3, "--size", 32),
        *("--seed", 1, "--out", images),
    ) == (0, "", "")
    asked = json.dumps({"small": world | {"kind": "small"}, "robust": world | {"kind": "robust"}})
    assert cfeval("vce", "networks", "--images", images, "--classifiers", asked, "--out", out) == (0, "", "")
    small, robust = read_jsonl(out, ExplainedNetwork)
    assert [(one.name, one.robust, one.n, one.n_right) for one in (small, robust)] == [
        ("small", False, 3, 3),
        ("robust", True, 3, 3),
    ]
