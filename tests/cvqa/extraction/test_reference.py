"""The released rules on replies whose readings were worked out by hand from their description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.cvqa.extraction.reference import read
from cfeval.cvqa.records import Choices

NUMBERS: dict[str, str | None] = {
    "3": "3",
    "3.": "3",
    " 3 ": "3",
    "007": "7",  # an integer again, as text
    "three": "3",
    "Three": "3",
    "TEN": "10",
    "zero": "0",
    "none": "0",
    "None of them.": "0",
    "no": "0",
    "No.": "0",
    "No cats": "0",
    "No, there would be 3.": "0",  # the first word that counts wins
    "ten": "10",
    "eleven": None,  # no words over ten
    "twelve": None,
    "twenty one": "1",
    "twenty-one": "1",  # a hyphen splits words
    "two-thirds": "2",
    "There are 4 cats.": "4",
    "There are four cats and 2 dogs": "4",
    "3 or 4": "3",
    "3-4": "3",
    "-3": "3",  # no negative numbers
    "minus 3": "3",
    "3.5": "3",  # no decimals
    "0.5": "0",
    ".5": "5",
    "1,000": "1",  # a comma ends a number
    "1000": "1000",
    "1 000": "1",
    "2+3=5": "2",
    "2 + 3 = 5": "2",
    "5 (five)": "5",
    "**4**": "4",
    "3rd": None,  # one word, not all digits
    "3cats": None,
    "x3": None,
    "3_4": None,  # the underline is part of a word
    "#3": "3",
    "$3": "3",
    "50%": "50",
    "12:30": "12",
    "if": None,
    "If": None,
    "If 2 came, there would be 5.": "5",
    "If 2 came there would be 5": None,  # opens with `if`, and has no comma: -1
    "If two came, 3, 4": "3",  # what follows the first comma
    "if,": None,
    "if, 7": "7",
    "if 1,000 came": "0",  # the comma within 1,000 is one; 000 follows it
    "If a, if 4": "4",  # only an opening `if` is looked at then
    "If no one came, none": "0",
    "There would be 5 if 2 came": "5",
    "There would be some if 2 came": None,
    "The cats, if 2 came, would be 5": None,  # only what precedes `if`
    "5 if": "5",
    "Iffy 3": "3",
    "What if 3": None,
    ",": None,
    ", 3": "3",  # an empty word first, and no `if`
    ", if 3": None,
    "3 if, 4": "3",
    "": None,
    "   ": None,
    "?": None,
    "...": None,
    "many": None,
    "a lot": None,
    "yes": None,
    "I cannot tell": None,
    "fail": None,
    "-1": "1",
    "one": "1",
    "No one": "0",
    "someone": None,
    "one of the cats": "1",
    "The answer is 3.": "3",
    "1. There are 3 cats": "1",
    "Image 2 shows 5 cats": "2",
    "noone": None,
    "nothing": None,
    "²": None,  # `isdigit`, but no integer: there the released script stops
    "٣": "3",  # digits of any script are
    "9" * 5000: None,  # more digits than Python turns into an integer
    "can't 6": "6",
}
BOOLEANS: dict[str, str | None] = {
    "yes": "yes",
    "Yes.": "yes",
    "YES": "yes",
    "no": "no",
    "No!": "no",
    "true": "yes",
    "False": "no",
    "not": "no",
    "It would not": "no",
    "It is not": "no",
    "It is": "yes",  # a mere `is`
    "They are": "yes",
    "It would be": "yes",
    "be": "yes",
    "It would": None,
    "It wouldn't": None,  # n't is no word of theirs
    "It isn't": None,
    "It isn't, it is": "yes",
    "yes and no": "no",
    "Yes, it would not": "no",
    "There is no dog": "no",
    "There is a dog": "yes",
    "I am not sure, yes": "no",
    "nope": None,
    "yeah": None,
    "yes/no": "no",
    "unknown": None,
    "": None,
    "?": None,
    "maybe": None,
    "was": None,
    "Is it?": "yes",
    "This": None,
    "nobody": None,
    "yes_no": None,
    "notable": None,
    "3": None,
}
OPTIONS = Choices("How many dots?", ("16", "17", "12", "1"))
LETTERS: dict[str, str | None] = {
    "C": "C",
    "c": "C",
    "C.": "C",
    "(c)": "C",
    "(C)": "C",
    "( c )": "C",
    "c)": "C",
    "Option C": "C",
    "option c": "C",
    "The answer is c.": "C",
    "The answer is (d)": "D",
    "Answer: b": "B",
    "answer b": "B",
    "C: 12": "C",
    "12 is C": "C",
    "A cat": "A",  # the first letter that stands alone, article or not
    "B or C": "B",
    "Not A but D": "A",
    "CD": None,
    "ABCD": None,
    "E": None,
    "cat": None,
    "12": "C",
    "There would be 12 dots": "C",
    "16 or 17": None,  # two values
    "16 and 16": "A",
    "112": None,
    "99": None,
    "twelve": None,
    "1": "D",
    "12.": "C",
    "b, of course": None,  # a small letter alone is only one as the whole reply
    "": None,
    "I cannot tell": None,
    "yes": None,
}


@pytest.mark.parametrize(("reply", "wanted"), NUMBERS.items())
def test_numbers_are_read_as_released(reply: str, wanted: str | None) -> None:
    assert read(reply, "number") == wanted


@pytest.mark.parametrize(("reply", "wanted"), BOOLEANS.items())
def test_yes_and_no_are_read_as_released(reply: str, wanted: str | None) -> None:
    assert read(reply, "boolean") == wanted


@pytest.mark.parametrize(("reply", "wanted"), LETTERS.items())
def test_options_are_read_by_letter_and_else_by_value(reply: str, wanted: str | None) -> None:
    assert read(reply, "choice", OPTIONS) == wanted


def test_without_options_only_letters_are_read() -> None:
    assert read("b", "choice") == "B"
    assert read("12", "choice") is None


def test_of_two_options_with_one_value_none_is_named() -> None:
    assert read("3", "choice", Choices("How many?", ("3", "3", "4", "5"))) is None


@given(st.text())
def test_a_reading_is_an_answer_or_nothing(reply: str) -> None:
    assert read(reply, "boolean") in ("yes", "no", None)
    assert read(reply, "choice", OPTIONS) in ("A", "B", "C", "D", None)
    number = read(reply, "number")
    assert number is None or str(int(number)) == number


@given(st.integers(0, 10**9))
def test_plain_digits_are_themselves(number: int) -> None:
    assert read(str(number), "number") == str(number)
