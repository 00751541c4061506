"""From what a model says to the program in it (C-VQA's runners; ViperGPT, VisProg). What it says is never run here.

Kept of the runners: the text behind `### Response:`, fences taken away, an end at a second function and at `Query:`.
Not kept: WizardCoder's end at the first `#`, which loses all that follows a comment.
"""

import re
from collections.abc import Iterable, Iterator

from cfeval.records.programs import Language

_RESPONSE = "### Response:"
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"^def execute_command\b", re.MULTILINE)
_STEP = re.compile(r"[A-Za-z_]\w*\s*=\s*[A-Z][A-Z_]*\s*\(.*\)")
_ABSENT = {
    "vipergpt": "the reply holds no function execute_command",
    "visprog": "the reply holds no line of the form OUT=STEP(name=value,…)",
}


def cut_program(text: str, language: Language) -> str:
    """The program in a reply, empty where there is none."""
    said = text.rpartition(_RESPONSE)[2]
    cut = _function if language == "vipergpt" else _steps
    fenced = (cut(block) for block in _FENCE.findall(said))
    return next(filter(None, fenced), "") or cut(said)


def absence(language: Language) -> str:
    """Why nothing was cut out of a reply, in one line."""
    return _ABSENT[language]


def _function(text: str) -> str:
    """The first function of the right name, to its last indented line."""
    found = _FUNCTION.search(text)
    if found is None:
        return ""
    first, *rest = text[found.start() :].splitlines()
    return "\n".join([first, *_body(rest)]).rstrip()


def _body(lines: Iterable[str]) -> Iterator[str]:
    """The lines behind `def`, until one begins at the margin: another function, `Query:`, prose, a fence."""
    open_ = True
    for line in lines:
        margin = line[:1] not in ("", " ", "\t")
        if (margin and not (open_ and line[0] == ")")) or line.strip().startswith("Query:"):
            return
        open_ = open_ and not line.rstrip().endswith(":")
        yield line


def _steps(text: str) -> str:
    """The first run of steps; blank lines in it are left out."""
    kept: list[str] = []
    for line in text.splitlines():
        bare = line.strip().removeprefix("Program:").strip()
        if _STEP.fullmatch(bare):
            kept.append(bare)
        elif bare and kept:
            break
    return "\n".join(kept)
