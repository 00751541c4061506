"""Reading a program: its syntax tree, and the check that nothing in it is outside the part of Python that is run.

The tree is only ever read. A program with anything that is refused is not started, so no model is asked in vain.
"""

import ast
import builtins
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from cfeval.cvqa.programs.limits import Budget, Exhausted, ProgramFault, Unsupported
from cfeval.cvqa.programs.values import SPECIAL

# The file name given to the parser, which looks for the line of an error in it: a name that no file can have.
NOWHERE = "<program>/."
# What a tree may hold, by classes of `ast`.
_ALLOWED_NAMES = (
    "Module Expression FunctionDef ClassDef Return Delete Assign AugAssign AnnAssign For While If With Match Try "
    "Raise Global Nonlocal Assert Import ImportFrom Expr Pass Break Continue BoolOp BinOp UnaryOp Lambda IfExp Dict "
    "Set ListComp SetComp DictComp GeneratorExp Compare Call FormattedValue JoinedStr Constant Attribute Subscript "
    "Name List Tuple Slice NamedExpr Starred Yield YieldFrom operator unaryop boolop cmpop expr_context comprehension "
    "arguments arg keyword alias excepthandler withitem match_case pattern"
)
_ALLOWED: tuple[type[ast.AST], ...] = tuple(getattr(ast, name) for name in _ALLOWED_NAMES.split())
_NAMES_OF_NODES: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "an async function",
    ast.AsyncWith: "`async with`",
    ast.AsyncFor: "`async for`",
    ast.Await: "`await`",
    ast.TryStar: "`except*`",
}
# What an `except` may name and `raise` may raise, beside the program's own: Python's.
EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and "Group" not in name
)
# Packages that exist, though not here: an import of another that is not Python's is the program's error.
ALSO = (
    *("numpy", "PIL", "cv2", "torch", "torchvision", "scipy", "sklearn", "skimage", "pandas", "matplotlib", "requests"),
    *("transformers", "tqdm", "nltk", "spacy", "sympy", "word2number", "inflect", "dateutil", "networkx", "shapely"),
    *("clip", "timm", "einops", "webcolors", "pytesseract", "easyocr", "openai", "imageio", "typing_extensions"),
    *("pydantic", "rapidfuzz", "fuzzywuzzy", "sentence_transformers", "supervision", "ultralytics"),
)
# The modules that can be imported: our own, of what programs need of them.
IMPORTED = (
    *("math", "re", "collections", "itertools", "functools", "statistics", "operator", "typing", "__future__"),
    *("dataclasses", "enum", "abc", "contextlib", "copy", "heapq", "json", "string", "PIL"),
)


def parse(code: str, budget: Budget) -> ast.Module:
    """The tree of a program, checked.

    Raises:
        ProgramFault: not Python, too large, or with something in it that is not allowed.
    """
    tree = parsed(code, budget)
    _check_size(tree, budget)
    check_grammar(tree)
    _check_nodes(tree, budget)
    return tree


def parsed(code: str, budget: Budget) -> ast.Module:
    """The tree of a text, unchecked; Python's parser gives up on absurd nesting by itself."""
    if len(code) > budget.string:
        raise Exhausted(f"a program of {len(code)} characters; at most {budget.string} are allowed")
    with _parser_faults():
        return ast.parse(code, NOWHERE)


def check_grammar(tree: ast.Module) -> None:
    """Raise what Python's compiler finds wrong beyond the syntax, such as a lone `return`; nothing is run."""
    with _parser_faults():
        compile(tree, NOWHERE, "exec", dont_inherit=True)


@contextmanager
def _parser_faults() -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SyntaxError as error:
        raise ProgramFault(f"not Python: {error.msg}", error.lineno or 0, "SyntaxError") from None
    except (RecursionError, MemoryError):
        raise Exhausted("the program is nested too deeply to be read; use simple statements") from None
    except ValueError as error:
        raise ProgramFault(f"not Python: {error}", kind="SyntaxError") from None


def check(tree: ast.AST, budget: Budget) -> None:
    """Refuse a tree that is too large, too deep, or holds what is not supported."""
    _check_size(tree, budget)
    _check_nodes(tree, budget)


def _check_size(tree: ast.AST, budget: Budget) -> None:
    stack, count = [(tree, 0, 0)], 0
    while stack:
        node, depth, line = stack.pop()
        line = getattr(node, "lineno", line)
        count += 1
        if count > budget.nodes:
            raise Exhausted(f"a program of more than {budget.nodes} nodes; write a shorter one", line)
        if depth > 2 * budget.depth:
            raise Exhausted(f"expressions nested more than {2 * budget.depth} deep; use simple statements", line)
        stack.extend((child, depth + 1, line) for child in reversed(list(ast.iter_child_nodes(node))))


def _check_nodes(tree: ast.AST, budget: Budget) -> None:
    used = names_read(tree)
    stack = [(tree, 0)]
    while stack:
        node, line = stack.pop()
        line = getattr(node, "lineno", line)
        reason = _refused_import(node, used) if isinstance(node, _IMPORTS) else _refusal(node, budget)
        if reason:
            raise Unsupported(reason, line)
        children = [child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child)]
        stack.extend((child, line) for child in reversed(children))


_IMPORTS = (ast.Import, ast.ImportFrom)


def names_read(tree: ast.AST) -> set[str]:
    """The names whose values a tree needs; those that stand only in annotations are not among them."""
    names: set[str] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Global):
            names.update(node.names)
        stack.extend(child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child))
    return names


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return child is node.returns
    return isinstance(node, ast.AnnAssign | ast.arg) and child is node.annotation


def _refusal(node: ast.AST, budget: Budget) -> str:
    if type(node) in _NAMES_OF_NODES or not isinstance(node, _ALLOWED):
        return f"{_NAMES_OF_NODES.get(type(node), type(node).__name__)} is not supported"
    if isinstance(node, ast.Constant):
        return _refused_constant(node.value, budget)
    if isinstance(node, ast.Attribute):
        hidden = _is_hidden(node.attr) and node.attr not in SPECIAL | {"__name__"}
        return f"attribute {node.attr!r}: names with two leading underscores are not supported" if hidden else ""
    if isinstance(node, ast.ClassDef):
        if node.keywords:
            return "a class with a metaclass or other keywords is not supported"
        return f"{node.name!r}: names with two leading underscores are not supported" if _is_hidden(node.name) else ""
    hidden_name = next((name for name in _names_given(node) if _is_hidden(name)), "")
    if hidden_name:
        return f"{hidden_name!r}: names with two leading underscores are not supported"
    alone = isinstance(node, ast.Expr | ast.Assign)
    if not alone and any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.iter_child_nodes(node)):
        return "`yield` within an expression is not supported; let it stand alone"
    if isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts):
        return "an index of several slices is not supported; slice a list"
    if isinstance(node, ast.comprehension) and node.is_async:
        return "async comprehensions are not supported"
    return ""


def _names_given(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.FunctionDef):
        return [node.name] if node.name not in SPECIAL else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest or ""]
    if isinstance(node, ast.MatchClass):
        return node.kwd_attrs
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name or ""]
    return []


def _is_hidden(name: str) -> bool:
    """Whether a name is of the kind by which Python's values lead to its insides."""
    return name.startswith("__") and name.endswith("__")


def _refused_constant(value: object, budget: Budget) -> str:
    if not isinstance(value, str | int | float | None) and value is not ...:
        return f"a constant of type {type(value).__name__} is not supported; use numbers, texts, True, False, None"
    if isinstance(value, int) and value.bit_length() > budget.bits:
        return f"an integer of {value.bit_length()} bits; at most {budget.bits} are allowed"
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return "a text with half a surrogate pair is not supported"
    return ""


def _refused_import(node: ast.Import | ast.ImportFrom, used: set[str]) -> str:
    """Why an import is refused: what exists, is not offered, and is used for more than annotations."""
    if any((alias.asname or "").startswith("__") for alias in node.names):
        return "names with two leading underscores are not supported"
    if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
        return "`import *` is not supported; name what is needed"
    for alias in node.names:
        name = alias.name if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
        bound = (alias.asname or alias.name).partition(".")[0]
        if name not in IMPORTED and bound in used and exists(name):
            return f"import of {name!r} is not supported; there are {', '.join(IMPORTED)}"
    return ""


def exists(module: str) -> bool:
    """Whether there is a module of that name in Python or among the packages that programs know."""
    root = module.partition(".")[0]
    return not root or root in sys.stdlib_module_names or root in ALSO
