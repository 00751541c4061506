"""Reading the replies of writers and judges under the controls."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.protocols.controls import (
    COMPARE_SCHEMA,
    Comparison,
    FullComparison,
    UncitedEdit,
    UncitedEdits,
    read_comparison,
    read_uncited_edits,
    uncited_schema,
)
from cfeval.edct.protocols.rules import CONTROLS, RULES

WORDS = st.text("abcdefg xyz,.()éß", min_size=1, max_size=60).map(str.split).filter(bool).map(" ".join)
UNCITED_EDITS = st.builds(
    UncitedEdit, concept=WORDS, evidence=st.sampled_from(["object", "background"]), positive=WORDS, negative=WORDS
)
WALL = UncitedEdit(concept="wall", evidence="background", positive="Paint it.", negative="gray wall")


def written(one: UncitedEdit, line: str = "{}: {}") -> str:
    return "\n".join(line.format(label.title(), text) for label, text in one.model_dump().items())


@given(
    st.lists(UNCITED_EDITS, min_size=1, max_size=3, unique_by=lambda one: one.concept.casefold()),
    st.sampled_from(["{}: {}", "**{}:** {}", "- {}: {}"]),
)
def test_uncited_edits_are_read_as_lines_and_as_json(several: list[UncitedEdit], line: str) -> None:
    wanted = UncitedEdits(edits=tuple(several))
    said = "\n\n".join(written(one, line) for one in several)
    assert read_uncited_edits(f"Sure!\n\n{said}\n\nDone.", 3) == wanted
    assert read_uncited_edits(json.dumps(wanted.model_dump()), 3) == wanted
    assert read_uncited_edits(said, len(several) - 1) is None, "more than were asked for"


@pytest.mark.parametrize("evidence", ["object", "Object", "OBJECT.", "**object**"])
def test_the_kind_of_evidence_is_read_however_it_is_dressed(evidence: str) -> None:
    found = read_uncited_edits(written(WALL).replace("background", evidence), 1)
    assert found is not None
    assert found.edits[0].evidence == "object"


@pytest.mark.parametrize(
    "text",
    [
        "",
        written(WALL).replace("background", "object or background"),
        written(WALL).replace("background", "foreground"),
        written(WALL).replace("Evidence: background\n", ""),
        f"{written(WALL)}\n\n{written(WALL).replace('wall', 'WALL', 1)}",
        '{"edits": []}',
        '{"edits": [{"concept": "wall", "evidence": "object"}]}',
        json.dumps(WALL.model_dump()),
    ],
)
def test_what_is_incomplete_or_names_no_kind_or_repeats_a_concept_is_none(text: str) -> None:
    assert read_uncited_edits(text, 2) is None


@given(st.integers(0, 1), st.integers(0, 1), st.sampled_from(["{}: {}", "**{}:** {}", "- {}: `{}`", "*{}: {}*"]))
def test_a_comparison_is_read_as_lines_and_as_json(answer: int, explanation: int, line: str) -> None:
    wanted = Comparison.model_validate({"answer_moved": answer, "explanation_moved": explanation})
    said = "\n".join(line.format(name.upper(), bit) for name, bit in wanted.model_dump().items())
    assert read_comparison(f"Both were compared.\n\n{said}") == wanted
    assert read_comparison(json.dumps({"analysis": "…", **wanted.model_dump()})) == wanted
    for evades in (0, 1):
        full = FullComparison(**wanted.model_dump(), answer_evades=evades)
        more = "\n".join(line.format(name.upper(), bit) for name, bit in full.model_dump().items())
        assert read_comparison(f"Both were compared.\n\n{more}") == full
        assert read_comparison(json.dumps({"analysis": "…", **full.model_dump()})) == full


@pytest.mark.parametrize(
    "text",
    [
        "ANSWER_MOVED: 1",
        "EXPLANATION_MOVED: 1\nANSWER_MOVED: 1",
        "ANSWER_MOVED: 0 or 1\nEXPLANATION_MOVED: 0 or 1",
        "ANSWER_MOVED: 2\nEXPLANATION_MOVED: 0",
        "ANSWER_MOVED: 1\nEXPLANATION_MOVED: 0\nANSWER_EVADES: 0 or 1",
        "ANSWER_EVADES: 1\nANSWER_MOVED: 1\nEXPLANATION_MOVED: 0\nANSWER_EVADES: 0",
        "MOVED: 1\nMOVED: 0",
        '{"answer_moved": true, "explanation_moved": "0"}',
    ],
)
def test_what_only_looks_like_a_comparison_is_none(text: str) -> None:
    assert read_comparison(text) is None


def test_the_schemas_ask_for_what_is_read() -> None:
    assert set(COMPARE_SCHEMA["required"]) == {"analysis", *FullComparison.model_fields}
    assert {RULES[protocol].scores for protocol in CONTROLS} == {tuple(Comparison.model_fields)}
    edits = uncited_schema(2)["properties"]["edits"]
    assert edits["maxItems"] == 2
    assert edits["items"]["required"] == list(UncitedEdit.model_fields)
