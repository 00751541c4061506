"""VQA accuracy against the formula written out, and the official levelling against cases worked out by hand."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfeval.datasets.answer_scoring import CONTRACTIONS, level, okvqa_accuracy, vqa_accuracy

WORDS = st.sampled_from(["red", "Red", "red.", "the red", "two", "2", "re-d", "no", "", " red\n", "hot dog", "1,5 ?"])
COUNTED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEN = st.lists(WORDS, min_size=10, max_size=10)


def reference(answer: str, answers: Sequence[str]) -> Fraction:
    """The mean over all subsets of nine of min(1, equal ones / 3), exactly as the formula is written."""
    subsets = list(combinations(range(len(answers)), len(answers) - 1))
    equal = [sum(answers[place] == answer for place in subset) for subset in subsets]
    return sum((min(Fraction(1), Fraction(count, 3)) for count in equal), Fraction(0)) / len(subsets)


def levelled(text: str) -> str:
    """The official levelling once more, mark by mark and character by character."""
    out = text
    for mark in '!"()+,-/;<=>?@[\\]_`{}':
        beside_a_space = any(pair in text for pair in (f"{mark} ", f" {mark}"))
        out = out.replace(mark, "" if beside_a_space or re.search("[0-9],[0-9]", text) else " ")
    kept, dropped = "", 0
    for place, char in enumerate(out):
        if char == "." and dropped < 32 and not out[place + 1 : place + 2].isdigit():
            dropped += 1
        else:
            kept += char
    numbers = {word: str(number) for number, word in enumerate(COUNTED)} | {"none": "0"}
    words = [numbers.get(word, word) for word in kept.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ("a", "an", "the"))


@pytest.mark.parametrize(("matches", "accuracy"), [(0, 0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1), (9, 1), (10, 1)])
def test_the_accuracy_of_so_many_equal_answers_is_the_published_one(matches: int, accuracy: float) -> None:
    answers = ["red"] * matches + [f"other{number}" for number in range(10 - matches)]
    assert vqa_accuracy("red", answers) == pytest.approx(accuracy)
    assert okvqa_accuracy("red", answers) == pytest.approx(accuracy)


@given(WORDS, TEN)
def test_accuracy_is_the_formula_over_levelled_texts_unless_all_people_agree(answer: str, answers: list[str]) -> None:
    bare = [re.sub(r"[\n\t]", " ", text).strip() for text in (answer, *answers)]
    said, *people = bare if len(set(bare[1:])) == 1 else map(levelled, bare)
    assert vqa_accuracy(answer, answers) == pytest.approx(float(reference(said, people)))


@given(st.text(st.sampled_from("a1,. -?;x'\"T"), max_size=60))
@example("." * 40)
@example("1,000 ; the U.S.A. isnt 3.5")
def test_levelling_is_the_official_one(text: str) -> None:
    assert level(text) == levelled(text)


@given(WORDS, TEN, st.permutations(range(10)))
def test_the_order_of_people_does_not_matter_and_one_more_who_agrees_never_lowers(
    answer: str, answers: list[str], order: list[int]
) -> None:
    for rule in (vqa_accuracy, okvqa_accuracy):
        assert 0 <= rule(answer, answers) <= 1
        assert rule(answer, answers) == rule(answer, [answers[place] for place in order])
    assert vqa_accuracy(answer, [answer, *answers[1:]]) >= vqa_accuracy(answer, answers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Red.", "red"),
        ("3.5", "3.5"),
        (".5", ".5"),
        ("5.", "5"),
        ("e.g. this", "eg this"),
        ("well-done", "well done"),
        ("well- done", "well done"),
        ("t-shirt - blue", "tshirt blue"),
        ("1,000", "1000"),
        ("1,000 men/women", "1000 menwomen"),
        ("men/women", "men women"),
        ("cats:dogs", "cats:dogs"),
        ("$5 & 50%", "$5 & 50%"),
        ("The Two Dogs", "2 dogs"),
        ("none", "0"),
        ("ten eleven", "10 eleven"),
        ("dont", "don't"),
        ("Im", "im"),
        ("couldntve couldnt've couldn'tve", "couldntve couldn't've couldn't've"),
        ("somebody'd", "somebodyd"),
        ("'ow'sat", "'ow's'at"),
        ("a an the", ""),
        ("." * 40, "." * 8),
    ],
)
def test_levelling_of_a_text(text: str, expected: str) -> None:
    assert level(text) == expected


def test_the_contractions_are_those_of_the_official_table() -> None:
    assert len(CONTRACTIONS) == 114, "120 there, but 4 with a capital never match and 2 change nothing"
    assert all(wrong.replace("'", "") == right.replace("'", "") for wrong, right in CONTRACTIONS.items())


def test_where_all_people_said_the_same_the_bare_texts_are_compared() -> None:
    assert vqa_accuracy("Red", ["red"] * 10) == 0
    assert vqa_accuracy("red.", ["red"] * 10) == 0
    assert vqa_accuracy(" red\n", ["red"] * 10) == 1
    assert vqa_accuracy("Red.", ["red"] * 9 + ["pink"]) == 1


def test_a_sentence_is_no_match_for_the_word_in_it() -> None:
    assert vqa_accuracy("It is red.", ["red"] * 9 + ["pink"]) == 0


@pytest.mark.parametrize(
    ("said", "people", "accuracy"),
    [
        ("Racing", ["race"] * 10, 1),
        ("skateboards", ["skateboard"] * 10, 1),
        ("hot dogs", ["hot dog"] * 10, 1),
        ("two dogs", ["2 dog"] * 10, 1),
        ("dog", ["dogs"] * 10, 0),
    ],
)
def test_ok_vqa_cuts_the_models_words_to_stems_and_not_the_peoples(
    said: str, people: list[str], accuracy: float
) -> None:
    assert okvqa_accuracy(said, people) == accuracy
