"""The definitions of a module as they count in a plan: what each is, and which names it uses.

A tree is taken without comments, docstrings, annotations of functions, help texts and the wording of errors that end a
run (`outside`): none of them changes a result.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cfeval.core.provenance import outside
from cfeval.core.provenance.hashes import digest

EFFECTS = "(statements)"
"""What stands for the statements of a module that define nothing: they run when it is imported."""
_NOTATION = frozenset({"kind", "type_comment", "type_ignores", "ctx"})
_SHAPES = {
    kind: (f"{kind.__name__}(", [(name, f"{name}=") for name in kind._fields if name not in _NOTATION])
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""How the text of each kind of node begins, and its fields with their labels."""


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
    definitions = {name: _definition(of, package, outside.fatal(module, name)) for name, of in statements.items()}
    return Module(definitions, imports)


class _Text:
    """A text of a tree that no Python version changes, without what changes no result, and the names that are used.

    Written in one walk: before a first run some 300 modules are read, and everything else waits for it.
    """

    def __init__(self, fatal: frozenset[str]) -> None:
        self.parts: list[str] = []
        self.uses: set[str] = set()
        self._fatal = fatal
        self._named = 0  # how many names around this one are noted already

    def add(self, node: object) -> None:
        """Add a node, a list of nodes, or a value."""
        if isinstance(node, ast.AST):
            kind = type(node)
            self._of_kind.get(kind, _Text._plain)(self, node)
        elif isinstance(node, list):
            self._list(node)
        else:
            self.parts.append(repr(node))

    def _list(self, nodes: list[Any]) -> None:
        self.parts.append("[")
        for node in nodes:
            self.add(node)
            self.parts.append(",")
        self.parts.append("]")

    def _plain(self, node: ast.AST) -> None:
        self._fields(node, {})

    def _fields(self, node: ast.AST, instead: Mapping[str, Any]) -> None:
        """The fields that say something: not those that are empty or about notation."""
        start, names = _SHAPES[type(node)]
        self.parts.append(start)
        for name, label in names:
            value = instead[name] if name in instead else getattr(node, name, None)
            if value is not None and value != []:
                self.parts.append(label)
                self.add(value)
        self.parts.append(")")

    def _name(self, node: ast.Attribute | ast.Name) -> None:
        dotted = "" if self._named else _dotted(node)
        if dotted:
            self.uses.add(dotted)
            self._named += 1
        self._plain(node)
        self._named -= bool(dotted)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Without annotations: they are for readers, type checkers and help texts."""
        its = node.args
        for argument in (*its.posonlyargs, *its.args, *its.kwonlyargs, its.vararg, its.kwarg):
            if argument is not None:
                argument.annotation = None
        self._fields(node, {"returns": None, "body": _body(node.body)})

    def _class(self, node: ast.ClassDef) -> None:
        """With annotations: they are the fields of records. Without what only planning asks of a plugin."""
        hooks = outside.HOOKS if node.name.endswith("Plugin") else ()
        self._fields(node, {"body": _body([line for line in node.body if getattr(line, "name", "") not in hooks])})

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:  # noqa: ARG002
        """What is imported counts by what it means."""
        self.parts.append("Pass()")

    def _raise(self, node: ast.Raise) -> None:
        """Without the wording of an error that ends the run."""
        its = node.exc
        ends = isinstance(its, ast.Call) and _last(its.func) in self._fatal
        self._fields(node, {"exc": its.func} if ends and isinstance(its, ast.Call) else {})

    def _call(self, node: ast.Call) -> None:
        """Without what only says what something means."""
        wording = outside.WORDING.get(_last(node.func), ())
        self._fields(node, {"keywords": [one for one in node.keywords if one.arg not in wording]})

    _of_kind: ClassVar[Mapping[type[ast.AST], Callable[[Any, Any], None]]] = {
        ast.Attribute: _name,
        ast.Name: _name,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Raise: _raise,
        ast.Call: _call,
    }


def _body(lines: list[ast.stmt]) -> list[ast.stmt]:
    return [line for line in lines if not _is_text(line)] or [ast.Pass()]


def _definition(statements: list[ast.stmt], package: str, fatal: frozenset[str]) -> Definition:
    imports = _imports(_statements(statements), package)
    text = _Text(fatal)
    text.add(statements)
    return Definition(digest("".join(text.parts).encode())[:16], tuple(sorted(text.uses)), imports)


def _statements(some: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Some statements and those within them, level by level."""
    waiting = deque(some)
    while waiting:
        yield (node := waiting.popleft())
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            within = getattr(node, name, None)
            if isinstance(within, list):  # the body of a lambda or conditional is no list
                waiting.extend(within)


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
