"""The recipes of containers hold cfeval with its locked packages: what can be checked without building them."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "workflow/container"
RECIPES = {name: (FOLDER / name).read_text() for name in ("Dockerfile", "cfeval.def")}


def copied(recipe: str) -> list[str]:
    """What a recipe takes from the checkout."""
    if recipe.startswith("#") and "%files" in recipe:
        block = recipe.partition("%files\n")[2].partition("\n\n")[0]
        return [line.split()[0] for line in block.splitlines()]
    lines = re.findall(r"^COPY (.+)$", recipe, re.MULTILINE)
    return [word for line in lines for word in line.split()[:-1]]


@pytest.mark.parametrize("name", RECIPES)
def test_all_that_a_wheel_is_built_from_is_copied_and_there(name: str) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    taken = copied(RECIPES[name])
    assert all((ROOT / path).exists() for path in taken)
    beside = {"data/models", "packages/cfeval_audit", "packages/cfeval_testbed"}
    assert beside | {
        *build["wheel"]["force-include"],
        "pyproject.toml",
        "hatch_build.py",
        "requirements.lock",
        "src",
    } <= set(taken)


@pytest.mark.parametrize("name", RECIPES)
def test_locked_packages_come_first_and_then_cfeval_alone(name: str) -> None:
    installs = re.findall(r"pip install (.+)", RECIPES[name])
    assert "--require-hashes" in installs[0]
    assert "requirements.lock" in installs[0]
    assert "--no-deps" in installs[1]
    assert len(installs) == 2
    assert "cfeval --version" in RECIPES[name]


@pytest.mark.parametrize("name", RECIPES)
def test_its_python_is_one_that_cfeval_takes(name: str) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    [version] = re.findall(r"(?:FROM |From: )python:([\d.]+)-slim", RECIPES[name])
    assert tuple(map(int, version.split("."))) >= tuple(map(int, wanted.removeprefix(">=").split(".")))
