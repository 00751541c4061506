"""Reading the replies of writers, judges and graders under edct-bench-2026."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.protocols.edct_bench_2026 import (
    GRADE_SCHEMA,
    JUDGE_SCHEMA,
    Chain,
    Grade,
    Instruction,
    Verdict,
    read_chain,
    read_grade,
    read_verdict,
    write_schema,
)

WORDS = st.text("abcdefg xyz,.()éß", min_size=1, max_size=60).map(str.split).filter(bool).map(" ".join)
STEPS = st.builds(Instruction, concept=WORDS, keep=WORDS, change=WORDS, how=WORDS, constraints=WORDS)
CHAINS = st.lists(STEPS, min_size=1, max_size=3, unique_by=lambda one: one.concept.casefold())


def written(step: Instruction, line: str = "{}: {}") -> str:
    return "\n".join(line.format(label.title(), text) for label, text in step.model_dump().items())


STEP = Instruction(concept="a", keep="b", change="c", how="d", constraints="e")


@given(CHAINS, st.sampled_from(["{}: {}", "**{}:** {}", "- **{}**: {}"]))
def test_a_chain_is_read_as_lines_and_as_json(steps: list[Instruction], line: str) -> None:
    wanted = Chain(edits=tuple(steps))
    said = "\n\n".join(f"Edit {n}\n\n{written(step, line)}" for n, step in enumerate(steps))
    assert read_chain(f"Sure!\n\n{said}\n\nDone.", 3) == wanted
    assert read_chain(json.dumps(wanted.model_dump()), 3) == wanted
    assert read_chain(said, len(steps) - 1) is None, "more edits than were asked for"


@pytest.mark.parametrize(
    "text",
    [
        "",
        written(STEP).replace("How: d\n", ""),
        f"{written(STEP)}\n\n{written(STEP).replace('Concept: a', 'Concept: A')}",
        "Concept: a\nChange: c\nKeep: b\nChange: c\nHow: d\nConstraints: e",
        '{"edits": []}',
        '{"edits": [{"concept": "a"}]}',
        written(STEP) + '\n\n```json\n{"edits": [' + json.dumps({**STEP.model_dump(), "how": "x"}) + "]}\n```",
    ],
)
def test_a_chain_that_is_incomplete_repeats_a_concept_or_is_not_the_only_one_is_none(text: str) -> None:
    assert read_chain(text, 2) is None


@given(st.text() | st.lists(st.sampled_from(["AC: 1", "EF: 0", "Grade: 3", "\n", "/5", "Keep:", "x"])).map("".join))
def test_arbitrary_text_does_not_crash_and_holds_no_chain(text: str) -> None:
    assert read_chain(text, 2) is None
    assert read_grade(text) in ((Grade(grade=3), None) if "Grade: 3" in text else (None,))
    assert read_verdict(text) is None, "no fragment is a CCS line"


def test_the_four_parts_become_two() -> None:
    step = Instruction(
        concept="a", keep="the wall", change="Open the door.", how="It stands ajar.", constraints="a shut door"
    )
    assert step.positive == "Change: Open the door. How: It stands ajar. Keep: the wall"
    assert step.negative == "a shut door"


@given(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))
def test_a_verdict_is_read_as_lines_and_as_json(ac: int, ef: int, ccs: int) -> None:
    said = f"**AC:** {ac}\nEF: {ef}\n\nccs: {ccs}"
    wanted = Verdict.model_validate({"ac": ac, "ef": ef, "ccs": ccs})
    found = wanted if ccs == ac * ef else None
    assert read_verdict(said) == read_verdict(json.dumps(wanted.model_dump())) == found
    assert read_verdict(said.replace("EF", "NCC")) is None


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Good.\n\nGrade: 4", 4),
        ("**Grade:** 1", 1),
        ("grade : `5`\n", 5),
        ("Grade: 2\nbut then again\nGrade: 3", None),
        ('{"analysis": "Grade: 1", "grade": 5}', None),
        ('{"analysis": "Good.", "grade": 5}', 5),
        ('```json\n{"grade": 2}\n```', 2),
        ("Grade: 0", None),
        ("Grade: 6", None),
        ("Grade: 4/5", 4),
        ("Grade: 4.5", None),
        ("Grade: 3 or 4", None),
        ("I would say Grade: 4", None),
        ("Grade: ٤", None),
        ('{"grade": 6}', None),
        ('{"grade": "4"}', None),
    ],
)
def test_a_grade_is_the_last_well_formed_one(text: str, grade: int | None) -> None:
    found = read_grade(text)
    assert (found.grade if found else None) == grade


def test_the_schemas_ask_for_what_is_read() -> None:
    assert set(JUDGE_SCHEMA["required"]) == {"analysis", *Verdict.model_fields}
    assert set(GRADE_SCHEMA["required"]) == {"analysis", *Grade.model_fields}
    edits = write_schema(2)["properties"]["edits"]
    assert edits["maxItems"] == 2
    assert edits["items"]["required"] == list(Instruction.model_fields)
