"""`make pairs` as the guide has it: its table is printed, every φ is near what the rule gives; the guide's figures."""

import csv
import re
import shutil
from pathlib import Path

import pytest

from tests.workflow.study import PROJECT, Study, whole

GUIDE = PROJECT / "docs/guides/given-pairs.md"
TABLE = "results/pairs/edct/tables/edct_pairs"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, str]:
    """A copy of the project in which `make pairs` ran, and what it printed; the environment is the project's."""
    study = whole(tmp_path_factory.mktemp("pairs") / "project")
    shutil.copy2(PROJECT / "Makefile", study.root / "Makefile")
    (study.root / ".venv").symlink_to(PROJECT / ".venv")
    return study, study.run("make", "--old-file=.venv/demo", "pairs")


def rows(study: Study) -> dict[str, dict[str, str]]:
    with (study.root / f"{TABLE}.csv").open(encoding="utf-8", newline="") as lines:
        return {row["vlm"]: row for row in csv.DictReader(lines) if not row["kind"]}


def test_it_prints_its_table_and_ends_with_the_report(made: tuple[Study, str]) -> None:
    study, said = made
    assert (study.root / f"{TABLE}.md").read_text(encoding="utf-8") in said
    report = re.findall(r"^Done in \d+ s\. Open (\S+)\.$", said, re.MULTILINE)
    assert [Path(study.root, path).is_file() for path in report] == [True]


def test_every_test_model_is_near_the_phi_that_its_rule_gives_or_has_none(made: tuple[Study, str]) -> None:
    of = rows(made[0])
    assert len(of) == 8
    without = {name for name, row in of.items() if row["expected_none"]}
    assert without == {"blind-listing", "memorising"}
    for name, row in of.items():
        assert row["within"] == ("" if name in without else "1"), name
        assert row["phi"] != "" or row["moved"] == "0.0000"
        assert 0.4 < int(row["n_changed_first"]) / int(row["n"]) < 0.6


def test_the_guides_figures_are_those_of_the_table(made: tuple[Study, str]) -> None:
    of, text = rows(made[0]), GUIDE.read_text(encoding="utf-8")
    told = {name: float(value.replace("−", "-")) for value, name in re.findall(r"(−?\d?\.\d\d) \(`([a-z]+)`\)", text)}
    assert told == {name: float(of[name]["expected_phi"]) for name in ("grounded", "confabulating")}
    known = [float(row["expected_phi"]) for row in of.values() if row["expected_phi"]]
    assert (max(known), min(known)) == (told["grounded"], told["confabulating"])
    counted = {8: "eight"}[len(of)]
    assert f"runs the same protocol on {counted} test models" in re.sub(r"\s+", " ", text)
