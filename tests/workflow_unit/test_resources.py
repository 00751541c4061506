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
FILES = [*sorted((ROOT / "workflow/rules").glob("*.smk")), ROOT / "workflow/train.smk"]
RULES = {
    found[1]: found[2]
    for file in FILES
    for found in re.finditer(r"^rule (\w+):\n((?:    .*\n|\n)+)", file.read_text(), re.MULTILINE)
    if "    shell:" in found[2]
}
PATTERNS = {rule: found[1] for rule, text in RULES.items() if (found := re.search(r"\*\*needs\((\w+\.\w+), ", text))}
"""The pattern whose jobs' needs a rule asks for; none for training."""
NEEDS = ("gpu", "gpu_model", "api_slots")


def asked(rule: str) -> dict[str, str]:
    """The resources of a rule, as they stand there."""
    [block] = re.findall(r"^    resources:\n((?:        .*\n)+)", RULES[rule], re.MULTILINE)
    return dict(re.findall(r"^        (\w+)=(.*),$", block, re.MULTILINE))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_what_it_holds(rule: str) -> None:
    if rule in PATTERNS:
        assert asked(rule).keys() == {"runtime"}
        assert re.search(r"\*\*needs\([\w.]+, mem_mb=\d+\)", RULES[rule])
    else:
        assert {*NEEDS, "mem_mb", "runtime"} <= asked(rule).keys()


@pytest.mark.parametrize("rule", PATTERNS)
def test_a_rule_asks_for_the_jobs_whose_output_it_makes(rule: str) -> None:
    """Its mark of what is stale, its needs and its first output are of one pattern."""
    first = re.search(r"\b((?:edct|vce|cvqa)\.[A-Z]+)\b", RULES[rule].partition("    output:")[2])
    assert first is not None
    assert {first[1], *re.findall(r"\bstale\((\w+\.\w+)\)", RULES[rule])} == {PATTERNS[rule]}


@pytest.mark.parametrize("rule", PATTERNS)
def test_a_rule_runs_the_job_of_its_first_output(rule: str) -> None:
    assert RULES[rule].rstrip().endswith('"cfeval stage {params.job:q} 2>{log:q}"')
    assert "job=job_name" in RULES[rule]


def test_there_are_rules_to_look_at() -> None:
    assert {"edct_verdicts", "vce_counterfactuals", "cvqa_answers", "run_train"} <= set(RULES)
    assert len(RULES) > 20


def test_the_groups_of_the_slurm_profile_are_of_rules_that_hold_neither_gpu_nor_slot() -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    groups = dict(pair.split("=") for pair in profile["groups"])
    assert set(groups) <= set(RULES)
    needs = _needs_by_folder()
    for rule in groups:
        study, pattern = PATTERNS[rule].split(".")
        folder = {"TABLE": "tables", "FIGURE": "figures", "METRICS": "tables", "SCORES": "scores"}[pattern]
        assert needs[study, folder] == {(0, "", 0)}
    assert set(groups.values()) == {pair.split("=")[0] for pair in profile["group-components"]}


def _needs_by_folder() -> dict[tuple[str, str], set[tuple[Any, ...]]]:
    found = defaultdict(set)
    for job in jobs(load(ROOT / "params.yaml")):
        _, study, folder, *_ = job.name.split("/")
        found[study, folder].add(tuple(job.needs[name] for name in NEEDS))
    return found


def test_the_default_study_holds_neither_gpu_nor_slot() -> None:
    params = load(ROOT / "params.yaml").edct
    specs = [
        (family, spec.plugin_options()) for at, family in FAMILIES.items() for spec in getattr(params, at).values()
    ]
    assert {(needs.gpu, needs.api) for needs in (registry.resources(*spec) for spec in specs)} == {(0, False)}
