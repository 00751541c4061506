"""What texts alone tell: whether an answer is another one, and whether an explanation names a thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.answers import moved_by_text, names, same_text, surely_moved

EQUAL = [
    ("red", "Red."),
    ("a dog", "The dog"),
    ("two", "2"),
    ("Two", "2."),
    ("  yes ", "Yes"),
    ("It is   raining", "it is raining."),
    ("3", "3.0"),
    ("-1", "-1"),
    ("(a)", "A"),
    ("b)", "(B)"),
    ("", ""),
]
OTHERS = [
    ("two", "three"),
    ("2", "12"),
    ("1.5", "1"),
    ("-1", "1"),
    ("A", "B"),
    ("(a)", "c)"),
    ("yes", "no"),
    ("Yes, it is.", "No, it is not."),
    ("no dog", "yes, one"),
]
OPEN = [
    ("red", "blue"),
    ("red", "dark red"),
    ("2", "two dogs"),
    ("2 dogs", "3 dogs"),
    ("yes", "maybe"),
    ("yes", "Yes, there is a dog"),
    ("yes, a cat", "yes, a dog"),
    ("A", "the first option"),
    ("north", "nothing"),
    ("red", ""),
]


@pytest.mark.parametrize(("before", "after"), EQUAL)
def test_the_same_in_other_letters_has_not_moved(before: str, after: str) -> None:
    assert moved_by_text(before, after) == moved_by_text(after, before) == 0


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_other_numbers_options_and_polar_answers_have_moved(before: str, after: str) -> None:
    assert moved_by_text(before, after) == moved_by_text(after, before) == 1


@pytest.mark.parametrize(("before", "after"), OPEN)
def test_other_words_are_left_to_a_judge(before: str, after: str) -> None:
    assert moved_by_text(before, after) is moved_by_text(after, before) is None


@pytest.mark.parametrize("opening", ["I think ", "The answer is ", "I think the answer is "])
def test_what_merely_opens_an_answer_does_not_count(opening: str) -> None:
    assert moved_by_text("red", f"{opening}red.") == 0
    assert moved_by_text("two", f"{opening}3") == 1
    assert moved_by_text("red", f"{opening}blue") is None


@pytest.mark.parametrize(
    ("before", "after", "same", "other"),
    [
        ("yes", "no", True, True),
        ("three", "I think two", True, True),
        ("yes", "two", True, True),
        ("red", "the answer is blue", False, True),
        ("top left", "it is top right", False, False),
        ("yes", "certainly", True, False),
        ("two", "a pair", True, False),
        ("couch", "sofa", True, False),
        ("red", "I think it is blue.", True, True),
        ("grey", "gray", True, False),
        ("red", "a red one", True, False),
        ("red", "crimson", True, False),
        ("a dog", "a small dog", False, False),
        ("A man rides a horse.", "Two women cook some soup.", True, True),
        ("A man rides a horse.", "Someone on a horse jumps.", True, False),
        ("yes, two cats", "yes, a dog", False, False),
        ("red", "Red.", False, False),
        ("", "red", False, False),
    ],
)
def test_two_answers_surely_differ_where_texts_say_so_or_where_they_share_no_word(
    before: str, after: str, same: bool, other: bool
) -> None:
    """`same`: they answer one question."""
    assert surely_moved(before, after, same) is surely_moved(after, before, same) is other


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
def test_an_answer_never_surely_differs_from_itself_in_other_dress(one: str, other: str, same: bool) -> None:
    assert not surely_moved(one, one, same)
    assert not surely_moved(one, f"I think {one}.", same)
    assert surely_moved(one, other, same) or moved_by_text(one, other) != 1


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_are_compared_both_ways_alike(one: str, other: str) -> None:
    assert moved_by_text(one, other) == moved_by_text(other, one)
    assert moved_by_text(one, one) == 0


def test_texts_are_the_same_with_letter_case_punctuation_and_articles_aside() -> None:
    assert same_text("The red car.", "a red car")
    assert not same_text("The red car.", "the red cars")


@pytest.mark.parametrize(
    ("explanation", "thing", "named"),
    [
        ("The circle in the top left is red.", "red circle in the top left", 1),
        ("A red car is parked there.", "the red cars", 1),
        ("The RED thing", "red car", 1),
        ("A bus is parked there.", "red car", 0),
        ("The background is gray.", "color of the background", 0),
        ("", "red car", 0),
        ("A red car", "", 0),
        ("Nothing of the kind", "the color", 0),
    ],
)
def test_an_explanation_names_a_thing_by_half_of_the_words_that_describe_it(
    explanation: str, thing: str, named: int
) -> None:
    assert names(explanation, thing) == named
