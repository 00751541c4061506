"""Instructions for editors that can use more or less of them."""

import pytest

from cfeval.edct.interfaces import EditRequest
from cfeval.edct.plugins.remote_editors import Uses, fold, prompt_for
from tests.images import image


def request(positive: str = "Make the bus blue.", negative: str = "a red bus") -> EditRequest:
    return EditRequest("i", image(), positive, negative, seed=7)


def test_an_editor_with_a_negative_prompt_gets_both_parts_apart() -> None:
    prompted = prompt_for(request(), Uses(negative_prompt=True))
    assert (prompted.prompt, prompted.negative_prompt) == ("Make the bus blue.", "a red bus")
    assert prompted.details["negative_part"] == "sent apart"


def test_an_editor_without_one_is_told_the_negative_part_in_the_prompt() -> None:
    prompted = prompt_for(request(), Uses())
    assert prompted.prompt == "Make the bus blue. Nothing of this must remain: a red bus."
    assert prompted.negative_prompt == ""
    assert prompted.details["negative_part"] == "folded into the prompt"


@pytest.mark.parametrize("uses", [Uses(), Uses(negative_prompt=True)])
def test_without_a_negative_part_the_prompt_is_the_positive_part(uses: Uses) -> None:
    prompted = prompt_for(request(negative="  "), uses)
    assert (prompted.prompt, prompted.negative_prompt) == ("Make the bus blue.", "")
    assert prompted.details["negative_part"] == "none"


@pytest.mark.parametrize("uses", [Uses(), Uses(negative_prompt=True, seed=True)])
def test_the_details_hold_the_texts_as_they_are_sent(uses: Uses) -> None:
    prompted = prompt_for(request(), uses)
    assert prompted.details["prompt"] == prompted.prompt
    assert prompted.details["negative_prompt"] == prompted.negative_prompt


def test_the_details_tell_whether_the_seed_was_used() -> None:
    assert prompt_for(request(), Uses(seed=True)).details["seed"] == "7"
    assert prompt_for(request(), Uses()).details["seed"] == "not used"


@pytest.mark.parametrize(
    ("positive", "negative"), [("Make it blue", "red"), ("Make it blue.", "red."), ("Make it blue!", "red")]
)
def test_folded_parts_are_two_sentences(positive: str, negative: str) -> None:
    told = fold(positive, negative)
    assert told.endswith(" Nothing of this must remain: red.")
    assert ".." not in told
    assert told[len("Make it blue")] in ".!"
