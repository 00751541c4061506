"""What every job asks of the machine or cluster that it runs on."""

import re
from pathlib import Path

import pytest
import yaml

from cfeval.backends import registry
from cfeval.params.edct import FAMILIES
from cfeval.params.study import load

ROOT = Path(__file__).parents[2]
FILES = [*sorted((ROOT / "workflow/rules").glob("*.smk")), ROOT / "workflow/train.smk"]
RULES = {
    found[1]: found[2]
    for file in FILES
    for found in re.finditer(r"^rule (\w+):\n((?:    .*\n|\n)+)", file.read_text(), re.MULTILINE)
    if "    shell:" in found[2]
}
ASKED = ("gpu", "gpu_model", "mem_mb", "runtime", "api_slots")


def asked(rule: str) -> dict[str, str]:
    """The resources of a rule, as they stand there."""
    [block] = re.findall(r"^    resources:\n((?:        .*\n)+)", RULES[rule], re.MULTILINE)
    return dict(re.findall(r"^        (\w+)=(.*),$", block, re.MULTILINE))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_what_it_holds(rule: str) -> None:
    assert set(ASKED) <= set(asked(rule))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_names_its_model_of_gpu_where_it_may_hold_one_and_nowhere_else(rule: str) -> None:
    gpu, model = asked(rule)["gpu"], asked(rule)["gpu_model"]
    assert model == ('""' if gpu == "0" else gpu.replace("gpus", "gpu_model"))


def test_there_are_rules_to_look_at() -> None:
    assert {"run_edct_judge", "run_vce_explain", "run_cvqa_answer", "run_train"} <= set(RULES)
    assert len(RULES) > 20


def test_the_groups_of_the_slurm_profile_are_of_rules_that_hold_neither_gpu_nor_slot() -> None:
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    groups = dict(pair.split("=") for pair in profile["groups"])
    assert {(asked(rule)["gpu"], asked(rule)["api_slots"]) for rule in groups} == {("0", "0")}
    assert set(groups.values()) == {pair.split("=")[0] for pair in profile["group-components"]}


def test_the_default_study_holds_neither_gpu_nor_slot() -> None:
    params = load(ROOT / "params.yaml").edct
    specs = [(family, spec.plugin()) for at, family in FAMILIES.items() for spec in getattr(params, at).values()]
    assert {(needs.gpu, needs.api) for needs in (registry.needs(*spec) for spec in specs)} == {(0, False)}
