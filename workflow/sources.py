"""The project's source files: for each module a hash of its syntax tree, and what it imports.

What is hashed is the tree without comments, docstrings, positions and empty fields, so that neither an edited comment
nor another Python version gives another hash. Parsing a few hundred files takes seconds, so what was found is
remembered by the SHA-256 of each file. A memory that is damaged, or was written by another version of this file, counts
for nothing; it appears whole, whoever else writes it.
"""

import ast
import contextlib
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Source(NamedTuple):
    """A source file: the SHA-256 of its bytes, the hash of its tree, and the names that it imports or lies in."""

    content: str
    tree: str
    imports: tuple[str, ...]


class Sources:
    """The modules below a folder, read once; `memory` is the file that keeps what was found for other processes."""

    def __init__(self, root: Path, memory: Path) -> None:
        self.root = root
        self.memory = memory
        self._read: dict[str, Source] = {}

    @cached_property
    def files(self) -> dict[str, str]:
        """Where every module lies, relative to the root; of a module and a package of one name, the module."""
        found = [file.relative_to(self.root).as_posix() for file in self.root.rglob("*.py")]
        return {_module(file): file for file in sorted(found, key=_is_package, reverse=True)}

    def __getitem__(self, module: str) -> Source:
        """What a module is made of."""
        if module not in self._read:
            self._read[module] = self._look(module)
        return self._read[module]

    def reached(self, *modules: str) -> set[str]:
        """These modules and all that they import, directly or not, as far as they belong to the project."""
        seen: set[str] = set()
        waiting = list(modules)
        while waiting:
            module = waiting.pop()
            if module in self.files and module not in seen:
                seen.add(module)
                waiting += self[module].imports
        return seen

    def remember(self) -> None:
        """Read every module and keep what was found; a memory that cannot be written is done without."""
        for module in self.files:
            with contextlib.suppress(SyntaxError, ValueError):  # no concern of a run that does not use the module
                self[module]
        found = {self.files[module]: source for module, source in self._read.items()}
        if found == self._remembered:
            return
        text = json.dumps(found, separators=(",", ":"), sort_keys=True)
        building = self.memory.with_name(f"{self.memory.name}.{socket.gethostname()}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self.memory.parent.mkdir(parents=True, exist_ok=True)
            building.write_text(f"{_seal(text)}\n{text}", encoding="utf-8")
            building.replace(self.memory)

    def _look(self, module: str) -> Source:
        file = self.files[module]
        content = (self.root / file).read_bytes()
        known = self._remembered.get(file)
        if known is not None and known.content == hash_of(content):
            return known
        tree = parsed(content, file)
        package = module if _is_package(file) else module.rpartition(".")[0]
        return Source(hash_of(content), hash_of("".join(serialized(tree)).encode()), _imports(tree, module, package))

    @cached_property
    def _remembered(self) -> dict[str, Source]:
        try:
            seal, _, text = self.memory.read_text(encoding="utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        if seal != _seal(text):
            return {}
        return {file: Source(content, tree, tuple(names)) for file, (content, tree, names) in json.loads(text).items()}


def parsed(content: bytes, name: str = "") -> ast.Module:
    """The syntax tree of a source without its docstrings."""
    tree = ast.parse(content, name)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return tree


def serialized(node: object) -> Iterator[str]:
    """A text of the tree that no Python version changes: without fields that are empty or about notation."""
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if value not in (None, []) and name not in ("kind", "type_comment", "type_ignores", "ctx"):
                yield f"{name}="
                yield from serialized(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for part in node:
            yield from serialized(part)
            yield ","
        yield "]"
    else:
        yield repr(node)


def hash_of(content: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _seal(text: str) -> str:
    """What a memory begins with: it tells whether the memory is whole and how this file would have made it."""
    return hash_of(hash_of(Path(__file__).read_bytes()).encode() + text.encode())


def _is_package(file: str) -> bool:
    return file.endswith("__init__.py")


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(tree: ast.AST, module: str, package: str) -> tuple[str, ...]:
    """What a module imports and the packages it lies in; names from a package may be modules or not."""
    named = set(_named(tree, package))
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


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or the text below an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
