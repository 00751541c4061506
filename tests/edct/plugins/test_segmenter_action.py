"""Instructions read by hand: does something come, go, or become another?"""

import pytest

from cfeval.edct.plugins.segmenters import Action, wanted
from cfeval_testbed.language.instructions import describe
from cfeval_testbed.records import EditIntent, Referent

HERE = Referent(position="top left")


@pytest.mark.parametrize(
    ("action", "positive"),
    [
        ("add", "Add a red bicycle beside the bench."),
        ("add", "please insert two more chairs"),
        ("add", "Put a hat on the man's head."),
        ("add", "Change: Place an umbrella over the table. How: closed, standing. Keep: the table"),
        ("remove", "Remove the dog."),
        ("remove", "Now delete both signs, then keep the rest."),
        ("remove", "- get rid of the snow on the roof"),
        ("remove", "CHANGE: Erase the letters. HOW: plain wall. KEEP: the wall."),
        ("remove", "First take away the cup."),
        ("modify", "Make the car blue."),
        ("modify", "Replace the steps with a ramp."),
        ("modify", "Put the cup on the left side of the table."),
        ("modify", "Change the removed tile into a whole one."),
        ("modify", "Turn the added lamp off."),
        ("modify", "Adding machine: make it green."),
        ("modify", ""),
    ],
)
def test_the_first_words_decide(action: Action, positive: str) -> None:
    found = wanted(positive, " the  thing ")
    assert (found.action, found.target) == (action, "the thing")


@pytest.mark.parametrize(
    ("action", "intent"),
    [
        ("add", EditIntent(kind="add", target=HERE, new="red circle")),
        ("remove", EditIntent(kind="remove", target=HERE, old="red circle")),
        ("modify", EditIntent(kind="color", target=HERE, old="red", new="blue")),
        ("modify", EditIntent(kind="object", target=HERE, old="red circle", new="blue star")),
        ("modify", EditIntent(kind="background", old="sky", new="sand")),
    ],
)
def test_they_decide_in_the_language_of_the_built_in_world_too(action: Action, intent: EditIntent) -> None:
    concept, positive, _ = describe(intent)
    assert wanted(positive, concept).action == action
    assert wanted(positive, concept).target == concept


def test_a_long_text_is_read_in_no_time() -> None:
    assert wanted("please, " * 20_000 + "remove it", "it").action == "remove"
    assert wanted("-" * 100_000, "it").action == "modify"
