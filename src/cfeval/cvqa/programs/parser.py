"""Reading a program: its syntax tree, and the check that nothing in it is outside the part of Python that is run.

The tree is only ever read. A program with anything that is refused is not started, so no model is asked in vain.
"""

import ast
import warnings

from cfeval.cvqa.programs.limits import Budget, Exhausted, ProgramFault

NOWHERE = "<program>/."
"""The file name given to the parser, which looks for the line of an error in it: a name that no file can have."""
_STATEMENTS = (
    ast.FunctionDef,
    ast.Return,
    ast.Delete,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Try,
    ast.Raise,
    ast.Global,
    ast.Nonlocal,
    ast.Assert,
    ast.Import,
    ast.ImportFrom,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
)
EXPRESSIONS = (
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.Lambda,
    ast.IfExp,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Compare,
    ast.Call,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Name,
    ast.List,
    ast.Tuple,
    ast.Slice,
    ast.NamedExpr,
    ast.Starred,
)
_PARTS = (
    ast.Module,
    ast.Expression,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
    ast.comprehension,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.alias,
    ast.excepthandler,
)
_ALLOWED = _STATEMENTS + EXPRESSIONS + _PARTS
_WORDS: dict[type[ast.AST], str] = {
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "an async function",
    ast.With: "`with`",
    ast.AsyncWith: "`async with`",
    ast.AsyncFor: "`async for`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.Await: "`await`",
    ast.Match: "`match`",
    ast.TryStar: "`except*`",
    ast.MatMult: "`@`",
}
_SURFACE = "simple statements, loops, comprehensions, lambdas and calls of the offered functions are allowed"
EXCEPTIONS = {
    "Exception",
    "ValueError",
    "TypeError",
    "IndexError",
    "KeyError",
    "ZeroDivisionError",
    "AttributeError",
    "NameError",
    "RuntimeError",
    "LookupError",
    "ArithmeticError",
    "OverflowError",
    "AssertionError",
    "NotImplementedError",
    "StopIteration",
    "ImportError",
}
"""What an `except` may name and `raise` may raise."""


IMPORTED = ("math", "re", "collections", "itertools", "functools", "statistics", "operator", "typing", "__future__")
"""The modules that can be imported: our own, of what programs need of them."""


def parse(code: str, budget: Budget) -> ast.Module:
    """The tree of a program, checked.

    Raises:
        ProgramFault: not Python, too large, or with something in it that is not allowed.
    """
    tree = parsed(code, budget)
    check(tree, budget)
    return tree


def parsed(code: str, budget: Budget) -> ast.Module:
    """The tree of a text, unchecked; Python's parser gives up on absurd nesting by itself."""
    if len(code) > budget.string:
        raise Exhausted(f"a program of {len(code)} characters; at most {budget.string} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code, NOWHERE)
    except SyntaxError as error:
        raise ProgramFault(f"not Python: {error.msg}", error.lineno or 0, "SyntaxError") from None
    except (RecursionError, MemoryError):
        raise Exhausted("the program is nested too deeply to be read; use simple statements") from None
    except ValueError as error:
        raise ProgramFault(f"not Python: {error}", kind="SyntaxError") from None


def check(tree: ast.AST, budget: Budget) -> None:
    """Refuse a tree that is too large, too deep, or holds what is not allowed."""
    stack, count = [(tree, 0, 0)], 0
    while stack:
        node, depth, line = stack.pop()
        line = getattr(node, "lineno", line)
        count += 1
        if count > budget.nodes:
            raise Exhausted(f"a program of more than {budget.nodes} nodes; write a shorter one", line)
        if depth > 2 * budget.depth:
            raise Exhausted(f"expressions nested more than {2 * budget.depth} deep; use simple statements", line)
        reason = _refusal(node, budget)
        if reason:
            raise ProgramFault(reason, line)
        children = [child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child)]
        stack.extend((child, depth + 1, line) for child in reversed(children))


def names_read(tree: ast.AST) -> set[str]:
    """The names whose values a tree needs; those that stand only in annotations are not among them."""
    names: set[str] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        stack.extend(child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child))
    return names


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    """Annotations are neither checked nor evaluated: they do nothing."""
    if isinstance(node, ast.FunctionDef):
        return child is node.returns
    return isinstance(node, ast.AnnAssign | ast.arg) and child is node.annotation


def _refusal(node: ast.AST, budget: Budget) -> str:
    """Why a node is refused; empty where it is not."""
    if type(node) in _WORDS or not isinstance(node, _ALLOWED):
        return f"{_WORDS.get(type(node), type(node).__name__)} is not allowed; {_SURFACE}"
    if isinstance(node, ast.Constant):
        return _refused_constant(node.value, budget)
    if isinstance(node, ast.Attribute):
        return _refused_attribute(node)
    if isinstance(node, ast.Name | ast.arg):
        name = node.id if isinstance(node, ast.Name) else node.arg
        return f"{name!r}: names with two leading underscores are not allowed" if name.startswith("__") else ""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _refused_import(node)
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return _refused_function(node)
    return _refused_statement(node)


def _refused_constant(value: object, budget: Budget) -> str:
    if not isinstance(value, str | int | float | None):
        return f"a constant of type {type(value).__name__} is not allowed; use numbers, texts, True, False, None"
    if isinstance(value, int) and value.bit_length() > budget.bits:
        return f"an integer of {value.bit_length()} bits; at most {budget.bits} are allowed"
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return "a text with half a surrogate pair is not allowed"
    return ""


def _refused_attribute(node: ast.Attribute) -> str:
    if node.attr.startswith("_"):
        return f"attribute {node.attr!r}: names with a leading underscore are not allowed"
    if not isinstance(node.ctx, ast.Load):
        return f"attribute {node.attr!r} cannot be set or deleted; assign to a variable"
    return ""


def _refused_import(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = ["." * node.level + (node.module or "")]
        if any(alias.name == "*" for alias in node.names):
            return "`import *` is not allowed; name what is needed"
    other = next((name for name in names if name not in IMPORTED), None)
    return "" if other is None else f"import of {other!r} is not allowed; there are {', '.join(IMPORTED)}"


def _refused_function(node: ast.FunctionDef | ast.Lambda) -> str:
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return "decorators are not allowed"
    return ""


def _refused_statement(node: ast.AST) -> str:
    if isinstance(node, ast.ExceptHandler):
        names = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        known = all(name is None or (isinstance(name, ast.Name) and name.id in EXCEPTIONS) for name in names)
        if not known or (node.name or "").startswith("__"):
            return f"`except` takes only: {', '.join(sorted(EXCEPTIONS))}"
    if isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts):
        return "an index of several slices is not allowed; slice a list"
    if isinstance(node, ast.comprehension) and node.is_async:
        return "async comprehensions are not allowed"
    return ""
