"""Sets of questions in tables: every form of answer, any number of options, several images; nothing lost unsaid."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.cvqa import open_answers
from cfeval.cvqa.extraction import robust
from cfeval.cvqa.interfaces import RawPair
from cfeval.cvqa.plugins.question_tables import is_published, question_of
from cfeval.cvqa.records import Choices, form_of, listed_options, read_choices, with_options
from cfeval.cvqa.stages.scores import read_both
from tests.cvqa.files import write_questions
from tests.cvqa.question_tables import CAPTIONS, TABLES, write_table
from tests.images import image

VALUES = st.lists(
    st.text(string.ascii_lowercase + " ", min_size=1).map(lambda text: " ".join(text.split())).filter(bool),
    min_size=2,
    max_size=26,
    unique=True,
)


def table(folder: Path, rows: list[dict[str, Any]], **options: Any) -> tuple[list[RawPair], tuple[str, ...]]:
    """The questions of rows about the images 0.png to 9.png, and what was left out."""
    for number in range(10):
        (folder / f"{number}.png").write_bytes(image(number, size=(16, 12)).png)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = registry.build("question_sets", {"plugin": "plain", "path": str(folder / "rows.jsonl"), **options})
    return list(made.pairs(None, 1)), made.skipped


def test_an_image_with_a_basic_question_and_several_what_ifs_is_as_many_rows(tmp_path: Path) -> None:
    """The form of CFMM (MARS-Bench): a basic question and four assumptive ones, each with two options of its own."""
    basic = {"image": "3.png", "type": "Count", "question": "How many people wear a hat?", "options": ["3", "4"]}
    what_ifs = {
        "How many would wear one if one person took it off?": ["3", "2"],
        "How many would wear one if everybody left?": ["0", "3"],
        "How many would wear one if one more hat were found and put on?": ["2", "4"],
        "How many would wear one if all swapped their hats?": ["6", "3"],
    }
    rows = [
        basic
        | {"answer": "A", "counterfactual_question": text, "counterfactual_options": options}
        | {"counterfactual_answer": "AB"[number % 2]}
        for number, (text, options) in enumerate(what_ifs.items(), start=1)
    ]
    pairs, left_out = table(tmp_path, rows)
    assert left_out == ()
    assert [pair.counterfactual.answer for pair in pairs] == ["B", "A", "B", "A"]
    assert {(pair.type, pair.image, pair.original) for pair in pairs} == {
        ("Count", image(3, size=(16, 12)), question_of("How many people wear a hat?", ["3"], ["3", "4"]))
    }
    shown = [read_choices(pair.counterfactual.question) for pair in pairs]
    assert [choices.values for choices in shown if choices] == [tuple(options) for options in what_ifs.values()]


@given(VALUES)
def test_any_options_are_read_as_they_were_written(values: list[str]) -> None:
    text = with_options("What would it be?", values)
    assert read_choices(text) == Choices("What would it be?", tuple(values))


@given(st.lists(st.text("uvwxyz", min_size=4), min_size=2, max_size=26, unique=True), st.data())
def test_a_letter_or_a_value_is_read_among_any_options(values: list[str], data: st.DataObject) -> None:
    choices = Choices("What would it be?", tuple(values))
    place = data.draw(st.integers(0, len(values) - 1))
    letter = choices.letters[place]
    for reply in (
        f"({letter})",
        f"{letter}.",
        f"The answer is {letter}.",
        f"Option {letter}",
        f"{letter}) {values[place]}",
    ):
        assert robust.read(reply, "choice", choices) == letter, reply


@pytest.mark.parametrize(
    "text", ["(A) red (B) dark red", "A. red B. dark red", "A: red; B: dark red;", "A) red\nB) dark red"]
)
def test_options_in_the_question_are_found(text: str) -> None:
    assert listed_options(f"Which colour? Options: {text}") == Choices("Which colour?", ("red", "dark red"))
    asked = question_of(f"Which colour? {text}", ["B"])
    assert (form_of(asked), asked.answer) == ("choice", "B")


def test_a_question_without_options_has_none() -> None:
    for text in ("Is it a B or not?", "Who is Mr. A. Smith?", "What if A: nobody came?"):
        assert listed_options(text) is None


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("It would be dark red.", "B"),
        ("dark red", "B"),
        ("Red", "A"),
        ("It is red or blue.", None),
        ("Not visible", "D"),
        ("C) red", None),
        ("It would not be red.", None),
    ],
)
def test_a_value_in_words_is_read_where_it_is_clear(reply: str, letter: str | None) -> None:
    choices = Choices("Which?", ("red", "dark red", "blue", "not visible"))
    assert robust.read(reply, "choice", choices) == letter


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Blue", 1),
        ("It would be blue.", 1),
        ("The wall would be blue, because the sky is.", 1),
        ("<answer>navy</answer>", 1),
        ("If it were painted like the sky, it would be blue.", 1),
        ("Let me think. The answer is blue.", 1),
        ("Green.", 0),
        ("It would be green.", 0),
        ("Blue or green.", None),
        ("I cannot tell.", None),
        ("It would not be blue.", None),
        ("Bright blue and yellow stripes", None),
        ("The picture shows a wall. There is a door. It has a handle.", None),
    ],
)
def test_an_open_answer_is_right_wrong_or_unread(reply: str, score: int | None) -> None:
    question = "What colour would the wall be if it were painted like the sky?"
    read = read_both(reply, "text", None, question)["robust"]
    assert (None if read is None else open_answers.compare(read, ("blue", "navy"), question)) == score


def test_rows_of_every_form_are_taken_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    rows = [TABLES["plain"][2](number) for number in range(5)]
    rows += [
        {"images": ["5.png", "6.png"], "question": "Same?", "answer": "No"},
        {"image": "0.png", "question": "Which?", "answer": "x", "options": "a|b"},
        {"image": "0.png", "question": "Which?"},
        {"image": "none.png", "question": "Why?", "answer": "rain"},
        {"question": "Why?", "answer": "rain"},
    ]
    pairs, skipped = table(tmp_path, rows)
    assert [form_of(pair.counterfactual) for pair in pairs] == [
        "text",
        "choice",
        "number",
        "choice",
        "boolean",
        "boolean",
    ]
    assert pairs[0].counterfactual.also == ("navy",)
    assert [len(pair.all_images) for pair in pairs] == [1, 1, 1, 1, 1, 2]
    assert [pair.original is None for pair in pairs] == [True, True, False, True, True, True]
    assert {pair.type for pair in pairs} == {"kind 0", "kind 0 (asked alone)", "kind 1", "questions"}
    assert len(skipped) == 4
    assert all("rows.jsonl, row " in line for line in skipped)
    assert "the right answer 'x' is none of the options" in skipped[0]


def test_c_vqas_own_columns_and_a_row_without_an_original_question_are_read(tmp_path: Path) -> None:
    write_questions(tmp_path, 2)
    text = (tmp_path / "questions.csv").read_text().replace(",direct", ",my own group")
    (tmp_path / "q.csv").write_text(f"{text}COCO_val2014_000000000001.jpg,,,What if?,a dog,animals\n")
    (tmp_path / "COCO_val2014_000000000001.jpg").write_bytes(image(1).png)
    made = registry.build("question_sets", {"plugin": "plain", "path": str(tmp_path / "q.csv")})
    pairs = list(made.pairs(None, 1))
    assert [(pair.coco, pair.original is None) for pair in pairs] == [(1, False), (1, False), (1, True)]
    assert (is_published(tmp_path / "questions.csv"), is_published(tmp_path / "q.csv")) == (True, False)


def test_a_table_without_a_row_that_can_be_used_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no row that can be used; the first unusable row: .*row 1: no question"):
        table(tmp_path, [{"image": "0.png"}])


def test_whats_up_is_asked_with_its_captions_in_a_drawn_order(tmp_path: Path) -> None:
    path = write_table(tmp_path, TABLES["whatsup"], 40)
    pairs = list(registry.build("question_sets", {"plugin": "whatsup", "path": str(path)}).pairs(None, 1))
    for number, pair in enumerate(pairs):
        choices = read_choices(pair.counterfactual.question)
        assert choices is not None
        assert choices.values[choices.letters.index(pair.counterfactual.answer)] == CAPTIONS[number % 4]
    assert {pair.counterfactual.answer for pair in pairs} == set("ABCD")
    assert {pair.type for pair in pairs} == {"under", "on", "left of", "right of"}
    findings = list(registry.diagnose("question_sets", {"plugin": "whatsup", "path": str(path)}))
    assert any("SHA-256 is that of no published table" in one.text for one in findings)


def test_counterbench_asks_about_the_changed_image(tmp_path: Path) -> None:
    path = write_table(tmp_path, TABLES["counterbench"], 4)
    pairs = list(registry.build("question_sets", {"plugin": "counterbench", "path": str(path)}).pairs(None, 1))
    assert [pair.counterfactual.answer for pair in pairs] == ["yes", "no", "yes", "no"]
    assert all(pair.changed_image and pair.changed_image != pair.image for pair in pairs)


def test_naturalbench_is_asked_about_both_photographs(tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / f"{number}.png").write_bytes(image(number, size=(16, 12)).png)
    row = {"Index": 0, "Image_0": "0.png", "Image_1": "1.png", "Source": "x"}
    row |= {"Question_0": "Where is it? Option: A: left; B: right;", "Question_Type": "multiple_choice"}
    row |= {"Image_0_Question_0": "A", "Image_1_Question_0": "B", "Question_1": "Which? A: one; B: two;"}
    row |= {"Image_0_Question_1": "B", "Image_1_Question_1": "A"}
    (tmp_path / "n.jsonl").write_text(json.dumps(row) + "\n")
    of = {"plugin": "naturalbench", "path": str(tmp_path / "n.jsonl")}
    made = registry.build("question_sets", {"plugin": "image_pairs", "of": of})
    pairs = {pair.id: pair for pair in made.pairs(None, 1)}
    assert made.sizes(None).all == len(pairs) == 2
    first = pairs["0-q0"]
    assert first.original is not None
    assert read_choices(first.original.question) == Choices("Where is it?", ("left", "right"))
    assert (first.original.answer, first.counterfactual.answer) == ("A", "B")
