"""The layout is the architecture: data flows down one list of floors, and no study knows another."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "cfeval"
FLOORS = (
    "errors",
    "seeds",
    "streams",
    "provenance",
    "records",
    "params",
    "io",
    "prompts",
    "metrics",
    "stats",
    "programs",
    "world",
    "calls",
    "protocols",
    "backends",
    "diffusion",
    "studies",
    "tables",
    "report",
    "comparison",
    "preflight",
    "jobs",
    "cli",
    "warm",
)
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def imported(path: Path) -> set[str]:
    """The dotted names of what a file imports from the project, wherever in the file it does so."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative imports hide the floors"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("cfeval.")}


def floor(dotted: str) -> int:
    """The floor of a dotted name below `cfeval`."""
    return FLOORS.index(dotted.split(".")[1])


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_from_its_own_floor_or_the_floors_above_it(module: Path) -> None:
    own = FLOORS.index(module.parts[0].removesuffix(".py"))
    version = {"cfeval.__version__"}
    below = {name for name in imported(SOURCE / module) - version if floor(name) > own}
    assert not below, f"{module} imports from below its floor: {sorted(below)}"


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] == "studies"], ids=str)
def test_no_study_imports_another(module: Path) -> None:
    others = {
        n for n in imported(SOURCE / module) if n.startswith("cfeval.studies.") and n.split(".")[2] != module.parts[1]
    }
    assert not others


def test_the_check_sees_an_upward_import(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("def f():\n    from cfeval.cli import main\n")
    assert {floor(name) for name in imported(path)} == {FLOORS.index("cli")}
