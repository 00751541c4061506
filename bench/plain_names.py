"""Refuse names that say nothing: `python -m bench.plain_names`, a part of `make lint`.

`plain_names.json` stores how many such names each folder still has. Where there are more, the check fails and lists
those of the files that changed last; where there are fewer, `python -m bench.plain_names --lower` stores the lower
numbers. It also follows moved files, as long as the sum does not rise. With folders (`python -m bench.plain_names
src/cfeval/core`) it lists every such name in them.
"""

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_suffix(".json")
# Names of a folder that the check lists where it has too many.
SHOWN = 20
TOPS = ("bench", "examples", "packages", "src/cfeval", "tests", "workflow")
# Each word with what to write instead, as in "write …".
REFUSED = {
    "found": "what it is: matches, rows, path",
    "said": "what it is: reply, message, text",
    "told": "what it is: options, settings, message",
    "asked": "what it is: request, question, options",
    "heard": "what it is: reply, record",
    **dict.fromkeys(("one", "of", "its", "those", "them", "besides"), "the noun: item, rows, classifier, others"),
    "former": "previous with its noun: previous_answers",
    "words": "args of a command; tokens or a noun of a text",
    "known": "known with its noun: known_unfaithful_share",
    "expected": "expected with its noun: expected_columns",
    "heed": "forward or obey with its object: forward_signal",
    "mend": "repair",
    "hear": "load or receive",
    "tell": "report",
    "let_go": "release",
    "how": "settings, or what it is: interval_method",
    **dict.fromkeys(("seal", "sealed"), "verify, verified"),
    "stale": "outdated",
}


class Offence(NamedTuple):
    """A name that says nothing, and where it is bound."""

    path: Path
    line: int
    name: str

    def __str__(self) -> str:
        """One line: where, the name, and what to write."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.name}: write {REFUSED[plain(self.name)]}"


def plain(name: str) -> str:
    """A name without underscores at its ends, in lower case."""
    return name.strip("_").lower()


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function, class, parameter and variable, but of no field of a record: files have those."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name


def offences(folder: Path) -> Iterator[Offence]:
    """The names of a folder, or of one file, that say nothing. A test may call what it expects `expected`."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
        allowed = {"expected"} if "tests" in path.relative_to(ROOT).parts else set()
        for line, name in sorted(bindings(ast.parse(path.read_text(encoding="utf-8")))):
            if plain(name) in REFUSED.keys() - allowed:
                yield Offence(path, line, name)


def room(path: Path) -> str:
    """The folder that a file counts for: the first one below src/cfeval, packages or tests, else the top one."""
    parts = path.relative_to(ROOT).parts
    depth = {"src": 3, "packages": 2, "tests": 2}.get(parts[0], 1)
    return "/".join(parts[: min(depth, len(parts) - 1)])


def main(args: Sequence[str] | None = None) -> int:
    """Compare each folder with its stored number, list the names of given folders, or store lower numbers."""
    parser = argparse.ArgumentParser(prog="python -m bench.plain_names", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="list the names of these instead")
    parser.add_argument("--lower", action="store_true", help="store the numbers of today where they are lower")
    options = parser.parse_args(args)
    for folder in options.folders:
        for offence in offences(folder.resolve()):
            print(offence)
    if options.folders:
        return 0
    everything = [offence for top in TOPS for offence in offences(ROOT / top)]
    counts = Counter(room(offence.path) for offence in everything)
    limits: dict[str, int] = json.loads(LIMITS.read_text(encoding="utf-8"))
    fewer = sum(limits.values()) - len(everything)
    if options.lower and fewer >= 0:
        LIMITS.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n", encoding="utf-8")
        return 0
    more = {folder for folder, count in counts.items() if count > limits.get(folder, 0)}
    for folder in sorted(more):
        new = [offence for offence in everything if room(offence.path) == folder]
        print(*sorted(new, key=lambda offence: -offence.path.stat().st_mtime)[:SHOWN], sep="\n")
        print(f"plain_names: {folder} has {counts[folder]}, at most {limits.get(folder, 0)} are allowed: rename yours")
        print(
            f"plain_names: above are those of files that changed last; `python -m bench.plain_names {folder}` lists all"
        )
    if fewer > 0:
        print(f"plain_names: {fewer} fewer than stored: run `python -m bench.plain_names --lower`")
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
