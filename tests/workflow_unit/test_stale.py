"""What workflow/stale.py takes of Snakemake that is not its public interface, and the versions it was seen with."""

import ast
from importlib.metadata import version
from inspect import getsource, signature
from pathlib import Path

import pytest
from snakemake import api, dag, rules, utils  # in this order: its modules know each other in a circle

import stale

SEEN = ((9, 18), (9, 99))
"""The first version that the Snakefile takes, and the last major one that these names were seen in."""
NAMES = {
    "rule.set_input": (rules.Rule, "set_input", ()),
    "rule.input_modifier": (rules.Rule, "input_modifier", ()),
    "rule.output_modifier": (rules.Rule, "output_modifier", ()),
    "rule.expand_input": (rules.Rule, "expand_input", ("wildcards",)),
    "rule.expand_output": (rules.Rule, "expand_output", ("wildcards",)),
    "rule.expand_params": (rules.Rule, "expand_params", ("wildcards", "input", "output")),
    "rule.expand_log": (rules.Rule, "expand_log", ("wildcards",)),
    "dag.finished_jobs": (dag.DAG, "finished_jobs", ()),
    "workflow.dag": (api.Workflow, "dag", ()),
    "workflow.globals": (api.Workflow, "globals", ()),
    "workflow.is_main_process": (api.Workflow, "is_main_process", ()),
    "workflow.rules": (api.Workflow, "rules", ()),
}


@pytest.mark.parametrize("name", NAMES)
def test_snakemake_has_what_no_public_interface_offers(name: str) -> None:
    owner, attribute, takes = NAMES[name]
    installed = version("snakemake")
    found = getattr(owner, attribute, None) or f"self.{attribute}" in getsource(owner)
    said = f"snakemake {installed} has no {name}, by which workflow/stale.py marks jobs (seen with {SEEN})"
    assert found, said
    if takes:
        assert set(takes) <= set(signature(found).parameters), said


def test_the_installed_version_is_one_that_it_was_seen_with() -> None:
    major, minor, *_ = map(int, version("snakemake").split(".")[:2])
    assert SEEN[0] <= (major, minor) <= SEEN[1], "run tests/workflow with it, then write the version here"


def test_no_other_name_of_a_rule_or_of_the_graph_is_used() -> None:
    tree = ast.parse(Path(stale.__file__).read_text())
    used = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "rule"
    }
    assert used - {"rule.name", "rule.shellcmd", "rule.input"} <= NAMES.keys()
    assert utils.format("{a}", a=1) == "1"
