"""Taking a program out of what a code model says: only prose and what surrounds code is left out.

A program of Python is a module: the function `execute_command`, and beside it what that needs of the functions,
classes, constants and imports around it. It is the last fenced block that defines the function, whether or not it
parses, else the first such function in the text. Calls, tests and a copy of the surface (`class ImagePatch`, stubs of
its functions) are left out, and so is what the function does not use. Code that does not parse is kept as it stands: it
is a fault, which running it reports.

Kept of C-VQA's runners: the text behind `### Response:`, and an end at `Query:`. Not kept: WizardCoder's end at the
first `#`, which loses all that follows a comment, and the end at a second function, which loses its helpers.
"""

import ast
import html
import json
import keyword
import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import takewhile

from cfeval.cvqa.programs.image_patch import SURFACE
from cfeval.cvqa.programs.limits import Budget, ProgramFault
from cfeval.cvqa.programs.parser import check_grammar, names_read, parsed
from cfeval.cvqa.programs.run import ENTRY
from cfeval.cvqa.records import Language
from cfeval.inference.thinking import without_thoughts

_RESPONSE = "### Response:"
_FENCE = re.compile(
    r"^([ \t>]*)(```+|~~~+|'''(?=python))([^\n`]*)\n(.*?)(?:^[ \t>]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_TAGS = re.compile(
    r"^\s*(?:</?[a-z_|]+>|\[/?[A-Z]+\]|<\|[a-z_]+\|>)\s*|\s*(?:</[a-z_|]+>|\[/[A-Z]+\]|<\|[a-z_]+\|>)\s*$"
)
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)")
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " "})
# The longest reply that is parsed; a program in it may be as long as `Budget` says when it runs.
_LARGE = Budget(string=100_000)
# Lines among which the end of a function that does not parse is looked for.
_LONGEST = 400
_STEP = re.compile(r"[A-Za-z_]\w*\s*=\s*[A-Z][A-Z_]*\s*\(.*\)")
# How a line begins that is meant as a step, whether or not it is one.
_STEP_LIKE = re.compile(r"(?:[A-Z]+[0-9]+|[A-Z]+_[A-Z_]+)\s*=(?!=)|[A-Za-z_]\w*\s*=\s*[A-Z][A-Z_]+\s*\(")
# Code that is no step, where it stands among steps.
_NO_STEP = re.compile(r"[A-Za-z_]\w*\s*=(?!=)|(?:if|elif|else|for|while|return|print)\b.*[:)]$")
_ITEM = re.compile(r"^(?:Program:|Step\s+\d+[:.)]|\d+[.)]|[-*•])?\s*")
# Statements that do not parse for whose end is looked far away.
_MOST = 40
_NEXT = re.compile(r"^(?:Question|Query)\s*:")
_DEFINES = re.compile(rf"^(?:async )?def {ENTRY}\b", re.MULTILINE)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# How a line at the margin begins that is code, whether or not it parses.
_CODE = re.compile(
    r"(?:async )?def \w|class \w+\s*[:(]|import \w|from [\w.]+ import |@\w|(?:if|elif|while|for|with|assert|return) ?\S"
    r"|(?:else|try|except|finally)\b.*:|[A-Za-z_][\w.]*\("
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])?\s*(?::\s*[\w.\[\], |\"']+)?(?:[-+*/|&%]|//|\*\*)?=(?!=)"
)
_SURELY = re.compile(r"(?:async )?def \w|class \w+\s*[:(]|@\w|return$")
_SENTENCE = re.compile(r"[A-Z][\w'’]*(?:,? [\w'’`()-]+){2,}[.!:]")
_LOOKS, _RETURNS = re.compile(r"\bImagePatch\(|\bimage_patch\."), re.compile(r"^\s*return\b", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z'’]+")


def cut_program(text: str, language: Language) -> str:
    """The program in a reply; empty where there is none."""
    plain = re.sub("[\ufeff\u200b]", "", re.sub(r"\r+\n?", "\n", text))
    reply_text = (without_thoughts(plain) or "").rpartition(_RESPONSE)[2]
    return _python(reply_text) if language == "vipergpt" else _steps(reply_text)


def _python(text: str) -> str:
    blocks = [*_fenced(text), *_in_json(text)]
    for number in range(len(blocks) - 1, -1, -1):
        if _defines(blocks[number]):
            return _module(blocks[number], blocks[:number])
    return _in_prose(text) or next(filter(None, map(_as_body, (*reversed(blocks), text))), "")


def _defines(text: str) -> bool:
    return any(_DEFINES.search(repaired) for repaired in _repaired(text))


def _fenced(text: str) -> list[str]:
    """The texts within fences, without the margin or the quotation marks that all their lines share."""
    return [_unquoted(match[4]) for match in _FENCE.finditer(text)]


def _unquoted(block: str) -> str:
    lines = block.split("\n")
    if all(line.lstrip().startswith(">") and not line.startswith(">>>") for line in lines if line.strip()):
        lines = [re.sub(r"^\s*> ?", "", line) for line in lines]
    return textwrap.dedent("\n".join(lines))


def _in_json(reply: str) -> list[str]:
    """The texts with a function in what is JSON, such as the arguments of a tool call."""
    for text in (reply.strip(), reply[reply.find("{") : reply.rfind("}") + 1], *_fenced(reply)):
        value = _loaded(text)
        if value is not None:
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
        tree = parsed(text, _LARGE)
        check_grammar(tree)
    except ProgramFault:
        return None
    return tree


def _repaired(text: str) -> Iterator[str]:
    """A text, and what it would be without what editors, pages and consoles do to code."""
    yield text
    yield text.expandtabs(4)
    plain = text.translate(_QUOTES)
    plain = plain.replace("\\_", "_")
    plain = "\n".join(_PROMPT.sub("", line) for line in plain.split("\n")).expandtabs(4)
    yield plain
    yield html.unescape(plain)


def _module(block: str, before: Sequence[str]) -> str:
    """The program in a block, with what it takes from blocks before it; a block that does not parse as it stands."""
    texts = list(_repaired(block))
    for text in (*texts, *("\n".join(_code_lines(text.split("\n"))) for text in texts)):
        tree = _tree(text)
        if tree is not None and _entries(tree):
            return _with_missing(_pruned(text, _entries(tree)[-1], tree), before)
    return block.strip("\n")


def _entries(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if isinstance(node, _DEFINITIONS) and node.name == ENTRY]


def _pruned(text: str, entry: ast.stmt, tree: ast.Module) -> str:
    """The lines of the function, and of what it depends on."""
    others = [node for node in tree.body if node is not entry and node not in _entries(tree)]
    kept, size = [entry], 0
    while len(kept) > size:
        size = len(kept)
        used = set().union(*map(names_read, kept))
        kept += [node for node in others if node not in kept and _belongs(node, used)]
    lines, numbers = text.split("\n"), {number for node in kept for number in _lines(node)}
    gone = {number for node in tree.body for number in _lines(node)} - numbers
    spread = range(min(numbers), max(numbers) + 1)
    return "\n".join(lines[number - 1] for number in spread if number not in gone).strip("\n")


def _lines(node: ast.stmt) -> range:
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    return range(
        min([node.lineno, *(decorator.lineno for decorator in decorators)]), (node.end_lineno or node.lineno) + 1
    )


def _belongs(node: ast.stmt, used: set[str]) -> bool:
    """Whether a statement of a module makes something that is used; the surface is offered and needs no copy."""
    made = _names_made(node) & used
    if isinstance(node, (*_DEFINITIONS, ast.Import, ast.ImportFrom)):
        return bool(made - SURFACE.keys())
    return bool(made) and not names_read(node) & {ENTRY, "image", "__name__"}


def _names_made(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value, or whose value it changes."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return {name for part in ast.walk(node) if (name := _changed(part))}


def _changed(node: ast.AST) -> str:
    """The name that is stored to, set an item or attribute of, or called a method of by a statement of its own."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node = node.value.func
        if isinstance(node, ast.Name):
            return ""
    elif not isinstance(getattr(node, "ctx", ast.Load()), ast.Store):
        return ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _with_missing(code: str, before: Sequence[str]) -> str:
    """A program, led by what it uses and earlier blocks define."""
    own = _tree(code)
    if own is None:
        return code
    defined = set().union(*map(_names_made, own.body))
    wanted, pieces = names_read(own), list[str]()
    for block in reversed(before):
        text = next((repaired for repaired in _repaired(block) if _tree(repaired) is not None), "")
        tree = _tree(text)
        for node in reversed(tree.body if tree else []):
            names = _names_made(node)
            if names & wanted - defined and _belongs(node, wanted):
                pieces.insert(0, "\n".join(text.split("\n")[_lines(node).start - 1 : _lines(node).stop - 1]))
                defined |= names
                wanted |= names_read(node)
    return "\n\n".join([*pieces, code])


def _in_prose(reply: str) -> str:
    """The first program in a text that holds other things too, without these; empty where there is none."""
    texts = [_own_lines(repaired) for repaired in _repaired(_at_margin(reply))]
    texts += [[_TAGS.sub("", line) for line in lines] for lines in texts]
    holding = dict.fromkeys("\n".join(_first(lines)) for lines in texts)
    programs = ["\n".join(_code_lines(text.split("\n"))) for text in holding if _DEFINES.search(text)]
    for text in programs:
        tree = _tree(text)
        if tree is not None and _entries(tree):
            return _pruned(text, _entries(tree)[0], tree)
    return next((text for text in programs if _DEFINES.search(text)), "")


def _at_margin(text: str) -> str:
    """A text with the function at the margin; where it is indented among prose, only what is indented like it."""
    text = textwrap.dedent(text)
    match = None if _DEFINES.search(text) else re.search(rf"^([ \t]+)def {ENTRY}\b", text, re.MULTILINE)
    if match is None:
        return text
    return textwrap.dedent("\n".join(line for line in text.split("\n") if line.startswith(match[1])))


def _own_lines(text: str) -> list[str]:
    """The lines of a text to the next question, without prose in the line of the function."""
    own = re.sub(rf"^(?![ \t#]).*?[:`] *(?=def {ENTRY}\b)", "", text, flags=re.MULTILINE).split("\n")
    return list(takewhile(lambda line: not _NEXT.match(line.strip()), own))


def _first(lines: list[str]) -> list[str]:
    """The lines to a second program: a model that does not end goes on with programs for questions of its own."""
    starts = [number for number, line in enumerate(lines) if _DEFINES.match(line)]
    return lines[: starts[1]] if len(starts) > 1 else lines


def _code_lines(lines: list[str]) -> Iterator[str]:
    """The lines that are code, well formed or not: what begins at the margin as code does, to its end.

    Prose may stand within a function: what is indented behind it is still the function's, unless that has ended.
    """
    at = broken = 0
    goes_on = False
    while at < len(lines):
        end = _end(lines, at, broken < _MOST) if _CODE.match(lines[at]) else 0
        if end:
            tree = _tree("\n".join(lines[at:end]))
            broken += tree is None
            goes_on = (
                tree is not None
                and isinstance(tree.body[-1], ast.FunctionDef)
                and not isinstance(tree.body[-1].body[-1], ast.Return | ast.Raise)
            )
        elif goes_on and lines[at][:1] in (" ", "\t") and _CODE.match(lines[at].strip()):
            yield lines[at]
        yield from lines[at:end]
        at = max(at + 1, end)


def _end(lines: list[str], start: int, far: bool) -> int:
    """The line behind a statement that begins in a line, also beyond what stands at the margin; 0 of prose."""
    stop = min(len(lines), start + _LONGEST)
    margin = [at for at in range(start + 1, stop) if lines[at][:1].strip() and lines[at][0] not in "#)]}"]
    first = margin[0] if margin else stop
    for end in (first, *margin[1:8], stop) if far else (first,):
        if _tree("\n".join(lines[start:end])) is not None:
            return end
    if not _SURELY.match(lines[start]) and _is_prose(lines[start]):
        return 0
    end = first
    while end > start + 1 and (not lines[end - 1].strip() or _SENTENCE.fullmatch(lines[end - 1].strip())):
        end -= 1
    return end


def _is_prose(line: str) -> bool:
    """Whether a line that begins like code reads on like a sentence: words in a row, or an end like one.

    Of a lone `return` it takes more of them: where its margin is lost it is still the program's.
    """
    most = 4 if line.startswith("return") else 2
    tokens = re.sub(r"""("[^"]*"|'[^']*'|\s#.*)""", '"', line).split()
    run = 0
    for word in tokens:
        run = run + 1 if _WORD.fullmatch(word.strip(",.")) and not keyword.iskeyword(word) else 0
        if run == most:
            return True
    return len(tokens) > 2 and line.rstrip()[-1:] in ".!?"


def _as_body(text: str) -> str:
    """A text that is the body of the function alone, as models that complete the prompt write it.

    Where it does not parse it is one if it looks at the image and returns something.
    """
    lines = [line for line in text.split("\n") if not line.strip().startswith("```")]
    whole = "\n".join(lines).strip("\n")
    margin = re.search(r"\n([ \t]*)", whole)
    texts = [whole, margin[1] + whole if margin and whole[:1].strip() else whole]
    texts += ["\n".join(_code_lines(lines))] if _LOOKS.search(whole) and _RETURNS.search(whole) else []
    bodies = {body: f"def {ENTRY}(image):\n{textwrap.indent(textwrap.dedent(body), '    ')}".rstrip() for body in texts}
    for code in bodies.values():
        tree = _tree(code)
        if tree is not None and len(tree.body) == 1 and _looks(tree):
            return code
    if any(map(_tree, bodies.values())):
        return ""
    return next((bodies[body] for body in reversed(texts) if _LOOKS.search(body) and _RETURNS.search(body)), "")


def _looks(tree: ast.Module) -> bool:
    returns = any(isinstance(node, ast.Return) for node in ast.walk(tree))
    return returns and bool({"ImagePatch", "image"} & names_read(tree))


def _steps(text: str) -> str:
    """The steps of the last fence that has some, or of the text, to the next question.

    Steps that use what only an earlier fence defines are led by the earlier ones.
    """
    fenced = [steps for steps in map(_steps_of, _fenced(text)) if steps]
    if not fenced:
        return "\n".join(_steps_of(text))
    last = fenced[-1]
    made = {line.partition("=")[0].strip() for line in last} | {"IMAGE", "LEFT", "RIGHT"}
    needed = {name for line in last for name in re.findall(r"(?:=|\{)\s*([A-Z]+\d*(?:_IMAGE)?)\s*[,)}]", line)}
    missing = {name.removesuffix("_IMAGE") for name in needed} - made
    return "\n".join(line for steps in (fenced if missing else [last]) for line in steps)


def _steps_of(text: str) -> list[str]:
    kept: list[str] = []
    for line in re.sub(
        r"(?<=[(,])[ \t]*\n[ \t]*(?=\w+\s*=|\))|(?<=['\"\w])[ \t]*\n[ \t]*(?=\)\s*$)", "", text, flags=re.MULTILINE
    ).split("\n"):
        bare = _ITEM.sub("", line.strip().strip("`*")).strip().strip("`*")
        bare = re.sub(r"\)\s*(?:;|#[^'\"]*)$", ")", bare)
        ended = bool(kept) and re.match(r"\w+\s*=\s*RESULT\b", kept[-1]) is not None
        code = _STEP_LIKE.match(bare) or (kept and _NO_STEP.match(bare))
        if _STEP.fullmatch(bare) or (code and not ended and not _is_prose(bare)):
            kept.append(bare)
        elif ended or (kept and _NEXT.match(bare)):
            break
    return kept
