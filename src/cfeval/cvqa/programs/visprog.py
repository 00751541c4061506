"""Running VisProg's programs (CVPR 2023): lines `OUT=STEP(name=value,…)`, each value a variable or a text.

A line is read as a syntax tree of exactly that form; the output of the last line is the program's answer. Unlike
upstream, boxes are those of the whole image also within crops, and an error in a line says what is allowed.

The steps are those for questions about one image (its GQA set), and two extensions of this project. Boxes are `Found`
in pixels of the whole image, y points down. Kept as published: LOC's half images for TOP, BOTTOM, LEFT and RIGHT, its
suppression of boxes that overlap (IoU over .5, sides counted inclusively), crops grown by half, sides cut at the CENTRE
of the first box, and the LEFT half where ABOVE and BELOW have no box. Departures: things that the detector tells apart
by `key` are never suppressed; LOC's drawn image (`OUT_IMAGE`) is the plain image.

EXTENSIONS: `INSIDE(box=BOX0,region=BOX1)` keeps the boxes that lie within the OUTLINE of something in the region,
`OUTSIDE` the others.

EVAL is an expression over the variables, which are bound by name and never written into the text. `{ANSWER0}` stands
for the variable's value as upstream reads it: `yes` and `no` are True and False, decimal digits a number, any other
text that text. So an answer of a model with quotes or code in it is only ever a text. `xor` is `!=`.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cfeval.core.errors import nearest
from cfeval.cvqa.programs.expressions import evaluate
from cfeval.cvqa.programs.limits import PYTHON_ERRORS, Budget, Exhausted, ProgramFault, Unsupported, from_python
from cfeval.cvqa.programs.operators import glimpse
from cfeval.cvqa.programs.parser import NOWHERE, check, parsed
from cfeval.cvqa.programs.values import Frame, Machine, kind
from cfeval.cvqa.programs.vision import Box, Found, View, VisionError

# ruff: noqa: ARG001, ARG005


# The IoU over which the less sure of two boxes is dropped.
OVERLAP = 0.5
# How much wider and higher than its box a crop is.
GROWTH = 1.5
_QUOTED = re.compile(r"""('[^'\\]*'|"[^"\\]*")""")
_PLACE = re.compile(r"\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}")
_XOR = re.compile(r"\bxor\b")
# What an expression of EVAL may hold, by classes of `ast`.
_ALLOWED_NAMES = (
    "Expression BoolOp BinOp UnaryOp IfExp Compare Constant Name boolop Not USub UAdd Add Sub Mult Div FloorDiv Mod Eq "
    "NotEq Lt LtE Gt GtE In NotIn expr_context"
)
_ALLOWED: tuple[type[ast.AST], ...] = tuple(getattr(ast, name) for name in _ALLOWED_NAMES.split())


@dataclass(frozen=True)
class Step:
    """A step: the names of its arguments, all needed, and what it does with their values."""

    arguments: tuple[str, ...]
    run: Callable[..., object]


def _view(value: object) -> View:
    if not isinstance(value, View):
        raise ProgramFault(f"an image is needed, not {kind(value)}")
    return value


def _boxes(value: object) -> list[Found]:
    if not isinstance(value, list) or not all(isinstance(item, Found) for item in value):
        raise ProgramFault(f"boxes from LOC are needed, not {kind(value)}")
    return value


def _half(view: View, name: str) -> Box | None:
    left, top, right, bottom = view.box
    x, y = (left + right) / 2, (top + bottom) / 2
    halves: dict[str, Box] = {
        "TOP": (left, top, right, y),
        "BOTTOM": (left, y, right, bottom),
        "LEFT": (left, top, x, bottom),
        "RIGHT": (x, top, right, bottom),
    }
    return halves.get(name)


def _loc(state: Frame, image: object, object: object) -> list[Found]:
    view = _view(image)
    half = _half(view, str(object))
    if half is not None:
        return [Found(half)]
    places = sorted(state.machine.eyes.find(view, object), key=lambda place: -place.score)
    kept: list[Found] = []
    for place in places:
        state.machine.meter.step(1 + len(kept))
        if not any(_same(place, other) for other in kept):
            kept.append(place)
    return kept


def _same(place: Found, other: Found) -> bool:
    if place.key and other.key and place.key != other.key:
        return False
    width = min(place.box[2], other.box[2]) - max(place.box[0], other.box[0]) + 1
    height = min(place.box[3], other.box[3]) - max(place.box[1], other.box[1]) + 1
    shared = max(width, 0) * max(height, 0)
    return shared > OVERLAP * (_area(place.box) + _area(other.box) - shared)


def _area(box: Box) -> float:
    return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)


def _part(view: View, box: Box, place: Found | None = None) -> View:
    """A part of an image, within it; never empty."""
    left, top = max(view.box[0], box[0]), max(view.box[1], box[1])
    right, bottom = min(view.box[2], box[2]), min(view.box[3], box[3])
    if left >= right or top >= bottom:
        raise ProgramFault("a crop without an area: the box lies at or beyond the edge of the image")
    return replace(view, box=(left, top, right, bottom), found=place)


def _crop(state: Frame, image: object, box: object) -> View:
    view, boxes = _view(image), _boxes(box)
    if not boxes:
        return view
    left, top, right, bottom = boxes[0].box
    x, y = (GROWTH - 1) / 2 * (right - left), (GROWTH - 1) / 2 * (bottom - top)
    return _part(view, (left - x, top - y, right + x, bottom + y), boxes[0])


def _beside(side: str) -> Callable[..., View]:
    """The part of an image on one side of the first box's centre."""

    def run(state: Frame, image: object, box: object) -> View:
        view, boxes = _view(image), _boxes(box)
        if not boxes:
            half = _half(view, "RIGHT" if side == "right" else "LEFT")
            return _part(view, half or view.box)
        left, top, right, bottom = boxes[0].box
        x, y = (left + right) / 2, (top + bottom) / 2
        edges = {
            "left": (view.box[0], view.box[1], x, view.box[3]),
            "right": (x, view.box[1], view.box[2], view.box[3]),
            "above": (view.box[0], view.box[1], view.box[2], y),
            "below": (view.box[0], y, view.box[2], view.box[3]),
        }
        return _part(view, edges[side])

    return run


def _eval(state: Frame, expr: object) -> object:
    if not isinstance(expr, str):
        raise ProgramFault(f"EVAL takes a text, not {kind(expr)}")
    return evaluate_text(expr, state)


def _within(wanted: bool) -> Callable[..., list[Found]]:
    """Boxes by whether they lie within the outline of something in a region."""

    def run(state: Frame, box: object, region: object) -> list[Found]:
        eyes, regions = state.machine.eyes, [_seen(state, place) for place in _boxes(region)]
        return [
            place
            for place in _boxes(box)
            if any(eyes.inside(_seen(state, place), outer) for outer in regions) == wanted
        ]

    return run


def _seen(state: Frame, place: Found) -> View:
    return replace(state.machine.eyes.root, box=place.box, found=place)


_PLACED = ("image", "box")
# Every step by its name.
STEPS: dict[str, Step] = {
    "LOC": Step(("image", "object"), _loc),
    "COUNT": Step(("box",), lambda state, box: len(_boxes(box))),
    **{
        name: Step(_PLACED, _crop)
        for name in ("CROP", "CROP_FRONTOF", "CROP_INFRONT", "CROP_INFRONTOF", "CROP_BEHIND", "CROP_AHEAD")
    },
    "CROP_LEFTOF": Step(_PLACED, _beside("left")),
    "CROP_RIGHTOF": Step(_PLACED, _beside("right")),
    "CROP_ABOVE": Step(_PLACED, _beside("above")),
    "CROP_BELOW": Step(_PLACED, _beside("below")),
    "VQA": Step(("image", "question"), lambda state, image, question: state.machine.eyes.ask(_view(image), question)),
    "EVAL": Step(("expr",), _eval),
    "RESULT": Step(("var",), lambda state, var: var),
    "INSIDE": Step(("box", "region"), _within(True)),
    "OUTSIDE": Step(("box", "region"), _within(False)),
}


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
            raise Unsupported(
                f"{type(node).__name__} is not allowed in EVAL; it takes variables, numbers, texts, + - * / // %, "
                "comparisons, `in`, `and`, `or`, `xor`, `not`, and `… if … else …`"
            )
        if isinstance(node, ast.Name):
            names[node.id] = _eval_value(node.id, state)
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


def _eval_value(name: str, state: Frame) -> object:
    if name not in state.names:
        raise ProgramFault(f"{name!r} is not defined; {nearest(name, state.names)}")
    value = state.names[name]
    if not isinstance(value, str):
        return value
    if value in ("yes", "no"):
        return value == "yes"
    return int(value) if value.isdecimal() and len(value) <= 300 else value


@dataclass(frozen=True)
class Line:
    """One line of a program: where it stands, the variable it writes, its step and arguments."""

    number: int
    output: str
    step: str
    arguments: dict[str, ast.Name | ast.Constant]


def run_visprog(code: str, machine: Machine) -> object:
    """What the last line of a program makes of an image.

    Raises:
        ProgramFault: what the program does wrong.
        VisionError: a call to a model failed (its status is not `ok`); that is no fault of the program.
    """
    lines = read(code, machine.meter.budget)
    state = Frame(machine, names={"IMAGE": machine.eyes.root})
    for line in lines:
        _run(line, state)
    return state.names[lines[-1].output]


def read(code: str, budget: Budget) -> list[Line]:
    """The lines of a program, each checked before the first is run.

    Raises:
        ProgramFault: a line that is no step, or a step or argument that there is not.
    """
    tree = parsed("\n".join(line.strip() for line in code.split("\n")), budget)
    nodes = sum(1 for _ in ast.walk(tree))
    if nodes > budget.nodes:
        raise Exhausted(f"a program of {nodes} nodes; at most {budget.nodes} are allowed")
    lines = [_line(node) for node in tree.body]
    if not lines:
        raise ProgramFault("the program is empty; it needs at least one line OUT=STEP(name=value,…)")
    return lines


def _line(node: ast.stmt) -> Line:
    form = "a line has the form OUT=STEP(name=value,…), each value a variable or a text"
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        raise ProgramFault(f"not a step; {form}", node.lineno)
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call.func, ast.Name):
        raise ProgramFault(f"not a step; {form}", node.lineno)
    if target.id.startswith("_"):
        raise ProgramFault(f"{target.id!r}: a variable does not start with an underscore", node.lineno)
    if call.func.id not in STEPS:
        raise ProgramFault(f"there is no step {call.func.id!r}; {nearest(call.func.id, STEPS)}", node.lineno)
    if call.args:
        raise ProgramFault(f"an argument without a name; {form}", node.lineno)
    arguments = {keyword.arg or "**": _value(keyword.value, node.lineno) for keyword in call.keywords}
    step = STEPS[call.func.id]
    given = set(arguments)
    if given != set(step.arguments):
        wanted, got = ", ".join(step.arguments), ", ".join(sorted(given)) or "nothing"
        raise ProgramFault(f"{call.func.id} takes {wanted}; it was given {got}", node.lineno)
    return Line(node.lineno, target.id, call.func.id, arguments)


def _value(node: ast.expr, line: int) -> ast.Name | ast.Constant:
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise ProgramFault("a text with half a surrogate pair is not allowed", line)
        return node
    raise ProgramFault("the value of an argument is a variable or a text in quotes", line)


def _run(line: Line, state: Frame) -> None:
    machine = state.machine
    machine.meter.step()
    try:
        values = {name: _bound(node, state) for name, node in line.arguments.items()}
        result = STEPS[line.step].run(state, **values)
    except ProgramFault as fault:
        fault.line = line.number
        raise
    except VisionError as error:
        if error.status != "ok":
            raise
        raise ProgramFault(str(error), line.number) from None
    except PYTHON_ERRORS as error:
        raise from_python(error, line.number) from None
    state.names[line.output] = machine.meter.keep(result)
    if line.step == "LOC":
        state.names[f"{line.output}_IMAGE"] = values["image"]
    shown = ", ".join(f"{name}={glimpse(value)}" for name, value in values.items())
    machine.trace.add(line.number, line.step, shown, glimpse(result))


def _bound(node: ast.Name | ast.Constant, state: Frame) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if node.id not in state.names:
        raise ProgramFault(f"{node.id!r} is not defined; {nearest(node.id, state.names)}")
    return state.names[node.id]
