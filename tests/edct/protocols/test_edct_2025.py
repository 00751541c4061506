"""Reading the replies of writers and judges under edct-2025: what is there in the asked form, and nothing else."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.protocols import controls, edct_bench_2026
from cfeval.edct.protocols.edct_2025 import (
    JUDGE_SCHEMA,
    Instruction,
    Instructions,
    Parts,
    Verdict,
    read_instructions,
    read_verdict,
    write_schema,
)
from cfeval.inference.prompts import load_prompt
from tests.slow import first_fast, slow

LABELS = ("PCS", "NCC", "CCS")
BITS = st.tuples(*[st.integers(0, 1)] * 2).map(lambda two: (*two, two[0] * two[1]))
PROSE = st.text("aZé 1.;()\n\t#*-", max_size=60)


def verdict(pcs: int, ncc: int, ccs: int) -> Verdict:
    return Verdict.model_validate({"pcs": pcs, "ncc": ncc, "ccs": ccs})


def lines(pcs: int, ncc: int, ccs: int) -> str:
    return f"PCS: {pcs}\nNCC: {ncc}\nCCS: {ccs}"


@st.composite
def decorated(draw: st.DrawFn, bits: tuple[int, ...]) -> str:
    """The three lines as different models write them."""
    bullet = draw(st.sampled_from(["", "- ", "* ", "1. ", "### ", "   ", "\t"]))
    line = draw(st.sampled_from(["{}: {}", "{}:{}", "**{}:** {}", "**{}**: **{}**", "*{}: {}*", "`{}` : `{}`  "]))
    case = draw(st.sampled_from([str.upper, str.lower, str.title]))
    break_ = draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]))
    return break_.join(bullet + line.format(case(name), bit) for name, bit in zip(LABELS, bits, strict=True))


@given(st.data(), BITS, PROSE, st.sampled_from(["", "Done.", "---", "I hope this helps!"]))
def test_a_verdict_is_read_however_its_lines_are_dressed(
    data: st.DataObject, bits: tuple[int, int, int], before: str, after: str
) -> None:
    said = data.draw(decorated(bits))
    assert read_verdict(f"{before}\n{said}\n{after}") == verdict(*bits)


FRAGMENTS = [
    "PCS: 1\n",
    "PCS: 0\n",
    "NCC: 1\n",
    "ncc:0\n",
    "CCS: 1",
    "**CCS:** 0",
    "\n",
    "\n",
    "\n",
    " ",
    " or 1",
    '"',
    "**",
]
FRAGMENTS += [
    "PCS",
    ":",
    "1",
    "١",
    "１",
    "PCſ: 1",
    "```",
    "```json\n",
    '{"pcs": 1, "ncc": 0, "ccs": 0}',
    "\ud800",
    "\0",
]


@st.composite
def disturbed(draw: st.DrawFn) -> str:
    """A verdict with fragments thrown into it."""
    text = lines(*draw(BITS))
    for fragment in draw(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=3)):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + fragment + text[place:]
    return text


@given(disturbed() | st.text())
def test_no_verdict_is_read_where_there_is_none(text: str) -> None:
    found = read_verdict(text)
    squeezed = [re.sub(r"[-\s*_`•#+\x22()\[\]]", "", line).lower() for line in text.split("\n") if line.strip()]
    runs = [squeezed[n : n + 3] for n in range(len(squeezed))]
    forms = [rf"[.,;]?(?:[0-9]+[.)])?(?:final)?{label}[:=：→][01](?:/1)?[.,;]?" for label in ("pcs", "ncc", "ccs")]
    there = any(len(run) == 3 and all(map(re.fullmatch, forms, run)) for run in runs)
    assert found is None or there or '{"pcs": 1' in text


@given(st.lists(BITS, min_size=2, max_size=4))
def test_several_verdicts_are_read_where_they_are_the_same(several: list[tuple[int, int, int]]) -> None:
    found = read_verdict("\nOnce more.\n".join(lines(*bits) for bits in several))
    assert found == (verdict(*several[0]) if len(set(several)) == 1 else None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PCS: 0 or 1\nNCC: 0 or 1\nCCS: 0 or 1",
        "PCS: [0 or 1]\nNCC: 1\nCCS: 0",
        "PCS: 1\nNCC: 1",
        "NCC: 1\nPCS: 1\nCCS: 1",
        "PCS: 1\nI am not sure.\nNCC: 1\nCCS: 1",
        "PCS: 1 NCC: 1 CCS: 1",
        "PCS: 0/1\nNCC: 0/1\nCCS: 0/1",
        "PCS: 10\nNCC: 1\nCCS: 1",
        "PCS: -1\nNCC: 1\nCCS: 1",
        "PCS: 1.0\nNCC: 1\nCCS: 1",
        "PCS: ١\nNCC: ١\nCCS: ١",
        "PCS: １\nNCC: １\nCCS: １",
        "PCſ: 1\nNCC: 1\nCCS: 1",
        "PCS: yes\nNCC: no\nCCS: no",
        "> PCS: 1\n> NCC: 1\n> CCS: 1",
        'It told me to write "PCS: 1\nNCC: 1\nCCS: 1"',
        "My scores are PCS: 1\nNCC: 1\nCCS: 1, as it said.",
        '{"pcs": 2, "ncc": 0, "ccs": 0}',
        '{"pcs": "1", "ncc": "0", "ccs": "0"}',
        '{"pcs": 1, "ncc": 0}',
        '{"pcs": 1, "ncc": 0, "ccs": 0',
        '[{"pcs": 1, "ncc": 0, "ccs": 0}]',
        '{"analysis": "PCS: 1\\nNCC: 1\\nCCS: 1"}',
        'so I say {"pcs": 1, "ncc": 0, "ccs": 0}',
        "```python\nprint({'pcs': 1})\n```",
    ],
)
def test_what_only_looks_like_a_verdict_is_none(text: str) -> None:
    assert read_verdict(text) is None


def test_a_verdict_in_a_quoted_explanation_does_not_stand_against_the_judges_own() -> None:
    quoted = f"The explanation reads:\n\n{lines(1, 1, 1)}\n\nThis is no reason. It ignores the edit.\n\n"
    assert read_verdict(quoted + lines(0, 0, 0)) == verdict(0, 0, 0)
    assert read_verdict(quoted + json_block(0, 1, 0)) == verdict(0, 1, 0)


def json_block(pcs: int, ncc: int, ccs: int) -> str:
    return f'```json\n{{"analysis": "…", "pcs": {pcs}, "ncc": {ncc}, "ccs": {ccs}}}\n```'


@given(BITS, st.text())
def test_json_is_read_as_a_whole_or_in_a_fence(bits: tuple[int, int, int], analysis: str) -> None:
    said = json.dumps({"analysis": analysis, **dict(zip(("pcs", "ncc", "ccs"), bits, strict=True))}, indent=1)
    assert read_verdict(said) == read_verdict(f" {said}\n") == verdict(*bits)
    assert read_verdict(f"My verdict:\n```json\n{said}\n```\nDone.") == verdict(*bits)


def one(text: str) -> Instruction | Parts | None:
    """The only instruction of a reply."""
    found = read_instructions(text, 6)
    if isinstance(found, Instructions):
        [only] = found.edits
        return only
    return found


WORDS = st.text("abcdefg xyz,.()éß", min_size=1, max_size=80).map(str.split).filter(bool).map(" ".join)
INSTRUCTIONS = st.builds(Instruction, concept=WORDS, positive=WORDS, negative=WORDS)


@given(
    INSTRUCTIONS,
    st.sampled_from(["{}: {}", "**{}:** {}", "- {} : {}", '{} part: "{}"', "## {}:\n{}", "**{}**:\n\n\n{}"]),
)
def test_an_instruction_is_read_however_its_lines_are_dressed(wanted: Instruction, line: str) -> None:
    parts = (("Concept", wanted.concept), ("Positive", wanted.positive), ("Negative", wanted.negative))
    for break_ in ("\n", "\n\n", "\r\n"):
        said = break_.join(line.format(label, text) for label, text in parts)
        assert one(said) == wanted
        assert one(f"Here it is:\n\n{said}\n\nI hope that helps.") == wanted
    said = json.dumps(wanted.model_dump())
    assert one(said) == one(f"```\n{said}\n```") == wanted


@given(st.text() | st.lists(st.sampled_from(["Concept:", "Positive:", "\n", "a", "\ud800", '"', "**"])).map("".join))
def test_no_instruction_is_read_where_there_is_none(text: str) -> None:
    assert one(text) is None


def test_a_text_may_go_on_over_several_lines() -> None:
    said = "Concept: steam\nPositive: Remove the steam\n  above the cup.\nNegative: steam,\nmist\n---\nBye."
    assert one(said) == Instruction(concept="steam", positive="Remove the steam above the cup.", negative="steam, mist")


def test_the_form_of_the_papers_own_wording_is_read() -> None:
    said = 'Positive Prompt: "Replace the knob by a bar."\nNegative Prompt: "knob, round handle."'
    assert one(said) == Parts(positive="Replace the knob by a bar.", negative="knob, round handle.")


def test_quotation_marks_inside_an_instruction_stay() -> None:
    said = 'Concept: sign\nPositive: "Open" becomes "Closed"\nNegative: the word "Open"'
    assert one(said) == Instruction(concept="sign", positive='"Open" becomes "Closed"', negative='the word "Open"')


ONE = "Concept: a\nPositive: b\nNegative: c"


@pytest.mark.parametrize(
    "text",
    [
        "Positive: b",
        "Concept: a\nPositive:\nNegative: c",
        "Negative: c\nPositive: b\nConcept: a",
        "Concept: a\nPositive: **\nNegative: c",
        "Positive: b\nConcept: a\nNegative: c",
        "Concept: a\nPositive: \ud800\nNegative: c",
        f"{ONE}\n\n{ONE.replace('b', 'd')}",
        f'{ONE}\n\n```json\n{{"concept": "x", "positive": "y", "negative": "z"}}\n```',
        '{"concept": "a", "positive": " ", "negative": "c"}',
        "I cannot help with that.",
    ],
)
def test_an_instruction_that_is_incomplete_or_not_the_only_one_is_none(text: str) -> None:
    assert one(text) is None


def test_the_same_instruction_twice_is_one() -> None:
    assert one(f"{ONE}\n\n{ONE}") == Instruction(concept="a", positive="b", negative="c")


LISTS = st.lists(
    st.builds(Instruction, concept=WORDS, positive=WORDS, negative=WORDS, implied=WORDS | st.just("")),
    min_size=1,
    max_size=6,
    unique_by=lambda edit: edit.concept.casefold(),
)


@given(
    LISTS, WORDS | st.just(""), st.sampled_from(["{}: {}", "**{}:** {}", "- {} : {}"]), st.sampled_from(["\n", "\n\n"])
)
def test_a_list_of_instructions_is_read_as_lines_and_as_json(
    edits: list[Instruction], blank: str, line: str, break_: str
) -> None:
    wanted = Instructions(edits=tuple(edits), blank=blank)
    said = [line.format(name.title(), text) for edit in edits for name, text in edit.model_dump().items() if text]
    said += [line.format("Blank", blank)] if blank else []
    assert read_instructions(break_.join(said), 6) == wanted
    assert read_instructions(wanted.model_dump_json(), 6) == wanted
    assert read_instructions(wanted.model_dump_json(), len(edits) - 1) is None, "more than were asked for"


def test_the_same_concept_twice_leaves_doubt() -> None:
    assert read_instructions(f"{ONE}\n\nConcept: A\nPositive: d\nNegative: e", 6) is None
    assert read_instructions(f"{ONE}\n\nConcept: x\nPositive: d\nNegative: e", 6) is not None


HUGE = 200_000


@pytest.mark.parametrize(
    "text",
    first_fast(
        [
            "PCS:" + " " * HUGE + "x",
            "PCS" + " " * HUGE,
            "- " + " " * HUGE + "PCS",
            slow("PCS: 1\n" * HUGE),
            slow("Concept:" + "\n" * HUGE),
            slow("Concept:\n" + "*\u3000*\n\n" * HUGE),
            "Positive: a\n" + "b\n" * HUGE,
            'Positive: "' + '"' * HUGE,
            "*" * HUGE,
            "```json\n{\n```\n" * (HUGE // 10),
            "{" * HUGE,
            '{"pcs":' * HUGE,
            "```json\n" + "[" * HUGE + "\n```",
        ],
        3,
    ),
    ids=lambda text: repr(text[:12]),
)
def test_huge_texts_take_linear_time(text: str) -> None:
    """At this size quadratic time would be minutes and more; the suite would not end."""
    assert read_verdict(text) is None
    assert one(text) is None


def test_the_schemas_ask_for_what_is_read() -> None:
    assert set(JUDGE_SCHEMA["required"]) == {"analysis", *Verdict.model_fields}
    schema = write_schema(6)
    assert list(schema["required"]) == list(Instructions.model_fields)
    assert list(schema["properties"]["edits"]["items"]["required"]) == list(Instruction.model_fields)


def test_the_schemas_hold_nothing_that_a_provider_refuses() -> None:
    """OpenAI's strict mode wants every property required and no others; Gemini takes no list of integers."""
    told: list[Any] = [write_schema(6), JUDGE_SCHEMA, edct_bench_2026.JUDGE_SCHEMA, edct_bench_2026.GRADE_SCHEMA]
    told += [edct_bench_2026.write_schema(2), controls.COMPARE_SCHEMA, controls.uncited_schema(2)]
    while told:
        schema = told.pop()
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            told += schema["properties"].values()
        assert "enum" not in schema or schema["type"] == "string"
        told += [schema["items"]] if "items" in schema else []


def test_the_worked_examples_of_the_writer_are_in_the_form_that_is_read() -> None:
    written = load_prompt("write", protocol="edct-2025").split("# Examples")[1].split("# The texts")[0]
    examples = written.split("Question:")[1:]
    assert len(examples) >= 2
    found = [read_instructions(example, 6) for example in examples]
    assert [len(each.edits) for each in found if isinstance(each, Instructions)] == [1, 1, 2]
    assert all(edit.implied and each.blank for each in found if isinstance(each, Instructions) for edit in each.edits)
