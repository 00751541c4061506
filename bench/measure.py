"""The shape of the code in figures: `python -m bench.measure`, or of the folders that are named.

Lines count as an editor counts them. A function's body is its lines without signature and docstring. A private function
is used once where its module says its name one time besides the definition. A module is imported by one other where one
file alone but tests imports it, wherever in the file; what an entry point alone names is imported by none.
Names that say nothing: `bench/plain_names.py`.
"""

import ast
import io
import statistics
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from bench.plain_names import REFUSED, ROOT, bindings, plain

FOLDERS = ("src/cfeval", "packages", "tests")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def measure(folder: Path) -> dict[str, int]:
    """Every measure of a folder's Python files, by its name."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    once = [function for tree in trees.values() for function in used_once(tree)]
    names = Counter(plain(name) for tree in trees.values() for _, name in bindings(tree))
    modules = [module_name(path) for path in texts if path.name != "__init__.py"]
    return {
        "files": len(texts),
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "lines of comments": sum(map(comment_lines, texts.values())),
        "functions": len(functions),
        "median body of a function, lines": round(statistics.median(map(body_lines, functions or [ast.parse("")]))),
        "functions with a body over 35 lines": sum(body_lines(function) > 35 for function in functions),
        "private functions used once": len(once),
        "… of one statement": sum(len(body(function)) == 1 for function in once),
        "modules imported by one other": sum(len(importers()[module]) == 1 for module in modules),
        "names that say nothing": sum(names[word] for word in REFUSED),
        **{f"… {word}": names[word] for word in REFUSED},
    }


def body(function: ast.AST) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    statements: list[ast.stmt] = getattr(function, "body", [])
    match statements:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return statements


def body_lines(function: ast.AST) -> int:
    """Lines from the first statement to the last."""
    statements = body(function)
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1 if statements else 0


def used_once(tree: ast.Module) -> Iterator[Function]:
    """The private functions and methods of a module whose name it says one time besides the definition."""
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    for node in ast.walk(tree):
        is_private = isinstance(node, Function) and node.name.startswith("_") and not node.name.endswith("__")
        if is_private and uses[node.name] == 1:
            yield node


@cache
def importers() -> dict[str, set[Path]]:
    """The files that import each module; tests count for modules of tests alone."""
    files = [path for folder in ("src", "packages", "tests") for path in (ROOT / folder).rglob("*.py")]
    importing: dict[str, set[Path]] = defaultdict(set)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    modules = {alias.name for alias in names}
                case ast.ImportFrom(module=str(module), names=names):
                    modules = {module, *(f"{module}.{alias.name}" for alias in names)}
                case _:
                    continue
            is_test = "tests" in path.relative_to(ROOT).parts
            for module in modules:
                if is_test == module.startswith("tests."):
                    importing[module].add(path)
    return importing


def module_name(path: Path) -> str:
    """A module's full name, from the topmost package that it lies in."""
    top = next(parent for parent in path.parents if not (parent / "__init__.py").is_file())
    return ".".join(path.relative_to(top).with_suffix("").parts)


def comment_lines(text: str) -> int:
    """Lines that hold a comment and nothing else."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip() for token in tokens)


def main(folders: Sequence[str]) -> None:
    """Print a table: a line a measure, a column a folder."""
    columns = {folder: measure((ROOT / folder).resolve()) for folder in folders or FOLDERS}
    names = next(iter(columns.values()))
    print(f"{'':36}" + "".join(f"{folder:>{len(folder) + 3}}" for folder in columns))
    for name in names:
        print(f"{name:36}" + "".join(f"{column[name]:>{len(folder) + 3},}" for folder, column in columns.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
