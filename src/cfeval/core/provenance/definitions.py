"""The definitions of a module as they count in a plan: what each is, and which names it uses.

A tree is taken without comments, docstrings, annotations of functions, help texts and the wording of errors that end a
run (`outside`): none of them changes a result.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cfeval.core.provenance import outside
from cfeval.core.provenance.hashes import digest

EFFECTS = "(statements)"
"""What stands for the statements of a module that define nothing: they run when it is imported."""
_NOTATION = frozenset({"kind", "type_comment", "type_ignores", "ctx"})


@dataclass(frozen=True)
class Definition:
    """A definition: the hash of its tree, and the dotted names that it uses, as they are spelled there."""

    tree: str
    uses: tuple[str, ...]
    imports: Mapping[str, str] = field(default_factory=dict)
    """Names that it imports itself, within a function."""


@dataclass(frozen=True)
class Module:
    """A module's definitions by name, and the names that it imports."""

    definitions: Mapping[str, Definition]
    imports: Mapping[str, str]


def parsed(content: bytes, module: str, path: str) -> Module:
    """The definitions and imports of a module."""
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    tree = ast.parse(content, path)
    imports = _imports([node for node in tree.body if not _is_for_types(node)], package)
    statements: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node) or _is_for_types(node):
            continue
        for name in _defined(node) or (EFFECTS,):
            statements.setdefault(name, []).append(node)
    definitions = {
        name: _definition(of, package, _Normal(outside.fatal(module, name))) for name, of in statements.items()
    }
    return Module(definitions, imports)


def serialized(node: object) -> str:
    """A text of a tree that no Python version changes: without fields that are empty or about notation."""
    parts: list[str] = []
    _serialize(node, parts.append)
    return "".join(parts)


def _serialize(node: object, add: Callable[[str], None]) -> None:
    if isinstance(node, ast.AST):
        add(f"{type(node).__name__}(")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in _NOTATION:
                add(f"{name}=")
                _serialize(value, add)
        add(")")
    elif isinstance(node, list):
        add("[")
        for part in node:
            _serialize(part, add)
            add(",")
        add("]")
    else:
        add(repr(node))


class _Normal(ast.NodeTransformer):
    """A tree without what changes no result, such as the wording of fatal errors."""

    def __init__(self, fatal: frozenset[str]) -> None:
        self._fatal = fatal

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without annotations: they are for readers, type question validators and help texts."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """The same."""
        return self._function(node)

    def _function(self, node: Any) -> ast.AST:
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        for argument in (node.args.vararg, node.args.kwarg):
            if argument is not None:
                argument.annotation = None
        return self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """With annotations: they are the fields of records. Without what only planning asks of a plugin."""
        if node.name.endswith("Plugin"):
            node.body = [line for line in node.body if getattr(line, "name", "") not in outside.HOOKS]
        return self._body(node)

    def _body(self, node: Any) -> ast.AST:
        node.body = [line for line in node.body if not _is_text(line)]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node  # type: ignore[no-any-return]

    def visit_Import(self, node: ast.Import) -> ast.AST:  # noqa: ARG002
        """What is imported counts by what it means."""
        return ast.Pass()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:  # noqa: ARG002
        """The same."""
        return ast.Pass()

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Without the wording of an error that ends the run."""
        its = node.exc
        if isinstance(its, ast.Call) and _last(its.func) in self._fatal:
            node.exc = its.func
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Without what only says what something means."""
        wording = outside.WORDING.get(_last(node.func), ())
        node.keywords = [one for one in node.keywords if one.arg not in wording]
        self.generic_visit(node)
        return node


def _definition(statements: list[ast.stmt], package: str, normal: _Normal) -> Definition:
    imports = _imports([node for statement in statements for node in ast.walk(statement)], package)
    trees = [normal.visit(statement) for statement in statements]
    uses: set[str] = set()
    for tree in trees:
        _use(tree, uses)
    return Definition(digest(serialized(trees).encode())[:16], tuple(sorted(uses)), imports)


def _use(node: ast.AST, uses: set[str]) -> None:
    """Add the dotted names in a tree, as far as they are spelled there."""
    if isinstance(node, ast.Attribute | ast.Name) and (dotted := _dotted(node)):
        uses.add(dotted)
        return
    for child in ast.iter_child_nodes(node):
        _use(child, uses)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


def _imports(nodes: Iterable[ast.AST], package: str) -> dict[str, str]:
    """What the import statements among some nodes bind: names, and the dotted names that they stand for."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
    return found


def _defined(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module binds; none where it is there for its effects."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        plain = not any(isinstance(one, ast.Attribute | ast.Subscript) for t in targets for one in ast.walk(t))
        return tuple(names) if plain else ()
    if isinstance(node, ast.If | ast.Try):
        inner = [
            name for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node for name in _defined(one)
        ]
        return (*inner, EFFECTS)
    return ()


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or the text below an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING"


def _last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
