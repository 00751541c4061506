"""What texts alone tell: whether an answer is another one, and whether an explanation names a thing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.answers import evades, moved_by_text, names, same_text, surely_moved
from cfeval.inference.replies.text import SMALL

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


SIGNS = ("", "-", "−")
DECIMALS, GROUPS = (".", ","), {".": ",", ",": "."}


def forms(value: int, decimals: str, mark: str) -> dict[str, set[Fraction]]:
    """How a number is written with this mark before its decimals, and all that each form may mean."""
    exact = value + Fraction(int(decimals or "0"), 10 ** len(decimals))
    tail = f"{mark}{decimals}" if decimals else ""
    plain, grouped = f"{value}{tail}", f"{value:,}".replace(",", GROUPS[mark]) + tail
    spaced = f"{value:,}".replace(",", "\N{NO-BREAK SPACE}") + tail
    may_be_group = len(decimals) == 3 and 0 < value < 1000
    may_be_decimals = not decimals and 1000 <= value < 1_000_000
    return {
        plain: {exact} | ({Fraction(value * 1000 + int(decimals))} if may_be_group else set()),
        grouped: (
            {exact, Fraction(value, 1000)}
            if may_be_decimals
            else {exact} | ({Fraction(value * 1000 + int(decimals))} if may_be_group else set())
        ),
        spaced: {exact} | ({Fraction(value * 1000 + int(decimals))} if may_be_group else set()),
    }


NUMBERS = st.tuples(
    st.sampled_from([0, 1, 2, 15, 100, 999, 1000, 2500, 12345, 1_000_000, 1_234_567]) | st.integers(0, 9_999_999),
    st.sampled_from(["", "5", "50", "500", "000", "25", "1234"]),
    st.sampled_from(DECIMALS),
)


@given(NUMBERS, NUMBERS, st.sampled_from(["{}", "{}.", "I think {}.", "The answer is {}", "**{}**", " {} "]))
def test_numbers_are_compared_whatever_the_language_of_their_marks(
    one: tuple[int, str, str], other: tuple[int, str, str], dress: str
) -> None:
    for first, meant in forms(*one).items():
        for second, also in forms(*other).items():
            wanted = 1 if not meant & also else 0 if first == second or (meant == also and len(meant) == 1) else None
            assert moved_by_text(first, dress.format(second)) == wanted
            assert moved_by_text(f"-{first}", f"−{second}") == wanted
            assert surely_moved(first, second, True) is (wanted == 1)


@pytest.mark.parametrize("zero", [0x660, 0x6F0, 0x966, 0xFF10], ids=["arabic", "persian", "devanagari", "full width"])
@given(value=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_digits_of_every_script_are_digits(zero: int, value: int, other: int) -> None:
    written = "".join(chr(zero + int(digit)) for digit in str(value))
    assert moved_by_text(str(value), written) == 0
    assert moved_by_text(str(other), written) == (other != value)


@pytest.mark.parametrize("word", SMALL)
def test_number_words_are_numbers(word: str) -> None:
    assert moved_by_text(word, str(SMALL[word])) == moved_by_text(f"I think {word}.", str(SMALL[word])) == 0
    assert moved_by_text(word, str(SMALL[word] + 1)) == 1


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("1,5", "15", 1),
        ("2.500", "2.5", None),
        ("1,000", "1000", None),
        ("1,000,000", "1.000.000", 0),
        ("1,00,000", "100000", 0),
        ("1.234,5", "1,234.5", 0),
        ("It costs 1,5 euros", "It costs 15 euros", None),
        ("It is -1 degree", "It is 1 degree", None),
        ("3/4", "6/8", None),
        ("3/4", "1/4", 1),
        ("1.2.3", "1.2.4", 1),
        ("twenty-one", "21", 0),
        ("minus three", "-3", 0),
        ("one hundred and five", "105", 0),
    ],
)
def test_separators_signs_and_words_of_numbers(before: str, after: str, moved: int | None) -> None:
    assert moved_by_text(before, after) == moved_by_text(after, before) == moved


NOTHING = ["none", "None.", "zero", "0", "no dogs", "No dogs.", "There are no dogs", "no big dogs"]
AFFIRMED = ["yes", "Yes.", "Yes, it is raining", "yeah", "I think yes", "The answer is yes", "Yep, it is"]
DENIED = ["no", "No.", "No, it is not raining", "nope", "I think no", "The answer is no"]
IDIOMS = [
    "No doubt, it is raining",
    "No question, it is raining",
    "no doubt",
    "There is no doubt that it rains",
    "No wonder it is wet",
    "yes and no",
]


@pytest.mark.parametrize("one", NOTHING)
@pytest.mark.parametrize("other", NOTHING)
def test_none_in_every_form_has_not_moved(one: str, other: str) -> None:
    assert moved_by_text(one, other) == 0
    assert not surely_moved(one, other, True)
    assert moved_by_text(one, "2") == moved_by_text("two", one) == 1


@pytest.mark.parametrize("affirmed", AFFIRMED)
def test_yes_and_no_are_read_however_they_are_said(affirmed: str) -> None:
    for denied in DENIED:
        assert moved_by_text(affirmed, denied) == moved_by_text(denied, affirmed) == 1
        assert not any(surely_moved(denied, none, True) for none in ("none", "None.", "no dogs", "There are no dogs"))
    for other in AFFIRMED:
        assert moved_by_text(affirmed, other) != 1
    assert moved_by_text(affirmed, "no dogs") == 1


@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("polar", [*AFFIRMED, *DENIED])
def test_a_no_that_denies_nothing_is_left_to_a_judge(idiom: str, polar: str) -> None:
    assert moved_by_text(idiom, polar) is moved_by_text(polar, idiom) is None
    assert not surely_moved(idiom, polar, True)


# Answers that evade the question, as models write them, and those that answer it.


EVADING = [
    "I cannot tell.",
    "I can't determine that from the image.",
    "It is impossible to say.",
    "The sign is no longer visible.",
    "The dog isn't clearly visible in this picture.",
    "It cannot be determined.",
    "I'm unable to answer this question.",
    "I am not able to see the car.",
    "Unknown",
    "I don't know.",
    "I don’t know",
    "Not sure.",
    "Unclear.",
    "It is unclear.",
    "There is not enough information in the image to answer.",
    "The color could not be identified.",
    "N/A",
    "It is not possible to tell what the man is holding.",
    "That is hard to say.",
    "The object is not shown in the image.",
    "I'm sorry, but I can't assist with identifying this.",
    "Unanswerable",
]
ANSWERING = [
    "No.",
    "No, it is no longer visible, so nobody could read it.",
    "Yes, though I cannot tell how many.",
    "Red.",
    "Three dogs.",
    "None.",
    "Nothing.",
    "A woman who is looking at the sea.",
    "He is able to see the whole street.",
    "A visible scar.",
    "The unknown soldier's tomb.",
    "A sign that says 'not for sale'.",
    "Clear sky.",
    "Invisible ink.",
    "",
]


@pytest.mark.parametrize("answer", EVADING)
def test_an_evasion_is_found_however_it_is_put(answer: str) -> None:
    assert evades(answer)
    assert evades(f"  {answer.upper()} ")


@pytest.mark.parametrize("answer", ANSWERING)
def test_an_answer_is_no_evasion(answer: str) -> None:
    assert not evades(answer)


@pytest.mark.parametrize("answer", ["No idea.", "No way to tell."])
def test_a_no_that_denies_nothing_is_one(answer: str) -> None:
    assert evades(answer)
