"""The layout is the architecture: arrows run down one list of rooms, no study knows another, and no file a cycle.

Names in strings count as imports where they are full names of the project's modules, as in lists of verbs and tables.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BESIDE = ("cfeval_audit", "cfeval_testbed")
PACKAGES = (ROOT / "src" / "cfeval", *(ROOT / "packages" / name / name for name in BESIDE))
FLOORS = (
    {"core"},
    {"stats"},
    {"report", "inference"},
    {"datasets"},
    {"edct", "vce", "cvqa"},
    {"config"},
    {"cfeval_testbed"},
    {"study"},
    {"cfeval_audit"},
    {"verbs", "cli", "results"},
    {"__main__"},
)
"""From the ground up: a room may know those of lower floors, and of its own floor none but itself."""
OPEN = {"verbs", "cli"}
"""Single modules of one floor that may know each other."""
MODULES = {
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in package.rglob("*.py")
}


def imported(path: Path, modules: dict[str, Path] = MODULES) -> set[str]:
    """The modules of the project that a file imports, wherever in the file and by whatever name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative imports hide the rooms"
            names |= {
                full if (full := f"{node.module}.{alias.name}") in modules else node.module for alias in node.names
            }
        elif isinstance(node, ast.Constant) and re.fullmatch(
            r"cfeval(_audit|_testbed)?(\.\w+)+(:\w+)?", str(node.value)
        ):
            names.add(node.value.partition(":")[0])
    return names & modules.keys() - {"cfeval", *BESIDE}


def room(module: str) -> str:
    """The folder of a module, or the package beside cfeval that it is in."""
    top, *rest = module.split(".")
    return rest[0] if top == "cfeval" else top


def floor(module: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room(module) in rooms)


def not_below(module: str, names: set[str]) -> list[str]:
    """What a module may not import of what it does."""
    own = room(module)
    others = (name for name in names if room(name) != own and not {room(name), own} <= OPEN)
    return sorted(name for name in others if floor(name) >= floor(module))


ONLY_LISTING = {"cfeval.core.loaded_code", "cfeval.core.extras", "cfeval", *BESIDE}
"""Modules that list others by name and never import them, and the packages themselves."""


@cache
def graph() -> dict[str, set[str]]:
    """What every module imports."""
    return {module: imported(path) for module, path in MODULES.items() if module not in ONLY_LISTING}


def test_arrows_run_down_and_no_study_knows_another() -> None:
    assert len(graph()) > 100
    wrong = {module: upward for module, names in graph().items() if (upward := not_below(module, names))}
    assert wrong == {}


@pytest.mark.parametrize("package", BESIDE)
def test_nothing_but_the_registry_finds_a_package_beside(package: str) -> None:
    knowing = {room(module) for module, names in graph().items() if package in map(room, names)}
    assert knowing == {package}


def _cycle(graph: dict[str, set[str]]) -> Iterator[str]:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        yield from error.args[1]


def test_no_files_know_each_other_in_a_circle() -> None:
    others = {module: names - {module} for module, names in graph().items() if module != "cfeval.verbs"}
    assert list(_cycle(others)) == []


@pytest.mark.parametrize(
    "line",
    [
        "def f():\n    from cfeval.study import doctor\n",
        "import cfeval.study.doctor\n",
        'load("cfeval.study.doctor:run")\n',
    ],
)
def test_an_upward_import_is_seen_however_it_is_written(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.py"
    path.write_text(line)
    assert not_below("cfeval.core.errors", imported(path)) == ["cfeval.study.doctor"]


def test_an_import_of_another_study_and_a_circle_are_seen() -> None:
    assert not_below("cfeval.edct.files", {"cfeval.vce.files"}) == ["cfeval.vce.files"]
    assert list(_cycle({"a": {"b"}, "b": {"a"}}))
