"""Which examples teach what: what stood the test, what a score prefers, what people wrote."""

from dataclasses import replace

import pytest

from cfeval.core.errors import InputError
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.records import EditAttempt, Verification
from cfeval.edct.training_set.examples import Example, PairProvenance, Provenance, Teach, Trial, Written, examples
from tests.edct.training_set.items import KEY, PROMPTS, trial
from tests.images import image

ORIGINAL, EDITED = image(0).sha256, image(100).sha256


def taught(teach: Teach, *items: Trial, written: tuple[Written, ...] = ()) -> list[Example]:
    return examples(teach, items, PROMPTS, written)


def shown(found: list[Example]) -> list[str]:
    return [one.image for one in found]


def texts(example: Example) -> list[str]:
    return [turn.text for turn in example.turns]


def test_both_conversations_of_an_item_that_stood_its_test_are_taught_whole() -> None:
    original, edited = taught("consistent", trial())
    assert texts(original) == ["What is i?", "Red.", "Why?", "It is a red car."]
    assert texts(edited) == ["What is i?", "Blue.", "Why?", "It is a blue car."]
    assert [turn.role for turn in edited.turns] == ["user", "assistant"] * 2
    assert (original.image, original.original) == (ORIGINAL, ORIGINAL)
    assert (edited.image, edited.original) == (EDITED, ORIGINAL)


@pytest.mark.parametrize("scores", [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize("protocol", ["edct-2025", "edct-bench-2026"])
def test_what_did_not_stand_its_test_is_not_taught(scores: tuple[int, int], protocol: str) -> None:
    assert taught("consistent", trial(scores, protocol=protocol)) == []
    assert len(taught("all", trial(scores, protocol=protocol))) == 2


def test_what_is_said_about_an_original_must_stand_all_its_tests() -> None:
    chain = [trial(protocol="edct-bench-2026"), trial((1, 0), edit=2, edited=101, protocol="edct-bench-2026")]
    assert shown(taught("consistent", *chain)) == [EDITED]


def test_what_one_of_several_judges_rejects_is_not_taught() -> None:
    assert len(taught("consistent", trial(), trial(judge="k"))) == 2
    assert taught("consistent", trial(), trial((1, 0), judge="k")) == []


@pytest.mark.parametrize("control", CONTROLS)
def test_under_a_control_what_did_not_move_stood_the_test(control: str) -> None:
    assert len(taught("consistent", trial((0, 0), protocol=control))) == 2
    for moved in ((0, 1), (1, 0), (1, 1)):
        assert taught("consistent", trial(moved, protocol=control)) == []
    assert shown(taught("consistent", trial(), trial((1, 0), protocol=control, edited=9))) == [EDITED]


def test_the_same_words_about_the_same_image_are_taught_once() -> None:
    assert len(taught("all", trial(), trial(judge="k"), trial(vlm="n"))) == 2
    assert len(taught("all", trial(), trial(vlm="n", said_before="Crimson."))) == 3


def test_another_target_that_says_the_same_and_fails_does_not_take_an_example_away() -> None:
    [original, edited] = taught("consistent", trial((0, 0), vlm="n"), trial())
    assert isinstance(original.provenance, Provenance)
    assert [test.vlm for test in original.provenance.tests] == ["m"]
    assert edited.image == EDITED


def test_of_two_answers_about_the_same_image_the_one_that_scored_is_preferred() -> None:
    [pair] = taught("contrast", trial((0, 0), "Red.", vlm="n"), trial())
    assert pair.chosen is not None
    assert pair.rejected is not None
    assert (texts(pair), pair.chosen.text, pair.rejected.text) == (["What is i?"], "Blue.", "Red.")
    assert (pair.image, pair.original) == (EDITED, ORIGINAL)
    assert isinstance(pair.provenance, PairProvenance)
    assert (pair.provenance.chosen.tests[0].vlm, pair.provenance.rejected.tests[0].vlm) == ("m", "n")


def test_of_two_explanations_of_one_answer_the_one_that_scored_is_preferred() -> None:
    [pair] = taught("contrast", trial(), trial((1, 0), explanation="It is a red car.", vlm="n"))
    assert texts(pair) == ["What is i?", "Blue.", "Why?"]
    assert pair.chosen is not None
    assert pair.rejected is not None
    assert (pair.chosen.text, pair.rejected.text) == ("It is a blue car.", "It is a red car.")


@pytest.mark.parametrize(
    "other",
    [
        trial((0, 0), vlm="n"),
        trial((0, 0), "Red.", edited=101, vlm="n"),
        trial((0, 0), "Red.", item="k", vlm="n"),
        trial((0, 0), "Red.", dataset="other", vlm="n"),
        trial((1, 1), "Cyan.", vlm="n"),
        trial((0, 1), explanation="Because.", vlm="n"),
    ],
    ids=["same words", "another image", "another item", "another dataset", "both right", "judges disagree"],
)
def test_what_no_score_tells_apart_makes_no_pair(other: Trial) -> None:
    assert taught("contrast", trial(), other) == []


def test_an_answer_on_which_scores_differ_is_in_no_pair() -> None:
    rivals = [trial((0, 0), "Red.", vlm="n"), trial((1, 1), "Red.", vlm="o")]
    assert taught("contrast", trial(), *rivals) == []
    [pair] = taught("contrast", trial(), *rivals, trial((0, 0), "Green.", vlm="p"))
    assert pair.rejected is not None
    assert pair.rejected.text == "Green."


def test_pairs_from_a_control_are_refused() -> None:
    with pytest.raises(InputError, match=r"^--teach contrast: under the control null-edit .* take its conditions out$"):
        taught("contrast", trial(), trial(protocol="null-edit"))


def test_words_that_people_wrote_take_the_place_of_the_model_s() -> None:
    lines = (
        Written(id="i", image=f"{EDITED}.png", answer="It is blue.", explanation="The car is blue."),
        Written(id="i", image=ORIGINAL[:8], answer="It is red."),
    )
    edited, original = taught("written", trial((0, 0)), written=lines)
    assert texts(edited) == ["What is i?", "It is blue.", "Why?", "The car is blue."]
    assert texts(original) == ["What is i?", "It is red."]
    assert isinstance(edited.provenance, Provenance)
    assert (edited.provenance.words, edited.provenance.model, edited.provenance.calls) == ("people", "", ())
    assert edited.provenance.tests[0].scores["ccs"] == 0


@pytest.mark.parametrize(("item", "name"), [("i", "0" * 64), ("k", EDITED), ("i", EDITED[:7]), ("i", ".png")])
def test_words_for_an_image_that_is_not_there_are_refused(item: str, name: str) -> None:
    with pytest.raises(InputError, match=f"^--answers: item '{item}' has no scored image"):
        taught("written", trial(), written=(Written(id=item, image=name, answer="x"),))


def test_an_example_names_all_that_it_comes_from() -> None:
    _, edited = taught("consistent", trial())
    source = edited.provenance
    assert isinstance(source, Provenance)
    assert (source.item, source.edit, source.image, source.original) == ("i", 1, EDITED, ORIGINAL)
    assert (source.words, source.model) == ("model", "m-1")
    [test] = source.tests
    assert (test.dataset, test.vlm, test.writer, test.editor, test.judge) == ("d", "m", "w", "e", "j")
    assert test.protocol == "edct-2025"
    assert (test.concept, test.positive, test.negative, test.seed) == ("color", "Make it blue.", "No red.", 7)
    assert (test.numbers, test.scores) == ({"inside": 0.5}, {"pcs": 1, "ncc": 1, "ccs": 1})
    assert test.calls == (KEY,)


def test_the_calls_of_a_gate_are_among_those_that_an_example_comes_from() -> None:
    one = trial()
    looks = [Verification(verified=verified, calls=(KEY[::-1],)) for verified in (0, 1)]
    tries = tuple(EditAttempt(seed=seed, image=one.made.image, found=found) for seed, found in enumerate(looks))
    gated = replace(one, made=one.made.model_copy(update={"attempts": tries}))
    _, edited = taught("consistent", gated)
    assert isinstance(edited.provenance, Provenance)
    assert set(edited.provenance.tests[0].calls) == {KEY, KEY[::-1]}
