"""Taking a program out of what a code model says: the whole of it, and nothing else.

A program of Python is a module: the function `execute_command`, and beside it the functions, constants and imports that
it needs. It is looked for in fenced blocks, the last that parses first, then in the text between them. Calls, tests and
a copy of the surface (`class ImagePatch`, stubs of its functions) that stand beside it are left out, and so are imports
of which nothing is used. Only text that does not parse is cut by lines.

Kept of C-VQA's runners: the text behind `### Response:`, and an end at `Query:`. Not kept: WizardCoder's end at the
first `#`, which loses all that follows a comment, and the end at a second function, which loses its helpers.
"""

import ast
import html
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from itertools import takewhile

from cfeval.cvqa.programs.image_patch import SURFACE
from cfeval.cvqa.programs.limits import Budget, ProgramFault
from cfeval.cvqa.programs.parser import parsed
from cfeval.cvqa.programs.vipergpt import ENTRY
from cfeval.cvqa.records import Language
from cfeval.inference.reasoning_marks import without_thoughts

_RESPONSE = "### Response:"
_FENCE = re.compile(
    r"^([ \t>]*)(```+|~~~+|'''(?=python))([^\n`]*)\n(.*?)(?:^[ \t>]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_TAGS = re.compile(
    r"^\s*(?:</?[a-z_|]+>|\[/?[A-Z]+\]|<\|[a-z_]+\|>)\s*|\s*(?:</[a-z_|]+>|\[/[A-Z]+\]|<\|[a-z_]+\|>)\s*$"
)
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)")
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " "})
_LARGE = Budget(string=100_000)
"""The longest reply that is parsed; a program in it may be as long as `Budget` says when it runs."""
_LONGEST = 400
"""Lines among which the end of a function that does not parse is looked for."""
_STEP = re.compile(r"[A-Za-z_]\w*\s*=\s*[A-Z][A-Z_]*\s*\(.*\)")
_ITEM = re.compile(r"^(?:Program:|Step\s+\d+[:.)]|\d+[.)]|[-*•])?\s*")
_NEXT = re.compile(r"^(?:Question|Query)\s*:")
_KEPT = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


def cut_program(text: str, language: Language) -> str:
    """The program in a reply; empty where there is none."""
    plain = re.sub("[\ufeff\u200b]", "", re.sub(r"\r+\n?", "\n", text))
    said = (without_thoughts(plain) or "").rpartition(_RESPONSE)[2]
    return _python(said) if language == "vipergpt" else _steps(said)


def _python(said: str) -> str:
    blocks = [*_fenced(said), *_in_json(said)]
    for number in range(len(blocks) - 1, -1, -1):
        if code := _module(blocks[number], blocks[:number]):
            return code
    cut = next(filter(None, (_by_lines(text) for text in (*reversed(blocks), said))), "")
    return cut or next(filter(None, (_as_body(text) for text in (*reversed(blocks), said))), "")


def _fenced(said: str) -> list[str]:
    """The texts within fences, without the margin or the quotation marks that all their lines share."""
    return [_unquoted(found[4]) for found in _FENCE.finditer(said)]


def _unquoted(block: str) -> str:
    lines = block.split("\n")
    if all(line.lstrip().startswith(">") and not line.startswith(">>>") for line in lines if line.strip()):
        lines = [re.sub(r"^\s*> ?", "", line) for line in lines]
    return textwrap.dedent("\n".join(lines))


def _in_json(said: str) -> list[str]:
    """The texts with a function in what is JSON, such as the arguments of a tool call."""
    for text in (said.strip(), said[said.find("{") : said.rfind("}") + 1], *_fenced(said)):
        try:
            value = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        return [text for text in _strings(value) if f"def {ENTRY}" in text]
    return []


def _strings(value: object, level: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if level < 9 and value.lstrip().startswith("{"):
            yield from _strings(_loaded(value), level + 1)
    elif isinstance(value, dict | list) and level < 9:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, level + 1)


def _loaded(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _tree(text: str) -> ast.Module | None:
    try:
        return parsed(text, _LARGE)
    except ProgramFault:
        return None


def _mended(text: str) -> Iterator[str]:
    """A text, and what it would be without what editors, pages and consoles do to code."""
    yield text
    yield text.expandtabs(4)
    plain = text.translate(_QUOTES)
    plain = plain.replace("\\_", "_")
    plain = "\n".join(_PROMPT.sub("", line) for line in plain.split("\n")).expandtabs(4)
    yield plain
    yield html.unescape(plain)


def _module(block: str, before: list[str]) -> str:
    """A block that parses, with the functions and constants that it takes from blocks before it."""
    for text in _mended(block):
        tree = _tree(text)
        if tree is None:
            continue
        if not _has_entry(tree):
            return ""
        return _with_missing(_pruned(text, tree, -1), before)
    return ""


def _has_entry(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == ENTRY for node in tree.body)


def _pruned(text: str, tree: ast.Module, which: int) -> str:
    """The text without the lines of statements that are no part of the program.

    Of several programs the one of that number: in a fence the last, as in Python; without, the first, as a model that
    does not end goes on with programs for questions of its own.
    """
    lines = text.split("\n")
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    used = _names_read(tree)
    kept = [node for node in tree.body if _belongs(node, used) and (node not in entries or node is entries[which])]
    gone = {number for node in tree.body for number in _lines(node)} - {
        number for node in kept for number in _lines(node)
    }
    last = max(number for node in kept for number in _lines(node))
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in gone and number <= last).strip("\n")


def _lines(node: ast.stmt) -> range:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return range(min([node.lineno, *(one.lineno for one in decorators)]), (node.end_lineno or node.lineno) + 1)


def _belongs(node: ast.stmt, used: set[str]) -> bool:
    """Whether a statement of a module is a part of the program; the surface is offered and needs no copy."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        return bool(names & used - SURFACE.keys())
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name not in SURFACE
    return isinstance(node, _KEPT) and bool(_names_stored(node) & used) and not _runs(node)


def _runs(node: ast.Assign | ast.AnnAssign | ast.stmt) -> bool:
    """Whether an assignment calls the program: `answer = execute_command(image)`."""
    return any(isinstance(part, ast.Name) and part.id in (ENTRY, "image") for part in ast.walk(node))


def _names_read(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _names_stored(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _with_missing(code: str, before: list[str]) -> str:
    """A program, led by what it uses and earlier blocks define."""
    own = _tree(code)
    if own is None:
        return code
    defined = set().union(*(_names_stored(node) for node in own.body))
    pieces: list[str] = []
    for block in reversed(before):
        text = next((one for one in _mended(block) if _tree(one) is not None), "")
        tree = _tree(text)
        for node in reversed(tree.body if tree else []):
            names = _names_stored(node) if isinstance(node, _KEPT) else set()
            wanted = _names_read(own).union(*(_names_read(ast.parse(piece)) for piece in pieces))
            if names & wanted - defined and _belongs(node, wanted):
                pieces.insert(0, "\n".join(text.split("\n")[_lines(node).start - 1 : _lines(node).stop - 1]))
                defined |= names
    return "\n\n".join([*pieces, code])


def _by_lines(text: str) -> str:
    """The program in a text that holds other things too: what begins at the margin and parses by itself.

    A function whose end is lost is cut where it still parses; where nothing parses, the lines as they are.
    """
    texts = list(_mended(textwrap.dedent(text)))
    for cuts in (False, True):
        for mended in texts:
            whole = "\n".join(_statements(_behind(mended), cuts))
            tree = _tree(whole)
            if tree is not None and _has_entry(tree):
                return _pruned(whole, tree, 0)
    found = re.search(rf"^def {ENTRY}\b", text, re.MULTILINE)
    return _raw(text[found.start() :].split("\n")) if found else ""


def _statements(lines: list[str], cuts: bool) -> Iterator[str]:
    """The statements of a program among lines, one after another; `cuts`: also what is left of a broken one."""
    at = 0
    while at < len(lines):
        end = _end(lines, at, cuts)
        if end is not None:
            yield "\n".join(lines[at:end])
        at = at + 1 if end is None else end


def _behind(text: str) -> list[str]:
    """The lines of a text to the next question, without tags, and without prose in the line of the function."""
    own = re.sub(rf"^(?![ \t#]).*?[:`] *(?=def {ENTRY}\b)", "", text, flags=re.MULTILINE).split("\n")
    return [_TAGS.sub("", line) for line in takewhile(lambda line: not _NEXT.match(line.strip()), own)]


_OPENS = re.compile(r"(?:async )?def \w|import \w|from [\w.]+ import |@\w|[A-Za-z_]\w*\s*(?::[^=]+)?=[^=]")


def _end(lines: list[str], start: int, cuts: bool) -> int | None:
    """The line behind the longest statement that begins in a line, or None where none does."""
    if not _OPENS.match(lines[start]):
        return None
    stop = min(len(lines), start + _LONGEST)
    margin = [at for at in range(start + 1, stop) if lines[at][:1].strip() and lines[at][0] not in "#)]}"]
    first = margin[0] if margin else stop
    for end in (first, *margin[1:8], stop):
        if _is_statement(lines[start:end]):
            return end
    if not cuts or not lines[start].startswith("def "):
        return None
    return next((end for end in range(first - 1, start + 1, -1) if _is_statement(lines[start:end])), None)


def _is_statement(lines: list[str]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = _tree("\n".join(lines))
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], _KEPT)


def _raw(lines: list[str]) -> str:
    """The function that begins in the first line as it stands, to its last indented line."""
    return "\n".join([lines[0], *takewhile(lambda line: not line[:1].strip() or line[0] in "#)", lines[1:])]).rstrip()


def _as_body(text: str) -> str:
    """A text that is the body of the function alone, as models that complete the prompt write it."""
    lines = [line for line in text.split("\n") if not line.strip().startswith("```")]
    while lines and not lines[0].strip():
        lines = lines[1:]
    body = textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")
    code = f"def {ENTRY}(image):\n{body}".rstrip()
    tree = _tree(code)
    whole = tree is not None and len(tree.body) == 1 and any(isinstance(node, ast.Return) for node in ast.walk(tree))
    return code if tree is not None and whole and {"ImagePatch", "image"} & _names_read(tree) else ""


def _steps(said: str) -> str:
    """The steps of the last fence that has some, or of the text, to the next question.

    Steps that use what only an earlier fence defines are led by the earlier ones.
    """
    fenced = [steps for steps in map(_steps_of, _fenced(said)) if steps]
    if not fenced:
        return "\n".join(_steps_of(said))
    last = fenced[-1]
    made = {line.partition("=")[0].strip() for line in last} | {"IMAGE", "LEFT", "RIGHT"}
    needed = {name for line in last for name in re.findall(r"(?:=|\{)\s*([A-Z]+\d*(?:_IMAGE)?)\s*[,)}]", line)}
    missing = {name.removesuffix("_IMAGE") for name in needed} - made
    return "\n".join(line for steps in (fenced if missing else [last]) for line in steps)


def _steps_of(text: str) -> list[str]:
    kept: list[str] = []
    for line in _joined(text).split("\n"):
        bare = _ITEM.sub("", line.strip().strip("`*")).strip().strip("`*")
        bare = re.sub(r"\)\s*(?:;|#[^'\"]*)$", ")", bare)
        if _STEP.fullmatch(bare):
            kept.append(bare)
        elif kept and (_NEXT.match(bare) or re.match(r"\w+\s*=\s*RESULT\b", kept[-1])):
            break
    return kept


def _joined(text: str) -> str:
    """A text with the lines of a step that is spread over several put together."""
    return re.sub(
        r"(?<=[(,])[ \t]*\n[ \t]*(?=\w+\s*=|\))|(?<=['\"\w])[ \t]*\n[ \t]*(?=\)\s*$)", "", text, flags=re.MULTILINE
    )
