"""The core needs no torch: checks and the steps with hosted models import none; extras are declared."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import extras
from cfeval.core.package import CARRIED, carried, name_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WEIGHTS = tomllib.loads((ROOT / "packages/cfeval_testbed/pyproject.toml").read_text())
OPTIONAL = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["optional-dependencies"]
IN_EXTRAS_ALONE = sorted({package for packages in extras.EXTRAS.values() for package in packages})
CODE = """
import importlib, sys
for name in {lacking}:
    sys.modules[name] = None
from cfeval.verbs import STEPS, VERBS
commands = [place for group in (*STEPS.values(), VERBS[""]) for place in group.values()]
for module in {{command.partition(":")[0] for command in commands}}:
    importlib.import_module(module)
from cfeval.core import registry
for family, spec in {hosted}:
    registry.check(family, spec, "here")
    registry.check_installed(family, spec, "here")
    registry.build(family, spec)
print("all")
"""
MODEL = {"plugin": "openai", "provider": "vllm", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
HOSTED = [
    ("datasets", {"plugin": "files", "path": "."}),
    ("chat", MODEL),
    ("instruction_writers", {"plugin": "chat", "model": MODEL}),
    ("editors", {"plugin": "openrouter_image"}),
    ("editors", {"plugin": "openai_image"}),
    ("editors", {"plugin": "bfl"}),
    ("editors", {"plugin": "gated", "editor": {"plugin": "bfl"}, "verifier": {"plugin": "semantic", "model": MODEL}}),
    ("verifiers", {"plugin": "semantic", "model": MODEL}),
    ("judges", {"plugin": "chat", "model": MODEL}),
    ("judges", {"plugin": "blind", "model": MODEL}),
    ("solvers", {"plugin": "chat", "model": MODEL}),
]


def test_hosted_models_need_no_package_of_an_extra() -> None:
    code = CODE.format(lacking=IN_EXTRAS_ALONE, hosted=HOSTED)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("all\n"), done.stderr[-2000:]


def test_every_extra_that_is_named_is_declared() -> None:
    assert set(extras.EXTRAS) | {extra for extra, _ in extras.NEEDS.values()} <= set(OPTIONAL)
    core = " ".join(PROJECT["project"]["dependencies"])
    assert not [package for package in IN_EXTRAS_ALONE if package.replace("_", "-") in core]
    assert extras.advice("no_such_package") == "install it"


def test_the_lock_of_the_demo_is_the_part_of_the_whole_lock_without_torch() -> None:
    whole, demo = (locked(name) for name in ("requirements.lock", "requirements-demo.lock"))
    assert demo.items() <= whole.items()
    assert {"dvc", "easy-vqa", "safetensors"} <= {requirement.partition("==")[0] for requirement in demo}
    assert not [requirement for requirement in demo if requirement.startswith(("torch", "diffusers", "nvidia"))]


def locked(name: str) -> dict[str, set[str]]:
    """The hashes of every requirement of a lock, which says nothing else."""
    hashes: dict[str, set[str]] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        requirement, _, digest = line.strip(" \\").partition("--hash=")
        if requirement:
            latest = hashes.setdefault(requirement.partition(" ;")[0], set())
        else:
            latest.add(digest)
    return hashes


@pytest.mark.parametrize("place", CARRIED)
def test_what_comes_with_cfeval_is_found_and_named_as_in_a_checkout(place: str) -> None:
    assert carried(place).exists()
    assert name_of(carried(place)) == place
    built = {**carried_by(PROJECT), **carried_by(WEIGHTS)}
    assert built[place] == CARRIED[place]


def carried_by(project: dict[str, Any]) -> dict[str, str]:
    """What a wheel takes from elsewhere in the checkout, and where it puts it."""
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return {place.removeprefix("../../"): inside for place, inside in included.items()}


def test_published_figures_are_called_alike_wherever_cfeval_lies() -> None:
    file = carried("data/reference/edct-2025.csv")
    assert name_of(file) == "data/reference/edct-2025.csv"
    assert name_of(Path("/elsewhere/edct-2025.csv")) is None
    with pytest.raises(ValueError, match="cfeval brings no results"):
        carried("results/edct")
