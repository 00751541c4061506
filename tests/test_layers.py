"""The layout is the architecture: data flows down one list of floors, and no study knows another."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "cfeval"
FLOORS = (
    "errors",
    "names",
    "verbs",
    "seeds",
    "streams",
    "depthwise",
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


def below_its_floor(module: Path) -> list[str]:
    """What a module imports from a floor below its own."""
    own = FLOORS.index(module.parts[0].removesuffix(".py"))
    return sorted(name for name in imported(SOURCE / module) - {"cfeval.__version__"} if floor(name) > own)


def of_other_studies(module: Path) -> list[str]:
    """What a module of a study imports of the others."""
    names = (name.split(".") for name in imported(SOURCE / module))
    return sorted(".".join(name) for name in names if name[1] == "studies" and name[2] != module.parts[1])


def test_every_module_imports_only_from_its_own_floor_or_the_floors_above_it() -> None:
    assert len(MODULES) > 100
    assert {str(module): names for module in MODULES if (names := below_its_floor(module))} == {}


def test_no_study_imports_another() -> None:
    studies = [module for module in MODULES if module.parts[0] == "studies"]
    assert len(studies) > 10
    assert {str(module): names for module in studies if (names := of_other_studies(module))} == {}


def test_the_check_sees_an_upward_import(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("def f():\n    from cfeval.cli import main\n")
    assert {floor(name) for name in imported(path)} == {FLOORS.index("cli")}
