"""The better reader: what it reads, and above all what it leaves unread."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.cvqa.extraction.robust import HAN, read
from cfeval.cvqa.records import Choices, Form
from cfeval.inference.replies.text import WORDS
from tests.slow import fast_only

OPTIONS = Choices("How many dots?", ("16", "17", "12", "13"))
GOGGLES = "Would the goggles be covering her eyes if she took off the glasses?"
NUMBERS = {
    "3": "3",
    "three": "3",
    "twelve.": "12",
    "twenty-one": "21",
    "Twenty one cats": "21",
    "one hundred and five": "105",
    "two thousand three hundred": "2300",
    "a dozen": "12",
    "two dozen eggs": "24",
    "1,234": "1234",
    "1000": "1000",
    "3.0": "3",
    "-3": "-3",
    "minus two": "-2",
    "zero": "0",
    "none": "0",
    "No cats": "0",
    "no one": "0",
    "nobody would be left": "0",
    "There would be no cats left.": "0",
    "There wouldn't be any cats.": "0",
    "One cat would remain": "1",
    "There is a single cat": "1",
    "about 3": "3",
    "3 cats, 3": "3",
    "**3**": "3",
    "$x = 5$": "5",
    "Answer: 3": "3",
    "There would be 3 left": "3",
    "There would be 3 if 2 left": "3",
    "if 2 came there would be 5": "5",
    "If 2 came, there would be 5.": "5",
    "Three zebras would be there if one left and two came": "3",
    "After removing 2, there would be 3": "3",
    "With 2 more plates, there would be 3 plates.": "3",
    "How many cats? 3": "3",
    "No, there would be 3.": "3",
    "2+3=5": "5",
    "2 plus 3 is 5": "5",
    "There are 5 - 2 = 3 cats": "3",
    "There are 2 cats and 3 dogs, so 5 animals.": "5",
    "There are 3 cats in the image. If 2 left, there would be 1.": "1",
    "There are 2 cats. The answer is 4": "4",
    "The answer is 3. Wait, the answer is 4.": "4",
    "Step 1: there are 4 plates. Step 2: 4 - 1 = 3. The answer is 3.": "3",
    "First I count 4.\n2 leave.\n#### 2": "2",
    r"The result is \boxed{7}": "7",
    "I cannot tell for sure, but the answer is 3.": "3",
    "The final answer is:\n\n12": "12",
}
BOOLEANS = {
    "yes": "yes",
    "Yes, it would": "yes",
    "yeah": "yes",
    "True": "yes",
    "definitely": "yes",
    "Therefore, yes.": "yes",
    "it is yes": "yes",
    "I'd say no": "no",
    "it would": "yes",
    "It is": "yes",
    "no": "no",
    "No, it would be dry": "no",
    "nope": "no",
    "Not really": "no",
    "I don't think so": "no",
    "That is correct": "yes",
    "false": "no",
    "No, the goggles are not visible.": "no",
    "Yes. It is not clear, but yes": "yes",
    "Probably not": "no",
    "Of course not!": "no",
    "it would not": "no",
    "It wouldn't.": "no",
    "The cat would not be.": "no",
    "Yes, there would be no people": "yes",
    "The answer is no.": "no",
    "Yes. But then the answer is no": "no",
    "It would be dark, so the answer is yes.": "yes",
    "Would it? Yes.": "yes",
    "The goggles would not be covering her eyes.": "no",
    "The goggles would no longer be covering her eyes.": "no",
    "The goggles would be covering her eyes if she took them off": "yes",
}
CHOICES = {
    "C": "C",
    "c": "C",
    "(c)": "C",
    "C.": "C",
    "a)": "A",
    "A": "A",
    "Option C": "C",
    "C: 12": "C",
    "C 12": "C",
    "D) 13": "D",
    "12": "C",
    "twelve": "C",
    "There would be 12.": "C",
    "It's B": "B",
    "I choose D.": "D",
    "the answer is C": "C",
    "The answer is c.": "C",
    "The answer is 12": "C",
    "The answer is D: 13": "D",
    "A is the correct answer": "A",
    "C, because 12 dots remain": "C",
    "There are 20, so the answer is (d)": "D",
    "A:16  B:17  C:12  D:13. The answer is B.": "B",
}
NO_NUMBER = [
    "The number of cats would decrease by 1.",
    "The count would go up by two.",
    "All but two",
    "Everyone but one",
    "Originally 5; after removing 2: 3",
    *(
        "",
        " ",
        "?",
        "...",
        "3?",
        "yes",
        "no",
        "No.",
        "several",
        "a couple",
        "half",
        "many",
        "lots of cats",
        "E",
        "fail",
    ),
    *("3.5", "1/2", "50%", "3:30", "1.000", "3,4", "3 or 4", "3-4", "3–4", "3 to 4", "between 3 and 5", "5 - 2"),
    *("at least 3", "at most three", "more than 3", "fewer than 3", "up to 3", "3+", "3 more", "another 3", "over 3"),
    *("not 3", "The answer is not 3", "The answer isn't 3.", "The answer could be 3", "maybe 3", "It might be 3"),
    *("The answer is 3 or 4", "There are 3 cats. There are 4 cats.", "There would be 3. There would be 4."),
    *("There are no dogs, only 3 cats", "3 out of 5", "1. cat 2. dog 3. bird", "the red one", "this one", "2 < 3"),
    *("I cannot tell", "I can't count them: 3", "As an AI language model, I see 3", "It depends", "no idea", "N/A"),
    *(
        "I cannot tell whether the answer is 3",
        "I don't know, 3?",
        "Unable to determine if 3 is right",
        "no way to tell",
    ),
    *(
        "Sorry, I can only see 3",
        "If 3 cats came",
        "because there are 3",
        "Is it 3?",
        "no more",
        "the same",
        "3rd",
        "²",
    ),
]
NO_BOOLEAN = [
    "Yes, the image shows a dog. However, if it were removed, there would be no dog.",
    "No, he is dry. But in the rain he would be wet.",
    *("", "?", "maybe", "Maybe yes", "perhaps no", "possibly", "yes and no", "Yes or no", "yes/no", "Yes... no", "3"),
    *(
        "not yes",
        "not necessarily",
        "not sure",
        "No idea",
        "No way to tell",
        "No cats",
        "It depends",
        "A",
    ),
    *("The answer is not yes", "The answer is yes or no", "Either yes or no", "I don't know", "unknown", "It", "there"),
    *("She would see", "The cat would be asleep", "It would not be dry", "Is it yes?", "Yes if it rains, no otherwise"),
    *("Yes, the goggles would not be covering her eyes.", "No. The goggles would be covering her eyes.", "covering"),
    *("The goggles are covering her eyes.", "impossible", "nothing", "y", "n"),
    *("It is not visible", "not clear", "No, I cannot tell", "No, not sure", "Not enough light"),
    *("As an AI, yes", "I cannot say yes", "likely", "The glasses are red", "it could be", "n't", "yesterday", "knot"),
    *("Without glasses no goggles would be covering her eyes", "Nobody would", "unclear", "I am unable to see, no"),
]
NO_CHOICE = [
    *("", "?", "E", "yes", "99", "A cat", "A flower is inside", "vitamin C", "A or B", "b or c", "A and B", "not A"),
    *("B is wrong", "C:17", "A:16  B:17  C:12  D:13", "The answer is a flower", "The answer is not C", "I cannot tell"),
    *("The answer is B or C", "Maybe C", "12 or 13", "12 and 13", "C? D?", "ABCD", "neither", "none of them", "CD"),
    *(
        "As an AI I choose C",
        "A, B",
        "A: 12",
        "at least 12",
        "not 12",
        "the first one",
        "option",
        "option E",
        "Dad",
        "b c",
    ),
]


def said(reply: str, form: Form) -> str | None:
    return read(reply, form, OPTIONS if form == "choice" else None, GOGGLES if form == "boolean" else "")


@pytest.mark.parametrize(("reply", "wanted"), NUMBERS.items())
def test_a_number_is_read_however_it_is_put(reply: str, wanted: str) -> None:
    assert said(reply, "number") == wanted


@pytest.mark.parametrize(("reply", "wanted"), BOOLEANS.items())
def test_yes_and_no_are_read_however_they_are_put(reply: str, wanted: str) -> None:
    assert said(reply, "boolean") == wanted


@pytest.mark.parametrize(("reply", "wanted"), CHOICES.items())
def test_an_option_is_read_by_letter_or_value(reply: str, wanted: str) -> None:
    assert said(reply, "choice") == wanted


@pytest.mark.parametrize("reply", NO_NUMBER)
def test_no_number_is_guessed(reply: str) -> None:
    assert said(reply, "number") is None


@pytest.mark.parametrize("reply", NO_BOOLEAN)
def test_neither_yes_nor_no_is_guessed(reply: str) -> None:
    assert said(reply, "boolean") is None


@pytest.mark.parametrize("reply", NO_CHOICE)
def test_no_option_is_guessed(reply: str) -> None:
    assert said(reply, "choice") is None


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("The cat is black.", "Is the cat black and white?"),
        ("They are wearing hats.", "Are all of them wearing hats?"),
        ("The dogs are sleeping.", "Are the two dogs sleeping?"),
    ],
)
def test_a_sentence_that_says_a_part_of_what_was_asked_is_unread(reply: str, question: str) -> None:
    assert read(reply, "boolean", question=question) is None


def test_a_denied_question_is_not_echoed() -> None:
    assert read("The cat would be asleep", "boolean", question="Would the cat be asleep?") == "yes"
    assert read("The cat would be asleep", "boolean", question="Would the cat not be asleep?") is None
    assert read("The cat would be asleep", "boolean") is None


_TELLING = {
    *WORDS,
    *("none", "nobody", "nothing", "noone", "no", "a", "single", "only", "just", "any", "not", "course", "indeed"),
    *("yes", "yeah", "yep", "yup", "true", "correct", "affirmative", "nope", "nah", "false", "negative"),
    *("definitely", "certainly", "absolutely", "probably", "surely", "b", "c", "d", "s", "we", "you", "i", "the"),
    *("it", "they", "he", "she", "there", "this", "that", "these", "those", "would", "will", "is", "are", "was"),
    *("were", "does", "do", "did", "can", "has", "have", "should"),
}
"""Words that an answer may be made of."""
_WORD = st.text(st.characters(categories=["L"]), min_size=2, max_size=9).filter(
    lambda word: word.lower() not in _TELLING and not HAN.search(word)  # a single Chinese sign may be a number or a no
)
_TEXT = st.lists(_WORD, max_size=12).flatmap(
    lambda words: st.lists(
        st.sampled_from([" ", ", ", ". ", ": ", "; ", "! ", "\n", " - "]), min_size=len(words) + 1
    ).map(lambda marks: "".join(mark + word for mark, word in zip(marks, [*words, ""], strict=False)))
)


@given(_TEXT, st.sampled_from(["number", "boolean", "choice"]))
def test_text_without_any_answer_in_it_is_unread(reply: str, form: Form) -> None:
    assert said(reply, form) is None


@given(st.text(), st.sampled_from(["number", "boolean", "choice"]))
def test_a_reading_is_an_answer_or_nothing(reply: str, form: Form) -> None:
    found = said(reply, form)
    if found is not None:
        assert str(int(found)) == found if form == "number" else found in ("yes", "no", "A", "B", "C", "D")


@given(st.integers(0, 10**6), st.sampled_from(["{}", "{:,}", "There would be {}.", "{}.0", "If 2 came, {:,} cats"]))
def test_any_whole_number_is_read(value: int, form: str) -> None:
    assert said(form.format(value), "number") == str(value)


REPEATED = ("(1+", "\\boxed{", "<tool_call>", "<answer>", "{", "with 1 more ", "no, the dog cannot see ", "如果", "1\n")
REPEATED += ("if ", "answer ", "a", "1", "no ", "(", "hundred ", "cannot ", "1,", "so 1 ", "one and ")


FORMS: tuple[Form, ...] = ("number", "boolean", "choice")


@pytest.mark.parametrize(
    ("word", "form"), fast_only([(w, f) for w in REPEATED for f in FORMS], *zip(REPEATED, FORMS, strict=False))
)
def test_a_long_reply_is_read_in_time(word: str, form: Form) -> None:
    began = time.process_time()
    said(word * 10_000, form)
    assert time.process_time() - began < 5, "in time that grows with the length alone it takes a fraction of a second"
