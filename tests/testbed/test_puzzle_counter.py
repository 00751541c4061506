"""The small network that counts in synthetic puzzles: what it reads, what it sees, and how often it is right."""

import json
import random
from math import sqrt

import numpy as np
import pytest
import torch

from cfeval.cvqa.records import LETTERS, SIDES, Question, read_choices
from cfeval.cvqa.synthetic.drawing import draw_puzzle
from cfeval.cvqa.synthetic.puzzles import counterfactual_of, make_puzzle, original_of
from cfeval.cvqa.synthetic.records import PUZZLE_TYPES, Puzzle
from cfeval_testbed.models.puzzles import MOST, counting_words, encode
from cfeval_testbed.models.vlm import Vocabulary
from cfeval_testbed.puzzles.counter import Pixels, PuzzleCounter, choose, read_question, shrunk
from cfeval_testbed.training.networks.puzzles import PuzzleNetwork
from cfeval_testbed.training.puzzles import draw_batch, loss_of, shown
from cfeval_testbed.weights import models_dir

EACH = 10
"""Puzzles of every type."""
STEM = "How many dots are there in all the circles together?"
OPTIONS = "A:16  B:17  C:12  D:13"


@pytest.fixture(scope="module")
def counter() -> PuzzleCounter:
    return PuzzleCounter()


@pytest.fixture(scope="module")
def puzzles() -> list[Puzzle]:
    return [make_puzzle(90_210, number, kind) for kind in PUZZLE_TYPES for number in range(1, EACH + 1)]


@pytest.fixture(scope="module")
def images(puzzles: list[Puzzle]) -> list[Pixels]:
    return [np.asarray(draw_puzzle(puzzle)) for puzzle in puzzles]


@pytest.fixture(scope="module")
def said(counter: PuzzleCounter, puzzles: list[Puzzle], images: list[Pixels]) -> dict[str, list[tuple[Question, str]]]:
    """By side what was asked and answered, puzzle by puzzle."""
    answers = {}
    for side, ask in zip(SIDES, (original_of, counterfactual_of), strict=True):
        asked = [ask(puzzle) for puzzle in puzzles]
        replies = counter.answer(images, [question.question for question in asked])
        answers[side] = list(zip(asked, replies, strict=True))
    return answers


def test_shapes_of_all_that_the_network_gives() -> None:
    vocabulary = Vocabulary(counting_words())
    network = PuzzleNetwork(len(vocabulary))
    seen = network.look(torch.rand(2, 3, 112, 112))
    counted = network.count(seen, network.read(torch.from_numpy(encode(vocabulary, [STEM, "¿?"]))))
    assert seen.features.shape == (2, 48, 28, 28)
    assert seen.things.shape == counted.things.shape == (2, 28, 28)
    assert bool((counted.things <= seen.things).all()), "it cannot count more than there is"
    assert counted.numbers.shape == (2, MOST + 1)
    assert torch.allclose(counted.numbers.exp().sum(1), torch.ones(2))


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_the_weights_are_as_accurate_on_new_puzzles_as_their_figures_say(
    side: str, said: dict[str, list[tuple[Question, str]]]
) -> None:
    recorded = json.loads((models_dir() / "puzzles.json").read_text(encoding="utf-8"))["held_out"]
    share = recorded[side]
    right = sum(question.answer == reply for question, reply in said[side])
    count = len(said[side])
    error = sqrt(share * (1 - share) * (1 / count + 1 / recorded["puzzles"]))
    assert abs(right / count - share) <= 3 * error


def test_the_recorded_figures_show_the_planted_drop() -> None:
    recorded = json.loads((models_dir() / "puzzles.json").read_text(encoding="utf-8"))["held_out"]
    for kind, shares in recorded["types"].items():
        assert shares["original"] >= (0.6 if kind in PUZZLE_TYPES[:3] else 0.9)
        assert shares["counterfactual"] <= shares["original"] - 0.3


def test_every_reply_is_a_letter(said: dict[str, list[tuple[Question, str]]]) -> None:
    assert {reply for side in SIDES for _, reply in said[side]} <= set(LETTERS)


def test_the_same_value_is_chosen_wherever_it_stands(
    counter: PuzzleCounter, said: dict[str, list[tuple[Question, str]]], images: list[Pixels]
) -> None:
    asked = said["original"][::8]
    moved = [choices.reordered("CADB") for question, _ in asked if (choices := read_choices(question.question))]
    replies = counter.answer(images[::8], [choices.text() for choices in moved])
    values = [choices.values[LETTERS.index(letter)] for choices, letter in zip(moved, replies, strict=True)]
    before = [read_choices(question.question) for question, _ in asked]
    assert values == [c.values[LETTERS.index(reply)] for c, (_, reply) in zip(before, asked, strict=True) if c]


def test_a_reply_does_not_depend_on_its_batch(
    counter: PuzzleCounter, said: dict[str, list[tuple[Question, str]]], images: list[Pixels]
) -> None:
    for place in range(0, len(images), 25):
        question, reply = said["counterfactual"][place]
        assert counter.answer([images[place]], [question.question]) == [reply]


def test_an_image_is_looked_at_once_whatever_is_asked_about_it(
    puzzles: list[Puzzle], images: list[Pixels], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter, asked = PuzzleCounter(), [original_of(puzzle).question for puzzle in puzzles[:3]]
    apart = [PuzzleCounter().numbers([images[n]], [asked[n]])[0] for n in (0, 1, 0, 2)]
    looked: list[int] = []
    look = counter._network.look
    monkeypatch.setattr(counter._network, "look", lambda seen: looked.append(len(seen)) or look(seen))
    again = [images[0], images[1], images[0].copy(), images[2]]
    assert counter.numbers(again, [asked[n] for n in (0, 1, 0, 2)]) == apart
    assert counter.numbers(again[1:], [asked[n] for n in (1, 0, 2)]) == apart[1:]
    assert looked == [3]


def test_without_options_that_are_numbers_the_number_itself_is_the_reply(
    counter: PuzzleCounter, images: list[Pixels]
) -> None:
    bare, wordy = counter.answer([images[-1]] * 2, [STEM, f"{STEM} Select the correct answer:A:few  B:many  C:x  D:y"])
    assert bare == wordy == str(counter.numbers([images[-1]], [STEM])[0])
    assert 0 <= int(bare) <= MOST


def test_a_larger_image_of_the_same_puzzle_counts_the_same(counter: PuzzleCounter) -> None:
    usual, large = (
        np.asarray(draw_puzzle(make_puzzle(4, 1, "abs_counting_5", size=size, icons=()))) for size in (336, 672)
    )
    assert shrunk(large).shape == (112, 112, 3)
    assert np.abs(shrunk(large).astype(int) - shrunk(usual)).mean() < 2
    stem = "How many dots are there in the top three circles together?"
    assert counter.numbers([usual], [stem]) == counter.numbers([large], [stem])


@pytest.mark.parametrize(
    "text",
    [
        f"{STEM} Select the correct answer:{OPTIONS}",
        f"{STEM} Select the correct answer:{OPTIONS} Answer the question using a single word or phrase.",
        f"Respond to this question: {STEM} Select the correct answer:{OPTIONS}",
        f"Question: {STEM} Options:(a)16  (b)17  (c)12  (d)13. Answer:",
    ],
)
def test_options_are_read_in_every_template(text: str) -> None:
    asked = read_question(text)
    assert asked.values == ("16", "17", "12", "13")
    assert STEM in asked.stem
    assert "16" not in asked.stem


@pytest.mark.parametrize(
    ("values", "letter"),
    [
        (("7", "6", "5", "9"), "B"),
        (("41", "40", "99", "x"), "B"),
        (("99", "9" * 5000, "60", "-1"), "C"),
        (("a", "b", "c", "d"), ""),
    ],
)
def test_the_likeliest_value_is_chosen(values: tuple[str, ...], letter: str) -> None:
    chances = -np.abs(np.arange(MOST + 1) - 6.2)
    assert choose(values, chances) == letter


def test_strange_and_long_questions_and_odd_images_are_taken(counter: PuzzleCounter) -> None:
    odd = [np.zeros((1, 900, 3), np.uint8), np.full((50, 3, 3), 255, np.uint8), np.zeros((112, 112, 3), np.uint8)]
    replies = counter.answer(odd, ["", "Wieviele Blumen? 花", "flowers " * 5000])
    assert all(reply.isdecimal() for reply in replies)
    assert counter.answer([], []) == []


def test_the_maps_to_learn_from_hold_what_the_questions_ask(puzzles: list[Puzzle]) -> None:
    for puzzle in puzzles[::7]:
        example = shown(puzzle)
        mine = next(one for one in example.questions if one.text in original_of(puzzle).question)
        assert mine.number == puzzle.original
        if puzzle.type != "abs_counting_6":
            assert example.maps[list(mine.groups)].sum().item() == pytest.approx(puzzle.original, abs=1e-4)


def test_no_counterfactual_question_is_ever_trained_on(puzzles: list[Puzzle]) -> None:
    texts = {question.text for puzzle in puzzles for question in shown(puzzle).questions}
    assert not [text for text in texts if " if " in text or "would" in text]


def test_one_update_lowers_the_loss(puzzles: list[Puzzle]) -> None:
    torch.manual_seed(3)
    vocabulary = Vocabulary(counting_words())
    network = PuzzleNetwork(len(vocabulary))
    batch = draw_batch([shown(puzzle) for puzzle in puzzles[::40]], random.Random(3))
    optimizer = torch.optim.SGD(network.parameters(), 1e-4)
    losses = []
    for _ in range(3):
        loss = loss_of(network, batch, vocabulary, random.Random(3))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert losses[2] < losses[0]
