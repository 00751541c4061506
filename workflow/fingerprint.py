"""Code and prompts as inputs of a job: hashes that Snakemake compares like any other parameter.

Snakemake does not follow imports. `code` does: a module, every project module it imports (inside functions too) and
the packages they lie in. What is hashed is the syntax tree without comments, docstrings, positions and empty fields, so
that neither an edited comment nor another Python version gives another hash.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src"
"""The folder that holds the project's package."""

_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def code(*modules: str) -> str:
    """The fingerprint of modules and of everything of the project that they import.

    Raises:
        ModuleNotFoundError: the project has no such module.
    """
    for module in modules:
        if _source(ROOT, module) is None:
            raise ModuleNotFoundError(f"no module {module} under {ROOT}", name=module)
    reached = sorted(_reachable(ROOT, modules))
    return "code:" + _digest(f"{module} {_tree_hash(ROOT, module)}" for module in reached)


def texts(folder: Path | str, *names: str) -> str:
    """The fingerprint of the templates in a folder (prompts, or the pages of the report), or of some of them."""
    found = sorted(file for file in Path(folder).iterdir() if file.is_file() and (not names or file.name in names))
    return "templates:" + _digest(f"{file.name} {_hash(file.read_bytes())}" for file in found)


def _reachable(root: Path, modules: tuple[str, ...]) -> set[str]:
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in seen and _source(root, module) is not None:
            seen.add(module)
            waiting += _imports(root, module)
    return seen


@cache
def _source(root: Path, module: str) -> Path | None:
    base = root.joinpath(*module.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


@cache
def _imports(root: Path, module: str) -> tuple[str, ...]:
    """What a module imports and the packages it lies in; names from a package may be modules or not."""
    source = _source(root, module)
    assert source is not None
    package = module if source.name == "__init__.py" else module.rpartition(".")[0]
    named = set(_named(_parse(source), package))
    return tuple(sorted({part for name in (*named, module) for part in _with_parents(name)} - {module}))


def _named(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _with_parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts) + 1))


@cache
def _tree_hash(root: Path, module: str) -> str:
    source = _source(root, module)
    assert source is not None
    return _hash("".join(_serialized(_parse(source))).encode())


@cache
def _parse(source: Path) -> ast.Module:
    tree = ast.parse(source.read_text(encoding="utf-8"), str(source))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or the text below an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _serialized(node: object) -> Iterator[str]:
    """A text of the tree that no Python version changes: without fields that are empty or about notation."""
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if value not in (None, []) and name not in ("kind", "type_comment", "type_ignores", "ctx"):
                yield f"{name}="
                yield from _serialized(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for part in node:
            yield from _serialized(part)
            yield ","
        yield "]"
    else:
        yield repr(node)


def _digest(lines: Iterator[str]) -> str:
    return _hash("\n".join(lines).encode())[:16]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    print(code(*sys.argv[1:]))
