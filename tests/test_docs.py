"""The README cannot rot: its commands exist, its field lists are the records', its figures are the tables'."""

import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from cfeval.backends.judges.base import JudgeRequest
from cfeval.records import edct, tables
from cfeval.records.common import Outcome, Record
from tests.conftest import Run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.findall(r"```sh\n(.*?)```|`([^`\n]+)`", README, re.DOTALL)
LINES = [line.strip() for block, inline in CODE for line in (block or inline).splitlines()]
COMMANDS = sorted({line for line in LINES if line.startswith("cfeval ")})
SHARED = {"id", "edit", *Outcome.model_fields}


def row(start: str) -> str:
    """The README's table row that starts with a cell."""
    found = [line for line in README.splitlines() if line.startswith(f"| {start}")]
    assert len(found) == 1, f"the README should have one row for {start}"
    return found[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_cfeval_command_of_the_readme_exists(cfeval: Run, command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if word != "…"]
    verb = [word for word in words[: 2 if words[0] == "edct" else 1] if not word.startswith("-")]
    status, out, _ = cfeval(*verb, "--help")
    assert status == 0
    assert all(word in out for word in words if word.startswith("--"))


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for line in LINES if line.startswith("make ") for word in line.split()[1:]}
    assert named
    assert named <= targets


def test_every_phase_of_the_readme_is_a_rule() -> None:
    rules = "".join(path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")])
    named = {word for line in LINES if line.startswith("snakemake ") for word in line.split()[1:] if "edct_" in word}
    assert named
    assert all(f"rule {word}:" in rules for word in named)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("`samples/", edct.Sample),
        ("`baseline/", edct.Baseline),
        ("`instructions/", edct.Instruction),
        ("`counterfactuals/", edct.Counterfactual),
        ("`checks/", edct.Check),
        ("`requery/", edct.Requery),
        ("`verdicts/", edct.Verdict),
        ("`scores/", edct.Score),
    ],
)
def test_every_field_of_every_file_is_in_the_readme(start: str, kind: type[Record]) -> None:
    fields = set(kind.model_fields) - SHARED - set(edct.Arm.model_fields)
    missing = {field for field in fields if f"`{field}`" not in row(start)}
    assert not missing


@pytest.mark.parametrize("name", ["samples", "files", "okvqa"])
def test_every_option_of_a_data_set_of_files_is_in_the_readme(name: str) -> None:
    options = set(importlib.import_module(f"cfeval.backends.datasets.{name}").Options.model_fields)
    assert options == set(re.findall(r"`(\w+)`", row(f"`{name}` |").split("|")[3]))


def test_every_column_of_the_tables_is_in_the_readme() -> None:
    listed = row("`../tables/edct_*.csv`")
    columns = set(tables.ArmRow.model_fields) - set(edct.Arm.model_fields)
    plain = {column for column in columns if not re.fullmatch(r"(paper_)?(pcs|ncc|ccs)(_lo|_hi)?", column)}
    assert not {column for column in plain if f"`{column}`" not in listed}


@pytest.mark.parametrize("name", ["edct_calibration", "edct_table2"])
def test_the_figures_of_the_readme_are_those_of_the_tables(name: str) -> None:
    for line in (ROOT / "results" / "tables" / f"{name}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            assert line in README


def test_the_example_of_a_backend_works(tmp_path: Path) -> None:
    [source] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "lenient.py").write_text(source)
    spec = importlib.util.spec_from_file_location("lenient", tmp_path / "lenient.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    judge = module.build(module.Options())
    [reply] = judge.judge([JudgeRequest("i", "", "", "", "", "", "", 0)])
    assert (reply.pcs, reply.ncc) == (1, 1)
