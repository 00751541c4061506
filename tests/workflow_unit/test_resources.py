"""What every rule says: its step as a whole command, and what its jobs ask of the machine or cluster."""

import re
from pathlib import Path

import pytest
import yaml

from cfeval.config import load
from cfeval.core import registry
from cfeval.edct.config import FAMILIES
from cfeval.verbs import STEPS

ROOT = Path(__file__).parents[2]
RULES = {
    found[1]: found[2]
    for file in sorted((ROOT / "workflow/rules").glob("*.smk"))
    for found in re.finditer(r"^rule (\w+):\n((?:    .*\n|\n)+)", file.read_text(), re.MULTILINE)
    if "    shell:" in found[2]
}
"""The rules of all steps, each with what it says."""
TRAIN = (ROOT / "workflow/train.smk").read_text()
NEEDS = ("gpu", "gpu_model", "api_slots")
OTHERWISE = {"vce_groups": "group-scores", "vce_sheets": "contact-sheet"}
"""Rules that have the name of their folder, and the step of each."""


def step_of(rule: str) -> str:
    return OTHERWISE.get(rule, rule.partition("_")[2].replace("_", "-"))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_a_docstring_a_message_a_log_memory_and_time(rule: str) -> None:
    text = RULES[rule]
    assert re.match(r'    """[A-Z].*\.', text)
    assert re.search(r'^    message:\n        "', text, re.MULTILINE)
    assert re.search(rf'^    log:\n        "logs/{rule.partition("_")[0]}/', text, re.MULTILINE)
    assert re.search(r"^    resources:\n", text, re.MULTILINE)
    assert re.search(r"\bmem_mb=", text)
    assert re.search(r'\bruntime=(f"\{\w+\.minutes\}m"|time_to_file\(|"\d+[hm]")', text)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_calls_the_step_of_its_name_and_says_where_its_errors_go(rule: str) -> None:
    shell = "".join(re.findall(r'"(.*)"', RULES[rule].partition("    shell:")[2]))
    called = re.match(r"cfeval (\w+) (\S+)", shell)
    assert called is not None
    assert called[1] == rule.partition("_")[0]
    assert called[2] in (step_of(rule), "{params.step}")
    assert " --out " in shell
    assert shell.endswith("2> {log:q}")


def test_every_step_is_called_by_a_rule() -> None:
    named = {(study, step) for study, of in STEPS.items() for step in of}
    called = {(rule.partition("_")[0], step_of(rule)) for rule in RULES}
    assert called == named
    assert len(RULES) > 30


def test_jobs_that_many_wait_for_begin_before_those_that_end_a_study() -> None:
    given = {
        rule: int((re.search(r"^    priority: (\d+)", text, re.MULTILINE) or [0, "0"])[1])
        for rule, text in RULES.items()
    }
    for study, first, then in (
        (
            "edct",
            "items baselines instructions counterfactuals requeries verdicts scores",
            "tables figures report calls",
        ),
        ("vce", "images counterfactuals scores", "tables figures report"),
        ("cvqa", "questions answers scores", "tables figures report calls"),
    ):
        order = [given[f"{study}_{step}"] for step in first.split()]
        assert order == sorted(order, reverse=True), study
        assert order[-1] >= max(given[f"{study}_{step}"] for step in then.split())


def test_training_says_what_it_holds() -> None:
    assert all(re.search(f"^        {name}=", TRAIN, re.MULTILINE) for name in (*NEEDS, "mem_mb", "runtime"))


def test_the_groups_of_the_slurm_profile_are_of_rules_that_hold_neither_gpu_nor_slot() -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    groups = dict(pair.split("=") for pair in profile["groups"])
    assert set(groups) <= set(RULES)
    assert not [rule for rule in groups if "**needs(" in RULES[rule]]
    assert {pair.split("=")[0] for pair in profile["group-components"]} <= set(groups.values())


def test_the_default_study_holds_neither_gpu_nor_slot() -> None:
    params = load(ROOT / "params.yaml").edct
    specs = [
        (family, spec.plugin_options()) for at, family in FAMILIES.items() for spec in getattr(params, at).values()
    ]
    assert {(needs.gpu, needs.api) for needs in (registry.resources(*spec) for spec in specs)} == {(0, False)}
