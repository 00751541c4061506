"""Words that were given up for those of the field are no names of definitions again; each keeps one meaning at most."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = ("src/cfeval", "packages/cfeval_audit", "packages/cfeval_testbed")
SOURCES = tuple(ROOT / top for top in TOPS)
GIVEN_UP = {
    "Bit": "StrictBinary, or what it is a bit of",
    "Caller": "Client",
    "Expected": "CallEstimate",
    "Following": "StreamingLookup",
    "Form": "PromptTemplate",
    "Heard": "ParsedReply",
    "Indexed": "RecordIndex",
    "Look": "Prediction",
    "Material": "TableData",
    "Moment": "StepState",
    "Needs": "Resources",
    "Observer": "SceneReader",
    "Picture": "Image",
    "Said": "Response, or what was said",
    "Settlement": "UsageEntry",
    "Sheet": "RenderedTable",
    "Store": "ResponseCache",
    "Try": "EditAttempt",
    "Turn": "Message",
    "asking": "prompts",
    "coincidences": "coincidence_matrix",
    "derive": "derive_seed",
    "examine": "diagnose",
    "needs": "resources",
    "over_runs": "t_interval",
    "said_instead": "empty_figure",
    "served": "map_requests",
    "settle": "record_usage",
    "sheet": "render, of a table",
    "side_by_side": "map_concurrently",
    "sound": "is_valid",
    "supposes": "has_if_clause",
    "twin": "no_cot_baseline",
    "work_through": "map_ok",
}
"""Words of the time before, and what is said instead."""
OTHERS = {
    ("Expected", "edct/config.py"): "what is known of a test model's figures, by the glossary",
    ("Form", "cvqa/records.py"): "the form of a question",
    ("examine", "edct/exam/cli.py"): "to hold the judge exam, by the glossary",
    ("served", "inference/remote/openai_api.py"): "the model that a provider says it served",
    ("sheet", "edct/labelling/records.py"): "the labelling sheet",
    ("side_by_side", "study/walkthrough.py"): "two images next to each other",
}
"""Those that name something else, and what."""
SAID = {
    r"</?picture>": "an element of HTML",
    r"(?i:\b(?:does|would) the picture (?:show|have)\b)|\bthe picture holds \{things\}": "the test bed's language",
    r"`in the picture`|\bin the picture\"|\bor ['\"]picture['\"]|\bPOSITIONS, 'picture'|`picture` or None": "the same",
    r"\bimage\W+picture\W+(?:photo|part)\b|\"photo\", \"picture\"": "what models may call an image",
}
"""Where a picture is still said, and what that is."""


def definitions(tree: ast.AST) -> Iterator[str]:
    """The names of functions, classes, methods, fields and types; without the line that makes them private."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name.lstrip("_")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id.lstrip("_")
        elif isinstance(node, ast.Assign):
            yield from (one.id.lstrip("_") for one in node.targets if isinstance(one, ast.Name) and one.id[0].isupper())


def found() -> set[tuple[str, str]]:
    """Every word that was given up and names a definition, with its file."""
    files = {
        path.relative_to(source).as_posix(): ast.parse(path.read_text())
        for source in SOURCES
        for path in source.rglob("*.py")
    }
    return {(name, file) for file, tree in files.items() for name in definitions(tree) if name in GIVEN_UP}


def read() -> dict[str, str]:
    """What people read, by file: README, documentation, parameters, and in the code help, error lines and pages."""
    written = ["README.md", "params.yaml", *(path for top in ("docs", "workflow", "profiles") for path in _below(top))]
    code = (path for top in TOPS for path in _below(top) if "/prompts/" not in path)
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in (*written, *code)}


def _below(top: str) -> Iterator[str]:
    for path in sorted((ROOT / top).rglob("*")):
        if path.suffix in (".css", ".j2", ".js", ".json", ".md", ".py", ".smk", ".yaml"):
            yield path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "source", ["class Said: ...", "def _examine(): ...", "class A:\n  def sound(self): ...", "Bit = int"]
)
def test_a_word_that_was_given_up_is_seen(source: str) -> None:
    assert set(definitions(ast.parse(source))) & GIVEN_UP.keys()


def test_no_definition_has_a_word_that_was_given_up() -> None:
    names = found()
    assert sorted(names - OTHERS.keys()) == [], "say it in the field's words: see GIVEN_UP"
    assert OTHERS.keys() <= names, "what is no longer there needs no exception"


def test_an_image_is_never_called_a_picture() -> None:
    texts = read()
    others = {name: re.sub("|".join(SAID), "", text) for name, text in texts.items()}
    assert sorted(name for name, text in others.items() if re.search("(?i)picture", text)) == [], "say image"
    assert all(any(re.search(one, text) for text in texts.values()) for one in SAID), "needs no exception any more"
