"""Words that were given up for those of the field are no names of definitions again; each keeps one meaning at most."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "cfeval"
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
    ("settle", "warm/preload.py"): "to settle a process before it forks",
    ("settle", "warm/parent.py"): "to settle a process before it forks",
    ("sheet", "edct/labelling/records.py"): "the labelling sheet",
    ("sheet", "vce/jobs.py"): "the contact sheet",
    ("side_by_side", "audit/walkthrough.py"): "two images next to each other",
}
"""Those that name something else, and what."""


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
    files = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    return {(name, file) for file, tree in files.items() for name in definitions(tree) if name in GIVEN_UP}


@pytest.mark.parametrize(
    "source", ["class Said: ...", "def _examine(): ...", "class A:\n  def sound(self): ...", "Bit = int"]
)
def test_a_word_that_was_given_up_is_seen(source: str) -> None:
    assert set(definitions(ast.parse(source))) & GIVEN_UP.keys()


def test_no_definition_has_a_word_that_was_given_up() -> None:
    names = found()
    assert sorted(names - OTHERS.keys()) == [], "say it in the field's words: see GIVEN_UP"
    assert OTHERS.keys() <= names, "what is no longer there needs no exception"
