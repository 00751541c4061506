"""Contract tests see the plugins that are installed: of this tree, all that pyproject.toml lists, and no others."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from cfeval.core.registry import GROUP

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "cfeval": ROOT,
    "cfeval-testbed": ROOT / "packages/cfeval_testbed",
    "cfeval-audit": ROOT / "packages/cfeval_audit",
}
AGAIN = "install again: make setup, or uv pip install --no-deps --editable FOLDER"


def listed(folder: Path = ROOT) -> set[tuple[str, str, str]]:
    """Group, name and place of all that a pyproject.toml lists: plugins, and the commands of a package."""
    groups = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    return {(group, name, place) for group, points in groups.items() for name, place in points.items()}


@pytest.mark.parametrize("package", FOLDERS)
def test_every_plugin_that_is_listed_is_installed_or_else_no_contract_test_sees_it(package: str) -> None:
    points = distribution(package).entry_points
    installed = {(point.group, point.name, point.value) for point in points if point.group.startswith(GROUP)}
    if other := sorted(f"{group}: {name}" for group, name, _ in listed(FOLDERS[package]) ^ installed):
        pytest.fail(f"pyproject.toml and what is installed differ ({', '.join(other)}); {AGAIN}", pytrace=False)


def test_every_plugin_in_the_tree_is_listed() -> None:
    """A module with a class `Plugin` that builds something is one, whether or not anybody can name it."""
    modules = {place.partition(":")[0] for _, _, place in listed()}
    source = ROOT / "src"
    files = {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if "class Plugin(" in (text := path.read_text(encoding="utf-8")) and "def build(" in text
    }
    if unlisted := sorted(files - modules - {"cfeval.core.plugin"}):
        pytest.fail(f"pyproject.toml does not list {', '.join(unlisted)}; add them, then {AGAIN}", pytrace=False)
