"""Who answers: the same request gives the same text, and what is not asked about does not matter."""

import json
import re
from typing import Any

import pytest

from cfeval.edct.protocols.controls import read_uncited_edits
from cfeval.edct.protocols.edct_bench_2026 import read_chain
from cfeval.inference.prompts import load_prompt
from tests.images import image
from tests.loopback.asking import PHOTO, chat_body
from tests.loopback.conversation import Conversation, MalformedError, parse
from tests.loopback.personas import CITED, PERSONAS, persona_of, writer

SCHEMA = {
    "type": "object",
    "$defs": {"Grade": {"type": "integer", "minimum": 1, "maximum": 5}},
    "properties": {
        "PCS": {"type": "integer", "enum": [0, 1]},
        "NCC": {"type": "integer", "enum": [0, 1]},
        "CCS": {"type": "integer", "enum": [0, 1]},
        "graded": {"$ref": "#/$defs/Grade"},
        "reason": {"type": "string"},
        "edits": {
            "type": "array",
            "minItems": 2,
            "items": {"type": "object", "properties": {"concept": {"type": "string"}}},
        },
    },
}


def conversation(*said: str, model: str = "vlm", image: bytes | None = PHOTO, **more: Any) -> Conversation:
    """Turns of user and assistant in turn; the first carries the image."""
    first = chat_body(model=model, text=said[0])["messages"][0]
    if image != PHOTO:
        first = {"role": "user", "content": said[0]} if image is None else first
    rest = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said[1:], start=1)]
    return parse({"model": model, "messages": [first, *rest], **more}, "d" * 64)


def seen(image: bytes) -> Conversation:
    body = chat_body()
    turn = parse(body, "x").turns[0]
    return Conversation("vlm", (type(turn)("user", "What is it?", (image,)),), "x")


def asked(name: str, conversation: Conversation) -> str:
    return PERSONAS[name](conversation)


@pytest.mark.parametrize(
    ("model", "name"),
    [("vlm", "vlm"), ("loopback/writer-7b:free", "writer"), ("JUDGE", "judge"), ("models/vlm", "vlm"), ("gpt", "echo")],
)
def test_a_persona_is_found_by_a_word_of_the_models_name(model: str, name: str) -> None:
    assert persona_of(model, PERSONAS) is PERSONAS[name]


def test_the_vlm_answers_by_the_image_and_explains_what_it_named() -> None:
    answer = asked("vlm", conversation("What is this?"))
    explanation = asked("vlm", conversation("What is this?", answer, "Why?"))
    colour, thing = CITED.findall(explanation)[0]
    assert answer == f"{colour} {thing}"
    assert 5 <= explanation.count(".") <= 6


def test_the_vlm_answers_other_images_otherwise_and_the_question_does_not_matter() -> None:
    answers = {asked("vlm", seen(image(n).png)) for n in range(20)}
    assert len(answers) > 10
    assert asked("vlm", conversation("What is this?")) == asked("vlm", conversation("And this?"))


def test_the_writer_changes_the_cited_concept() -> None:
    text = asked("writer", conversation("Explanation: it is the red colour of the car.", image=None))
    assert re.fullmatch(
        r"CONCEPT: red colour of the car\nPOSITIVE: Make the car (?!red)\w+\. .+\nNEGATIVE: red car", text
    )


def test_the_writers_format_can_be_replaced() -> None:
    persona = writer(lambda edits, _: f"<{edits[0].concept}>")
    assert persona(conversation("… the blue colour of the dog …", image=None)) == "<blue colour of the dog>"


def test_the_judge_ends_with_its_scores_and_their_product() -> None:
    texts = [asked("judge", conversation(f"Verdict {n}?", image=None)) for n in range(40)]
    scores = [tuple(int(bit) for bit in re.findall(r"^(?:PCS|NCC|CCS): ([01])$", text, re.M)) for text in texts]
    assert all(pcs * ncc == ccs for pcs, ncc, ccs in scores)
    assert {ccs for *_, ccs in scores} == {0, 1}
    assert texts[0] == asked("judge", conversation("Verdict 0?", image=None))


@pytest.mark.parametrize(
    ("protocol", "name", "lines"),
    [
        ("edct-2025", "judge", "PCS: [01]\nNCC: [01]\nCCS: [01]"),
        ("edct-2025", "blind_judge", "PCS: [01]\nNCC: [01]\nCCS: [01]"),
        ("edct-bench-2026", "judge_b", "AC: [01]\nEF: [01]\nCCS: [01]"),
        ("edct-bench-2026", "grade", "Grade: [1-5]"),
        ("controls", "compare", "ANSWER_MOVED: [01]\nEXPLANATION_MOVED: [01]\nANSWER_EVADES: [01]"),
    ],
)
def test_the_judge_gives_what_the_prompt_of_the_protocol_asks_for(protocol: str, name: str, lines: str) -> None:
    text = asked("judge", conversation(load_prompt(name, protocol=protocol), image=None))
    assert re.search(rf"(?<![A-Z]: \d\n){lines}$", text)


@pytest.mark.parametrize(("protocol", "name"), [("edct-bench-2026", "write"), ("controls", "uncited")])
def test_the_writer_writes_as_many_edits_as_the_prompt_allows(protocol: str, name: str) -> None:
    read = {"write": read_chain, "uncited": read_uncited_edits}[name]
    for edits in (1, 2):
        prompt = load_prompt(name, protocol=protocol).replace("{edits}", str(edits))
        found = read(asked("writer", conversation(prompt, image=None)), edits)
        assert found is not None
        assert len(found.edits) == edits


def test_a_schema_is_followed_in_names_types_and_bounds() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}}
    free = asked("judge", conversation("Verdict?", image=None))
    reply = json.loads(asked("judge", conversation("Verdict?", image=None, response_format=wanted)))
    assert set(reply) == set(SCHEMA["properties"])
    assert f"PCS: {reply['PCS']}\nNCC: {reply['NCC']}\nCCS: {reply['CCS']}" in free
    assert 1 <= reply["graded"] <= 5
    assert isinstance(reply["reason"], str)
    assert len(reply["edits"]) == 2


def test_the_writer_fills_a_schema_with_its_edit() -> None:
    schema = {"type": "object", "properties": {"concept": {"type": "string"}, "positive": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "edit", "schema": schema}}
    said = conversation("… the blue colour of the dog …", image=None, response_format=wanted)
    assert json.loads(asked("writer", said))["concept"] == "blue colour of the dog"


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {"messages": [{"role": "user", "content": "x"}]},
        {"model": "vlm"},
        {"model": "vlm", "messages": []},
        {"model": "vlm", "messages": [{"role": "wizard", "content": "x"}]},
        {
            "model": "vlm",
            "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/x"}}]}],
        },
        {"model": "vlm", "messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema"}},
    ],
)
def test_a_malformed_request_is_refused(payload: Any) -> None:
    with pytest.raises(MalformedError):
        parse(payload, "d")
