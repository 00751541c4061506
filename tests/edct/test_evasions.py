"""Answers that evade the question, as models write them, and those that answer it."""

import pytest

from cfeval.edct.answers import evades

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
