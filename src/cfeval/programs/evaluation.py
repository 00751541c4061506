"""VisProg's EVAL: an expression over the variables, which are bound by name and never written into the text.

`{ANSWER0}` stands for the variable's value as upstream reads it: `yes` and `no` are True and False, decimal digits a
number, any other text that text. So an answer of a model with quotes or code in it is only ever a text. `xor` is `!=`.
"""

import ast
import re

from cfeval.errors import nearest
from cfeval.programs.expressions import evaluate
from cfeval.programs.faults import Exhausted, ProgramFault
from cfeval.programs.reading import NOWHERE, check
from cfeval.programs.values import Frame

_QUOTED = re.compile(r"""('[^'\\]*'|"[^"\\]*")""")
_PLACE = re.compile(r"\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}")
_XOR = re.compile(r"\bxor\b")
_ALLOWED = (
    ast.Expression,
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.Constant,
    ast.Name,
    ast.boolop,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.expr_context,
)


def evaluate_text(expression: str, state: Frame) -> object:
    """The value of an expression.

    Raises:
        ProgramFault: no expression, something in it that is not allowed, or a variable that there is not.
    """
    tree = _parsed("".join(_rewritten(piece) for piece in _QUOTED.split(expression)))
    check(tree, state.machine.meter.budget)
    names = {}
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ProgramFault(
                f"{type(node).__name__} is not allowed in EVAL; it takes variables, numbers, texts, + - * / // %, "
                "comparisons, `in`, `and`, `or`, `xor`, `not`, and `… if … else …`"
            )
        if isinstance(node, ast.Name):
            names[node.id] = _value(node.id, state)
    return evaluate(tree.body, Frame(state.machine, names=names))


def _rewritten(piece: str) -> str:
    """A piece of an expression with names for `{…}`, and `!=` for `xor`; quoted texts stay as they are."""
    if _QUOTED.fullmatch(piece):
        if _PLACE.search(piece):
            raise ProgramFault("a variable within quotes; write {NAME} without quotes around it")
        return piece
    return _XOR.sub("!=", _PLACE.sub(r" \1 ", piece))


def _parsed(expression: str) -> ast.Expression:
    try:
        return ast.parse(expression.strip(), NOWHERE, mode="eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise ProgramFault(f"EVAL: not an expression: {reason}") from None
    except (RecursionError, MemoryError):
        raise Exhausted("EVAL: nested too deeply to be read") from None


def _value(name: str, state: Frame) -> object:
    """A variable as an expression sees it."""
    if name not in state.names:
        raise ProgramFault(f"{name!r} is not defined; {nearest(name, state.names)}")
    value = state.names[name]
    if not isinstance(value, str):
        return value
    if value in ("yes", "no"):
        return value == "yes"
    return int(value) if value.isdecimal() and len(value) <= 300 else value
