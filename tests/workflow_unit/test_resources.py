"""What every job asks of the machine or cluster that it runs on."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import load
from cfeval.core import registry
from cfeval.edct.config import FAMILIES
from cfeval.jobs import jobs

ROOT = Path(__file__).parents[2]
RULES = {
    found[1]: found[2]
    for file in sorted((ROOT / "workflow/rules").glob("*.smk"))
    for found in re.finditer(r"^use rule \w+ as (\w+) with:\n((?:    .*\n|\n)+)", file.read_text(), re.MULTILINE)
}
"""The rules of all stages, each with what it says of its own."""
STAGE = (ROOT / "workflow/rules/stage.smk").read_text()
TRAIN = (ROOT / "workflow/train.smk").read_text()
NEEDS = ("gpu", "gpu_model", "api_slots")


def pattern(rule: str) -> str:
    """The pattern of a rule's first output, whose jobs it runs."""
    first = re.search(r"\b((?:edct|vce|cvqa)\.[A-Z_]+)\b", RULES[rule].partition("    output:")[2])
    assert first is not None
    return first[1]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_memory_and_time_or_has_those_of_a_small_job(rule: str) -> None:
    said = re.findall(r"^    resources:\n((?:        .*\n)+)", RULES[rule], re.MULTILINE)
    assert len(said) <= 1
    assert all(re.fullmatch(r'        \*\*resources_for\(mem_mb=\d+, runtime="\d+[hm]"\),\n', one) for one in said)


@pytest.mark.parametrize("rule", RULES)
def test_the_mark_of_what_is_stale_and_the_log_are_of_the_jobs_whose_output_a_rule_makes(rule: str) -> None:
    assert re.findall(r"^        stale=stale\((\w+\.\w+)\),$", RULES[rule], re.MULTILINE) == [pattern(rule)]
    assert re.findall(r"^        log_of\((\w+\.\w+)(?:, shard=\"\")?\),$", RULES[rule], re.MULTILINE) == [pattern(rule)]


@pytest.mark.parametrize("rule", RULES)
def test_outputs_stay_while_a_job_runs(rule: str) -> None:
    [made] = re.findall(r"^    output:\n((?:        .*\n)+)", RULES[rule], re.MULTILINE)
    assert re.fullmatch(r"        \*\*makes\(.*\),\n", made)


def test_all_rules_run_their_job_as_one_rule_says() -> None:
    assert [
        rule for rule, text in RULES.items() if re.search(r"^    (shell|params|priority):", text, re.MULTILINE)
    ] == []
    assert STAGE.rstrip().endswith('"exec cfeval stage {params.job:q} 2>{log:q}"')
    assert "job=job_name" in STAGE
    assert re.search(r'\*\*resources_for\(mem_mb=\d+, runtime="\w+"\)', STAGE)
    assert "    priority: waiting\n" in STAGE


def test_training_says_what_it_holds() -> None:
    assert all(re.search(f"^        {name}=", TRAIN, re.MULTILINE) for name in (*NEEDS, "mem_mb", "runtime"))


def test_there_are_rules_to_look_at() -> None:
    assert {"edct_verdicts", "vce_counterfactuals", "cvqa_answers"} <= set(RULES)
    assert len(RULES) > 20


def test_the_groups_of_the_slurm_profile_are_of_rules_that_hold_neither_gpu_nor_slot() -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    groups = dict(pair.split("=") for pair in profile["groups"])
    assert set(groups) <= set(RULES)
    needs = _needs_by_folder()
    for rule in groups:
        study, name = pattern(rule).split(".")
        folder = {"TABLE": "tables", "FIGURE": "figures", "METRICS": "tables", "SCORES": "scores"}[name]
        assert needs[study, folder] == {(0, "", 0)}
    assert set(groups.values()) == {pair.split("=")[0] for pair in profile["group-components"]}


def _needs_by_folder() -> dict[tuple[str, str], set[tuple[Any, ...]]]:
    found = defaultdict(set)
    for job in jobs(load(ROOT / "params.yaml")):
        _, study, folder, *_ = job.name.split("/")
        found[study, folder].add(tuple(job.resources[name] for name in NEEDS))
    return found


def test_the_default_study_holds_neither_gpu_nor_slot() -> None:
    params = load(ROOT / "params.yaml").edct
    specs = [
        (family, spec.plugin_options()) for at, family in FAMILIES.items() for spec in getattr(params, at).values()
    ]
    assert {(needs.gpu, needs.api) for needs in (registry.resources(*spec) for spec in specs)} == {(0, False)}
