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

SOURCE = Path(__file__).parents[1] / "src" / "cfeval"
FLOORS = (
    {"core"},
    {"stats"},
    {"report", "inference"},
    {"datasets"},
    {"edct", "vce", "cvqa"},
    {"config"},
    {"audit", "testbed"},
    {"study"},
    {"verbs", "cli", "results"},
    {"__main__"},
)
"""From the ground up: a room may know those of lower floors, and of its own floor none but itself."""
OPEN = {"verbs", "cli"}
"""Single modules of one floor that may know each other."""
NOTHING_BUT_NAMES = {"core/outside.py"}
"""Files that list modules which they never import."""
MODULES = {
    ".".join(("cfeval", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
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
        elif isinstance(node, ast.Constant) and re.fullmatch(r"cfeval(\.\w+)+(:\w+)?", str(node.value)):
            names.add(node.value.partition(":")[0])
    return names & modules.keys() - {"cfeval"}


def room(module: str) -> str:
    return module.split(".")[1]


def floor(module: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room(module) in rooms)


def not_below(module: str, names: set[str]) -> list[str]:
    """What a module may not import of what it does."""
    own = room(module)
    others = (name for name in names if room(name) != own and not {room(name), own} <= OPEN)
    return sorted(name for name in others if floor(name) >= floor(module))


@cache
def graph() -> dict[str, set[str]]:
    """What every module imports."""
    return {module: imported(path) for module, path in MODULES.items() if module != "cfeval"}


def test_arrows_run_down_and_no_study_knows_another() -> None:
    assert len(graph()) > 100
    named = {f"cfeval.{name.removesuffix('.py').replace('/', '.')}" for name in NOTHING_BUT_NAMES}
    wrong = {module: found for module, names in graph().items() if (found := not_below(module, names))}
    assert {module: found for module, found in wrong.items() if module not in named} == {}


def test_nothing_but_the_registry_finds_the_test_bed() -> None:
    knowing = {room(module) for module, names in graph().items() if any(room(name) == "testbed" for name in names)}
    assert knowing == {"testbed"}


def _cycle(graph: dict[str, set[str]]) -> Iterator[str]:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        yield from error.args[1]


def test_no_files_know_each_other_in_a_circle() -> None:
    only_listing = {"cfeval.core.outside", "cfeval.verbs"}
    named = {module: set() if module in only_listing else names - {module} for module, names in graph().items()}
    assert list(_cycle(named)) == []


@pytest.mark.parametrize(
    "line",
    [
        "def f():\n    from cfeval.audit import doctor\n",
        "import cfeval.audit.doctor\n",
        'load("cfeval.audit.doctor:run")\n',
    ],
)
def test_an_upward_import_is_seen_however_it_is_written(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.py"
    path.write_text(line)
    assert not_below("cfeval.core.errors", imported(path)) == ["cfeval.audit.doctor"]


def test_an_import_of_another_study_and_a_circle_are_seen() -> None:
    assert not_below("cfeval.edct.files", {"cfeval.vce.files"}) == ["cfeval.vce.files"]
    assert list(_cycle({"a": {"b"}, "b": {"a"}}))
