"""Numbers in the answers of models."""

import pytest

from cfeval.cvqa.programs.image_patch import coerce, words_to_number

READ = {
    "12": 12,
    "3.5": 3.5,
    "There are 7 of them.": 7,
    "two": 2,
    "Twenty-five dogs": 25,
    "two hundred and five": 205,
    "one thousand three hundred": 1300,
    "-4": -4,
    "minus 4": 4,
    "10-15": 10,
    "2 of 5": 2,
    "$1,250.50": 1250.5,
    "12.": 12,
    ".5": 0.5,
    "March 5, 1999": 1999,
    "in may 2003": 2003,
    "none": "none",
    "a lot": "a lot",
    "": "",
    "someone": "someone",
    "4pm": 4,
    "hundred": 100,
    "9" * 400: "9" * 400,
}


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:20])
def test_a_number_is_read_or_the_text_comes_back(text: str) -> None:
    value = coerce(text)
    assert (value, type(value)) == (READ[text], type(READ[text]))


def test_number_words_add_up() -> None:
    assert words_to_number("three million two hundred thousand and eleven") == 3_200_011
